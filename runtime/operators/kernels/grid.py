"""Images and volumes at the points of a grid, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from runtime.base.arrays import Array, shaped
from runtime.operators.kernels._grid import Arithmetic, check, check_gradient, neighbours

_NUMPY = Arithmetic(np.where, np.floor, np.round, np.abs, np.zeros_like, lambda places: places.astype(np.int64))


def _places(input: Array, index: Array) -> Array:
    """Places among all elements, (N, C, ...), of those that have an index in the images, (N, ...), in each channel."""
    batch, channels = input.shape[:2]
    plane = math.prod(input.shape[2:])
    planes = np.arange(batch * channels).reshape(batch, channels, *(1 for _ in input.shape[2:]))
    return planes * plane + index[:, None]


def _sampled(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool, dims: int
) -> Array:
    check(input, grid, interpolation_mode, dims)
    modes = (interpolation_mode, padding_mode, align_corners)
    flat = input.reshape(-1)
    total: Array | None = None
    with np.errstate(invalid="ignore", over="ignore"):
        for neighbour in neighbours(_NUMPY, grid, input.shape[2:], *modes):
            term = _values(flat, _places(input, neighbour.index), neighbour.within) * neighbour.weight()[:, None]
            total = term if total is None else total + term
    assert total is not None
    return total


def _values(flat: Array, places: Array, within: Array) -> Array:
    return np.where(within[:, None], flat[places], flat.dtype.type(0))


def grid_sampler_2d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Images of shape (N, C, H, W) at the points of a grid of shape (N, height, width, 2), as (N, C, height, width).

    A point is its place along the width, then along the height, from -1 to 1. Modes of interpolation are counted as
    `bilinear`, `nearest` and `bicubic`, those of padding as `zeros`, `border` and `reflection`.

    Raises:
        RuntimeError: shapes or dtypes of images and grid do not fit, or images have no elements.
    """
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners, 2)


def grid_sampler_3d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Volumes of shape (N, C, D, H, W) at the points of a grid of shape (N, depth, height, width, 3).

    As of images; there is no mode `bicubic`.

    Raises:
        RuntimeError: shapes or dtypes of volumes and grid do not fit, volumes have no elements, or the mode is none.
    """
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners, 3)


def grid_sampler_shape(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """The result of `grid_sampler_2d` and `grid_sampler_3d` without data, for the same arguments."""
    check(input, grid, interpolation_mode, 3 if input.ndim == 5 else 2)
    return shaped((*input.shape[:2], *grid.shape[1:-1]), input.dtype)


def _gradients(
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
    dims: int,
) -> tuple[Array | None, Array | None]:
    check(input, grid, interpolation_mode, dims)
    check_gradient(grad_output, input, grid)
    modes = (interpolation_mode, padding_mode, align_corners)
    flat = input.reshape(-1)
    of_input = np.zeros(flat.shape, flat.dtype) if output_mask[0] else None
    of_grid = np.zeros(grid.shape, grid.dtype) if output_mask[1] else None
    with np.errstate(invalid="ignore", over="ignore"):
        for neighbour in neighbours(_NUMPY, grid, input.shape[2:], *modes, order=1):
            places, within = _places(input, neighbour.index), neighbour.within
            if of_input is not None:
                share = grad_output * neighbour.weight()[:, None]
                chosen = np.broadcast_to(within[:, None], share.shape)
                np.add.at(of_input, places[chosen], share[chosen])
            if of_grid is not None:
                along = (_values(flat, places, within) * grad_output).sum(1)
                for coordinate in range(dims):
                    slope = neighbour.slope(coordinate)
                    if slope is not None:
                        part = along * slope
                        of_grid[..., coordinate] += part if dims == 2 else np.where(within, part, part.dtype.type(0))
    return None if of_input is None else of_input.reshape(input.shape), of_grid


def grid_sampler_2d_backward(
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    """The gradients of images and grid, of their shapes; None for those that `output_mask` leaves out.

    Raises:
        RuntimeError: as `grid_sampler_2d`, or `grad_output` is not of the shape or dtype of its result.
    """
    return _gradients(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 2)


def grid_sampler_3d_backward(
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    """The gradients of volumes and grid, of their shapes; None for those that `output_mask` leaves out.

    Raises:
        RuntimeError: as `grid_sampler_3d`, or `grad_output` is not of the shape or dtype of its result.
    """
    return _gradients(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 3)


def grid_sampler_backward_shape(
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    """The results of the gradients without data, for the same arguments."""
    check(input, grid, interpolation_mode, 3 if input.ndim == 5 else 2)
    check_gradient(grad_output, input, grid)
    of_input = shaped(input.shape, input.dtype) if output_mask[0] else None
    return of_input, shaped(grid.shape, grid.dtype) if output_mask[1] else None
