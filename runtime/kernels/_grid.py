"""What an image has at the points of a grid: which elements, and what each of them counts.

The functions are for any arrays: NumPy's, those of the array API standard, and Tensors, whose operators record. What
arrays have no common name for is given as an `Arithmetic`. Coordinates go from -1 to 1; the last one of a point is that
along the first dimension of the image.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

# Of any library: the array API standard has no classes for them.
Array: TypeAlias = Any

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2

# The free parameter of the cubic of Keys (1981).
_SHARPNESS = -0.75


class Arithmetic(NamedTuple):
    """Functions of one kind of arrays."""

    where: Callable[[Array, Array, Array], Array]
    floor: Callable[[Array], Array]
    round: Callable[[Array], Array]  # halves to even numbers
    abs: Callable[[Array], Array]
    zeros_like: Callable[[Array], Array]
    indices: Callable[[Array], Array]  # whole numbers as int64


class Tap(NamedTuple):
    """An element that a point is made of, along one dimension; for all points at once."""

    index: Array  # 0 where there is no such element
    within: Array  # whether there is one
    weight: Array
    slope: Array | None  # how the weight changes with the coordinate


class Neighbour(NamedTuple):
    """An element that a point is made of; for all points at once."""

    index: Array  # among the elements of an image, row after row; 0 where there is no such element
    within: Array
    weight: Array
    slopes: tuple[Array, ...]  # how the weight changes with each coordinate, in the order of the grid


def check(input: Array, grid: Array, interpolation_mode: int, dims: int) -> None:
    """That a grid is one of points of the images, which have `dims` dimensions.

    Raises:
        RuntimeError: shapes or dtypes do not fit, images are empty, or the mode is none for volumes.
    """
    shape, points = list(input.shape), list(grid.shape)
    if len(shape) != dims + 2 or len(points) != dims + 2:
        raise RuntimeError(
            f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, but got input with "
            f"sizes {shape} and grid with sizes {points}"
        )
    check_pair(input, grid)
    if dims == 3 and interpolation_mode == BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def check_pair(input: Array, grid: Array) -> None:
    """That batches, dtypes and numbers of coordinates are the same, and that images have elements.

    Raises:
        RuntimeError: they do not fit, or images are empty.
    """
    shape, points = list(input.shape), list(grid.shape)
    if input.dtype != grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected input and grid to have same dtype, but got {grid.dtype}")
    if shape[0] != points[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{shape} and grid with sizes {points}"
        )
    if points[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes "
            f"{points}"
        )
    if not all(shape[2:]):
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, got {shape}")


def neighbours(
    arithmetic: Arithmetic,
    grid: Array,
    sizes: Sequence[int],
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    sloped: bool = False,
) -> Iterator[Neighbour]:
    """What the points of a grid are made of, in images of some sizes; slopes where they are asked for."""
    dims = len(sizes)
    taps = [
        _taps(
            arithmetic,
            grid[..., dims - 1 - dim],
            sizes[dim],
            interpolation_mode,
            padding_mode,
            align_corners,
            sloped,
        )
        for dim in range(dims)
    ]
    for chosen in itertools.product(*taps):
        index, within, weight, _ = chosen[0]
        for tap, size in zip(chosen[1:], sizes[1:], strict=True):
            index = index * size + tap.index
            within = within & tap.within
            weight = weight * tap.weight
        slopes = []
        for dim in reversed(range(dims)) if sloped else ():
            slope = chosen[dim].slope
            for other, tap in enumerate(chosen):
                slope = slope if other == dim else slope * tap.weight
            slopes.append(slope)
        yield Neighbour(index, within, weight, tuple(slopes))


def _taps(
    arithmetic: Arithmetic,
    coordinates: Array,
    size: int,
    mode: int,
    padding_mode: int,
    align_corners: bool,
    sloped: bool,
) -> list[Tap]:
    """What points are made of, along a dimension of `size` elements."""
    if align_corners:
        scale = (size - 1) / 2
        places = (coordinates + 1) * scale
    else:
        scale = size / 2
        places = ((coordinates + 1) * size - 1) / 2
    nothing = arithmetic.zeros_like(places)
    if mode == NEAREST:
        places, _ = _inside(arithmetic, places, size, padding_mode, align_corners)
        # No place is less than itself: a constant, which belongs to the graph of the grid where that records.
        weight = arithmetic.where(places < places, places, nothing) + 1
        return [_tap(arithmetic, arithmetic.round(places), size, weight, weight - 1 if sloped else None)]
    if mode != BICUBIC:
        places, direction = _inside(arithmetic, places, size, padding_mode, align_corners)
        low = arithmetic.floor(places)
        part = places - low
        slope = direction * scale
        return [
            _tap(arithmetic, low, size, 1 - part, -slope if sloped else None),
            _tap(arithmetic, low + 1, size, part, slope if sloped else None),
        ]
    low = arithmetic.floor(places)
    part = places - low
    a = _SHARPNESS

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def near_slope(x: Array) -> Array:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x * scale

    def wide(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def wide_slope(x: Array) -> Array:
        return ((3 * a * x - 10 * a) * x + 8 * a) * scale

    weights = (wide(part + 1), near(part), near(1 - part), wide(2 - part))
    slopes: tuple[Array | None, ...] = (None, None, None, None)
    if sloped:
        slopes = (wide_slope(part + 1), near_slope(part), -near_slope(1 - part), -wide_slope(2 - part))
    taps = []
    for step, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
        at, _ = _inside(arithmetic, low + (step - 1), size, padding_mode, align_corners)
        taps.append(_tap(arithmetic, at, size, weight, slope))
    return taps


def _inside(
    arithmetic: Arithmetic, places: Array, size: int, padding_mode: int, align_corners: bool
) -> tuple[Array, Array]:
    """Places beyond the image as places in it, as the padding says, and how they move with those."""
    nothing = arithmetic.zeros_like(places)
    direction = nothing + 1
    if padding_mode == ZEROS:
        return places, direction
    if padding_mode == REFLECTION:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            places = places * 0
        else:
            away = arithmetic.abs(places - low)
            turns = arithmetic.floor(away / span)
            rest = away - turns * span
            is_even = turns % 2 == 0
            direction = arithmetic.where(is_even, direction, -direction)
            direction = arithmetic.where(places < low, -direction, direction)
            places = arithmetic.where(is_even, rest + low, span - rest + low)
    # At the border itself the gradient is zero, as beyond it. NaN counts as the first place.
    last = nothing + (size - 1)
    between = (places > 0) & (places < size - 1)
    at_border = arithmetic.where(places >= size - 1, last, nothing)
    return arithmetic.where(between, places, at_border), arithmetic.where(between, direction, nothing)


def _tap(arithmetic: Arithmetic, places: Array, size: int, weight: Array, slope: Array | None) -> Tap:
    """The elements at some places, which are whole numbers."""
    within = (places >= 0) & (places <= size - 1)
    kept = arithmetic.where(within, places, arithmetic.zeros_like(places))
    return Tap(arithmetic.indices(kept), within, weight, slope)
