"""What several modules of this folder need."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor


def or_zeros(tangent: Tensor | None, like: Tensor) -> Tensor:
    """The tangent; zeros where there is none."""
    return ops.zeros_like(like) if tangent is None else tangent


def check_floating(operator: str, *tensors: Tensor) -> None:
    """Raise where an operator that is a kernel in PyTorch has none for the dtype.

    Raises:
        NotImplementedError: a Tensor holds integers or bools.
    """
    for tensor in tensors:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            raise NotImplementedError(f'"{operator}" not implemented for {tensor.dtype}')
