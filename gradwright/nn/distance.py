"""Modules of distances and bilinear maps."""

from __future__ import annotations

import math

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class Bilinear(Module):
    """x1^T A_k x2 + b_k, for each matrix A_k of the weight.

    Args:
        in1_features: the size of the last dimension of the first input.
        in2_features: that of the second.
        out_features: how many matrices there are.
        bias: whether there is a b.
        device: where the parameters live.
        dtype: of the parameters.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(ops.empty([out_features, in1_features, in2_features], dtype=dtype, device=device))
        self.register_parameter(
            "bias", Parameter(ops.empty([out_features], dtype=dtype, device=device)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniformly between plus and minus 1 / sqrt(in1_features)."""
        limit = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -limit, limit)
        if self.bias is not None:
            init.uniform_(self.bias, -limit, limit)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The map of both inputs, of shapes (*, in1_features) and (*, in2_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, as they were given."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class PairwiseDistance(Module):
    """The norm of the difference of two vectors each.

    Args:
        p: its order.
        eps: what is added to each difference.
        keepdim: whether the last dimension stays, with size 1.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances of vectors along the last dimension."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
