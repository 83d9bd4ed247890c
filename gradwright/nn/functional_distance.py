"""Distances and bilinear maps of `nn.functional`."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor

__all__ = ["bilinear", "pairwise_distance", "pdist"]


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return ops.bilinear(input1, input2, weight, bias)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return ops.pairwise_distance(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    return ops.pdist(input, p)
