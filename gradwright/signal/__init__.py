"""Windows for spectra, with PyTorch's names: `signal.windows`."""

from __future__ import annotations

from gradwright.signal import windows

__all__ = ["windows"]
