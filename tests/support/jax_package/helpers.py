"""Functions on Tensors that formulas call."""

from __future__ import annotations

from collections.abc import Sequence

from gradwright import Tensor, ops


def cosine(x: Tensor, norm: Tensor) -> Tensor:
    """The cosine of the angle to an axis, `x / norm`; zero at the origin, where the norm has no derivative."""
    at_origin = ops.eq(norm, 0)
    return ops.div(x, ops.masked_fill(norm, at_origin, 1))


def rms_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    dims = list(range(self.dim())) if dim is None else [each % self.dim() for each in dim]
    if not keepdim:
        for each in sorted(dims):
            grad, result = grad.unsqueeze(each), result.unsqueeze(each)
    count = 1
    for each in dims:
        count *= self.shape[each]
    return grad * self / (result * count)


def affine_backward(
    grad: Tensor, input: Tensor, weight: Tensor, has_bias: bool, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    return (
        ops.mm(grad, weight) if mask[0] else None,
        ops.mm(grad.t(), input) if mask[1] else None,
        ops.sum(grad, [0]) if mask[2] and has_bias else None,
    )


def weighted_parts(grad: Tensor, weights: Sequence[float]) -> list[Tensor]:
    return [grad * weight for weight in weights]


def put_back(grad: Tensor, dim: int, places: Tensor, size: Sequence[int]) -> Tensor:
    return ops.scatter(ops.zeros(size, dtype=grad.dtype), dim, places.unsqueeze(dim), grad.unsqueeze(dim))
