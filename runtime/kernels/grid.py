"""Images and volumes at the points of a grid."""

from __future__ import annotations

import math

import numpy as np

from runtime.kernels._common import Array, shaped
from runtime.kernels._grid import Arithmetic, check, neighbours

_NUMPY = Arithmetic(np.where, np.floor, np.round, np.abs, np.zeros_like, lambda places: places.astype(np.int64))


def _sampled(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool, dims: int
) -> Array:
    check(input, grid, interpolation_mode, dims)
    batch, channels, *sizes = input.shape
    flat = input.reshape(batch, channels, math.prod(sizes))
    images, planes = np.ogrid[:batch, :channels]
    ones = (1,) * dims
    images, planes = images.reshape(batch, 1, *ones), planes.reshape(1, channels, *ones)
    total: Array | None = None
    with np.errstate(invalid="ignore", over="ignore"):
        for index, within, weight, _ in neighbours(
            _NUMPY, grid, sizes, interpolation_mode, padding_mode, align_corners
        ):
            values = flat[images, planes, index[:, None]]
            term = np.where(within[:, None], values, input.dtype.type(0)) * weight[:, None]
            total = term if total is None else total + term
    assert total is not None
    return total


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
    dims = input.ndim - 2
    check(input, grid, interpolation_mode, dims if dims in (2, 3) else 2)
    return shaped((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
