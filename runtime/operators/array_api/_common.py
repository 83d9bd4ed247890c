"""What kernels over array API arrays share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

# Arrays, element types and namespaces are those of any library: the standard has no classes for them.
Array: TypeAlias = Any
DType: TypeAlias = Any
Namespace: TypeAlias = Any
Number: TypeAlias = bool | int | float | complex
Dims: TypeAlias = Sequence[int] | None


def number(xp: Namespace, value: Number, like: Array) -> Array:
    """A number as an array without dimensions, in the element type of another array."""
    return xp.asarray(value, dtype=like.dtype)


def one_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front.

    Raises:
        IndexError: there is no such dimension.
    """
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + limit if dim < 0 else dim


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...] | None:
    """`axis` of the standard: None stands for all dimensions, as no dims and an array without dimensions do."""
    if not dim or not ndim:
        for each in dim or ():
            one_dim(each, ndim)
        return None
    axes = tuple(one_dim(each, ndim) for each in dim)
    for axis in axes:
        if axes.count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    return axes


def size_of(self: Array) -> int:
    """The number of elements."""
    return math.prod(self.shape)


def count_along(self: Array, axes: tuple[int, ...] | None) -> int:
    """How many elements go into each result of a reduction."""
    return size_of(self) if axes is None else math.prod(self.shape[axis] for axis in axes)


def is_integral(xp: Namespace, self: Array) -> bool:
    """Whether elements are integers or bools."""
    return bool(xp.isdtype(self.dtype, ("bool", "integral")))


def is_complex(xp: Namespace, self: Array) -> bool:
    """Whether elements are complex."""
    return bool(xp.isdtype(self.dtype, "complex floating"))


def unsupported(what: str) -> NotImplementedError:
    """The error of what the standard has no function for."""
    return NotImplementedError(f"the array API standard has no {what}")


def index_along(ndim: int, dim: int, part: Any) -> tuple[Any, ...]:
    """An index that takes `part` of one dimension and all of the others."""
    return (slice(None),) * dim + (part,) + (slice(None),) * (ndim - dim - 1)


def ordered(xp: Namespace, self: Array) -> Array:
    """The array, bools as integers, which the standard can order, add and multiply."""
    return xp.astype(self, xp.uint8) if xp.isdtype(self.dtype, "bool") else self


def check_number(xp: Namespace, value: Number, like: Array, name: str) -> None:
    """Refuse a number with a fraction beside integers."""
    if isinstance(value, (float, complex)) and is_integral(xp, like):
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


def written(xp: Namespace, rows: Array, places: Array, new: Array) -> Array:
    """`rows` with those at some places replaced; of two for one place the last counts."""
    if not places.shape[0]:
        return rows
    numbers = xp.arange(rows.shape[0], dtype=places.dtype)
    order = xp.argsort(places, stable=True)
    in_order = xp.take(places, order, axis=0)
    last = xp.searchsorted(in_order, numbers, side="right") - 1
    nearest = xp.clip(last, 0, places.shape[0] - 1)
    here = (last >= 0) & (xp.take(in_order, nearest, axis=0) == numbers)
    values = xp.take(new, xp.take(order, nearest, axis=0), axis=0)
    return xp.where(xp.reshape(here, (-1, *[1] * (rows.ndim - 1))), values, rows)
