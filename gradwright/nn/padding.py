"""Padding of the last dimensions, as Modules for one, two or three of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gradwright.nn import functional as F
from gradwright.nn.module import Module
from runtime.base.tensor import Tensor


class _Pad(Module):
    """Pads `dims` dimensions in `mode`.

    Args:
        padding: how many elements, at each end of each dimension, or a number for each end, the last dimension first.
    """

    dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.dims) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with `value`."""

    mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The numbers and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads one dimension with a constant."""

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads two dimensions with a constant."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads three dimensions with a constant."""

    dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Pads one dimension with zeros."""

    dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads two dimensions with zeros."""

    dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads three dimensions with zeros."""

    dims = 3


class ReflectionPad1d(_Pad):
    """Pads one dimension with its mirror image."""

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pads two dimensions with their mirror images."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pads three dimensions with their mirror images."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pads one dimension with its outermost elements."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pads two dimensions with their outermost elements."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pads three dimensions with their outermost elements."""

    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Pads one dimension with its other end."""

    dims, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pads two dimensions with their other ends."""

    dims, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Pads three dimensions with their other ends."""

    dims, mode = 3, "circular"
