"""Operators of PyTorch's `torch.fft`, put here when the generated code is loaded."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generated._fft import *  # noqa: F403
