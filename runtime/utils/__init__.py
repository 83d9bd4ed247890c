"""Tools around training: `utils.checkpoint` saves memory by computing parts twice, `utils.data` loads data."""

from __future__ import annotations

from runtime.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
