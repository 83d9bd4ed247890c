"""Operators on lists of Tensors that take one Tensor for all elements, or a vector with a number for each."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar


def _foreach_add_Tensor(self: Sequence[Tensor], other: Tensor, *, alpha: Scalar = 1) -> Sequence[Tensor]:
    _check_number(self, other)
    return tuple(ops.add(each, other, alpha=alpha) for each in self)


def _foreach_add__Tensor(self: Sequence[Tensor], other: Tensor, *, alpha: Scalar = 1) -> None:
    _check_number(self, other)
    for each in self:
        each.add_(other, alpha=alpha)


def _foreach_mul_Tensor(self: Sequence[Tensor], other: Tensor) -> Sequence[Tensor]:
    _check_number(self, other)
    return tuple(ops.mul(each, other) for each in self)


def _foreach_mul__Tensor(self: Sequence[Tensor], other: Tensor) -> None:
    _check_number(self, other)
    for each in self:
        each.mul_(other)


def _foreach_div_Tensor(self: Sequence[Tensor], other: Tensor) -> Sequence[Tensor]:
    _check_number(self, other)
    return tuple(ops.div(each, other) for each in self)


def _foreach_div__Tensor(self: Sequence[Tensor], other: Tensor) -> None:
    _check_number(self, other)
    for each in self:
        each.div_(other)


def _check_number(self: Sequence[Tensor], other: Tensor) -> None:
    if not self:
        raise RuntimeError("Tensor list must have at least one tensor.")
    if other.dim() or other.numel() != 1:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and {other.numel()} elements."
        )


def _foreach_addcmul_Tensor(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> Sequence[Tensor]:
    return ops._foreach_addcmul(self, tensor1, tensor2, _numbers(self, scalars))


def _foreach_addcmul__Tensor(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> None:
    ops._foreach_addcmul_(self, tensor1, tensor2, _numbers(self, scalars))


def _foreach_addcdiv_Tensor(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> Sequence[Tensor]:
    return ops._foreach_addcdiv(self, tensor1, tensor2, _numbers(self, scalars))


def _foreach_addcdiv__Tensor(
    self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor
) -> None:
    ops._foreach_addcdiv_(self, tensor1, tensor2, _numbers(self, scalars))


def _numbers(self: Sequence[Tensor], scalars: Tensor) -> list[Scalar]:
    """The elements of a vector, of which there is one for each Tensor."""
    if scalars.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.dim()} instead.")
    if scalars.numel() != len(self):
        raise RuntimeError(
            f"Expected length of scalars to match input of length {len(self)} but got {scalars.numel()} instead."
        )
    return list(scalars.tolist())
