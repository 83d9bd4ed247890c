"""Operators of PyTorch's `torch.linalg`, put here when the generated code is loaded."""

from typing import TYPE_CHECKING

from runtime.base.errors import LinAlgError as LinAlgError

if TYPE_CHECKING:
    from generated._linalg import *  # noqa: F403
