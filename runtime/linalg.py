"""Operators of PyTorch's `torch.linalg`, put here when the generated code is loaded."""

from runtime.base.errors import LinAlgError

__all__ = ["LinAlgError"]
