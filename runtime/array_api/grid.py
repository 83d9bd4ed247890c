"""Images and volumes at the points of a grid, which are given by `take_along_axis`."""

from __future__ import annotations

import math

from runtime.array_api._common import Array, Namespace
from runtime.kernels._grid import Arithmetic, check, neighbours


def _sampled(
    xp: Namespace,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    dims: int,
) -> Array:
    check(input, grid, interpolation_mode, dims)
    batch, channels, *sizes = input.shape
    arithmetic = Arithmetic(
        xp.where, xp.floor, xp.round, xp.abs, xp.zeros_like, lambda places: xp.astype(places, xp.int64)
    )
    points = grid.shape[1:-1]
    count = math.prod(points)
    flat = xp.reshape(input, (batch, channels, math.prod(sizes)))
    total = None
    for index, within, weight, _ in neighbours(
        arithmetic, grid, sizes, interpolation_mode, padding_mode, align_corners
    ):
        where = xp.broadcast_to(xp.reshape(index, (batch, 1, count)), (batch, channels, count))
        values = xp.reshape(xp.take_along_axis(flat, where, axis=2), (batch, channels, *points))
        values = xp.where(xp.expand_dims(within, axis=1), values, xp.zeros_like(values))
        term = values * xp.expand_dims(weight, axis=1)
        total = term if total is None else total + term
    return total


def grid_sampler_2d(
    xp: Namespace, input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    return _sampled(xp, input, grid, interpolation_mode, padding_mode, align_corners, 2)


def grid_sampler_3d(
    xp: Namespace, input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    return _sampled(xp, input, grid, interpolation_mode, padding_mode, align_corners, 3)
