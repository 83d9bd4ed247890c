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

# The free parameter of the cubics of Keys (1981).
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
    # The weight, and its derivatives by the coordinate, as many as were asked for; those that are left out are zero.
    weights: tuple[Array, ...]


class Neighbour(NamedTuple):
    """An element that a point is made of; for all points at once."""

    arithmetic: Arithmetic
    index: Array  # among the elements of an image, row after row; 0 where there is no such element
    within: Array
    taps: tuple[Tap, ...]

    def weight(self) -> Array:
        """What the element counts."""
        return self._product(())

    def slope(self, *moved: int) -> Array | None:
        """The weight, differentiated by some coordinates of the point; None where that is zero."""
        dims = len(self.taps)
        return self._product([dims - 1 - coordinate for coordinate in moved])

    def _product(self, moved: Sequence[int]) -> Array | None:
        product = None
        for dim, tap in enumerate(self.taps):
            order = moved.count(dim)
            if order >= len(tap.weights):
                return None
            product = tap.weights[order] if product is None else product * tap.weights[order]
        if len(self.taps) == 2:
            return product
        # PyTorch multiplies what is not in an image by its weight, be that NaN, and leaves out what is not in a volume.
        return self.arithmetic.where(self.within, product, self.arithmetic.zeros_like(product))


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


def check_gradient(grad_output: Array, input: Array, grid: Array) -> None:
    """That a gradient is one of images at the points of a grid.

    Raises:
        RuntimeError: its shape or dtype is another.
    """
    shape = [*input.shape[:2], *grid.shape[1:-1]]
    if list(grad_output.shape) != shape:
        raise RuntimeError(
            f"grid_sampler(): expected grad_output to have sizes {shape}, but got {list(grad_output.shape)}"
        )
    if grad_output.dtype != input.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected grad_output and input to have same dtype, but got {grad_output.dtype}"
        )


def neighbours(
    arithmetic: Arithmetic,
    grid: Array,
    sizes: Sequence[int],
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    order: int = 0,
) -> Iterator[Neighbour]:
    """What the points of a grid are made of, in images of some sizes, with derivatives up to an order."""
    dims = len(sizes)
    taps = [
        _taps(arithmetic, grid[..., dims - 1 - dim], sizes[dim], interpolation_mode, padding_mode, align_corners, order)
        for dim in range(dims)
    ]
    for chosen in itertools.product(*taps):
        index, within = chosen[0].index, chosen[0].within
        for tap, size in zip(chosen[1:], sizes[1:], strict=True):
            index = index * size + tap.index
            within = within & tap.within
        yield Neighbour(arithmetic, index, within, chosen)


def _taps(
    arithmetic: Arithmetic,
    coordinates: Array,
    size: int,
    mode: int,
    padding_mode: int,
    align_corners: bool,
    order: int,
) -> list[Tap]:
    """What points are made of, along a dimension of `size` elements."""
    if align_corners:
        scale = (size - 1) / 2
        places = (coordinates + 1) * scale
    else:
        scale = size / 2
        places = ((coordinates + 1) * size - 1) / 2
    if mode == BICUBIC:
        return _cubic_taps(arithmetic, places, scale, size, padding_mode, align_corners, order)
    places, direction = _inside(arithmetic, places, size, padding_mode, align_corners)
    if mode == NEAREST:
        return [_tap(arithmetic, arithmetic.round(places), size, (arithmetic.zeros_like(places) + 1,))]
    low = arithmetic.floor(places)
    part = places - low
    slope = direction * scale
    return [
        _tap(arithmetic, low, size, (1 - part, -slope)[: order + 1]),
        _tap(arithmetic, low + 1, size, (part, slope)[: order + 1]),
    ]


def _cubic_taps(
    arithmetic: Arithmetic,
    places: Array,
    scale: float,
    size: int,
    padding_mode: int,
    align_corners: bool,
    order: int,
) -> list[Tap]:
    """What points are made of by the cubics of Keys (1981), which weigh elements by their distances."""
    a = _SHARPNESS
    low = arithmetic.floor(places)
    part = places - low
    taps = []
    for step, (distance, sign, is_near) in enumerate(
        ((part + 1, 1, False), (part, 1, True), (1 - part, -1, True), (2 - part, -1, False))
    ):
        x = distance
        if is_near:
            weights = [((a + 2) * x - (a + 3)) * x * x + 1]
            if order > 0:
                weights.append((3 * (a + 2) * x - 2 * (a + 3)) * x * (sign * scale))
            if order > 1:
                weights.append((6 * (a + 2) * x - 2 * (a + 3)) * (scale * scale))
        else:
            weights = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a]
            if order > 0:
                weights.append(((3 * a * x - 10 * a) * x + 8 * a) * (sign * scale))
            if order > 1:
                weights.append((6 * a * x - 10 * a) * (scale * scale))
        at, _ = _inside(arithmetic, low + (step - 1), size, padding_mode, align_corners)
        taps.append(_tap(arithmetic, at, size, tuple(weights)))
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


def _tap(arithmetic: Arithmetic, places: Array, size: int, weights: tuple[Array, ...]) -> Tap:
    """The elements at some places, which are whole numbers."""
    within = (places >= 0) & (places <= size - 1)
    kept = arithmetic.where(within, places, arithmetic.zeros_like(places))
    return Tap(arithmetic.indices(kept), within, weights)
