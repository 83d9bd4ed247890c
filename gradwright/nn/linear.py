"""Affine maps, rows of a table, and Modules that only change the shape."""

from __future__ import annotations

import math
from typing import Any

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class Identity(Module):
    """Its input; takes any arguments, so that it can stand in for another Module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """x A^T + b, on the last dimension of the input.

    Args:
        in_features: the size of the last dimension.
        out_features: what it becomes.
        bias: whether there is a b.
        device: where the parameters live.
        dtype: of the parameters.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(ops.empty([out_features, in_features], dtype=dtype, device=device))
        self.register_parameter(
            "bias", Parameter(ops.empty([out_features], dtype=dtype, device=device)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniformly between plus and minus 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            limit = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -limit, limit)

    def forward(self, input: Tensor) -> Tensor:
        """The map, applied to the input of shape (*, in_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Flatten(Module):
    """The dimensions from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input with fewer dimensions."""
        return ops.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several.

    Args:
        dim: which one.
        unflattened_size: the sizes it becomes, one of which may be -1.

    Raises:
        TypeError: the sizes are no tuple of ints.
    """

    def __init__(self, dim: int, unflattened_size: list[int] | tuple[int, ...]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (list, tuple)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with more dimensions."""
        return ops.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
