"""Distances, by the operator that fits their number, and products of two vectors with matrices."""

from __future__ import annotations

from math import prod

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.kernels.shape import broadcast_sizes

_MANY = 25  # vectors, from which on distances are made of products


def cdist(x1: Tensor, x2: Tensor, p: float = 2, compute_mode: int | None = None) -> Tensor:
    """The distance of each row of one matrix to each row of the other, in the p-norm."""
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in (None, 0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    by_products = compute_mode == 1 or (not compute_mode and max(x1.shape[-2], x2.shape[-2]) > _MANY)
    if p != 2 or not by_products or not (x1.numel() and x2.numel()):
        return ops._cdist_forward(x1, x2, p, compute_mode)
    batch = broadcast_sizes(x1.shape[:-2], x2.shape[:-2])
    sides = [x.expand([*batch, *x.shape[-2:]]).reshape([prod(batch), *x.shape[-2:]]) for x in (x1, x2)]
    return ops._euclidean_dist(*sides).view([*batch, x1.shape[-2], x2.shape[-2]])


def pdist(self: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows, in the p-norm."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return ops._pdist_forward(self.contiguous(), p)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """For each matrix of the weight, the product of both inputs with it."""
    if input1.dim() == 0 or weight.dim() != 3:
        raise IndexError(
            f"Dimension out of range: bilinear() of inputs of {input1.dim()} and a weight of {weight.dim()} dimensions"
        )
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for dim in range(input1.dim() - 1):
        if input1.shape[dim] != input2.shape[dim]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {input1.shape[dim]} and "
                f"{input2.shape[dim]}"
            )
    for number, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[number]:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {x.shape[-1]} but expected "
                f"{weight.shape[number]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    sizes = [*input1.shape[:-1], weight.shape[0]]
    rows = prod(input1.shape[:-1])
    flat1, flat2 = input1.reshape([rows, input1.shape[-1]]), input2.reshape([rows, input2.shape[-1]])
    result = ops._trilinear(flat1, weight, flat2, [1, 3], [0], [1, 2], [2, 3]).reshape(sizes)
    return result if bias is None else result + bias
