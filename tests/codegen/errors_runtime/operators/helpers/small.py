"""Helpers that the cases of tests/codegen/errors call."""

from collections.abc import Sequence

from runtime.base.tensor import Tensor


def scaled(grad: Tensor, factor: float, dim: Sequence[int]) -> Tensor:
    return grad


def both(grad: Tensor) -> tuple[Tensor, Tensor]:
    return grad, grad


def untyped(grad, factor: float) -> Tensor:
    return grad


def weighted(grad: Tensor, weight: Tensor | None) -> Tensor:
    return grad if weight is None else grad + weight
