"""Images and volumes at the points of a grid, which are taken along one dimension, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.operators.array_api._common import Array, Namespace
from runtime.operators.array_api.indexing import scatter_add
from runtime.operators.kernels._grid import Arithmetic, Neighbour, check, check_gradient, neighbours


def _arithmetic(xp: Namespace) -> Arithmetic:
    return Arithmetic(xp.where, xp.floor, xp.round, xp.abs, xp.zeros_like, lambda places: xp.astype(places, xp.int64))


def _everywhere(xp: Namespace, index: Array, channels: int) -> Array:
    """The places of elements in an image, (N, ...), for each of its channels: (N, channels, points)."""
    batch, *points = index.shape
    count = math.prod(points)
    return xp.broadcast_to(xp.reshape(index, (batch, 1, count)), (batch, channels, count))


def _values(xp: Namespace, input: Array, neighbour: Neighbour) -> Array:
    """The elements that are neighbours of the points, 0 beyond the image: (N, C, ...)."""
    batch, channels, *sizes = input.shape
    flat = xp.reshape(input, (batch, channels, math.prod(sizes)))
    found = xp.take_along_axis(flat, _everywhere(xp, neighbour.index, channels), axis=2)
    found = xp.reshape(found, (batch, channels, *neighbour.index.shape[1:]))
    return xp.where(xp.expand_dims(neighbour.within, axis=1), found, xp.zeros_like(found))


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
    modes = (interpolation_mode, padding_mode, align_corners)
    total = None
    for neighbour in neighbours(_arithmetic(xp), grid, input.shape[2:], *modes):
        term = _values(xp, input, neighbour) * xp.expand_dims(neighbour.weight(), axis=1)
        total = term if total is None else total + term
    return total


def _gradients(
    xp: Namespace,
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
    batch, channels, *sizes = input.shape
    of_input = xp.reshape(xp.zeros_like(input), (batch, channels, math.prod(sizes)))
    moves = [xp.zeros_like(grid[..., coordinate]) for coordinate in range(dims)]
    for neighbour in neighbours(_arithmetic(xp), grid, sizes, *modes, order=1):
        if output_mask[0]:
            share = grad_output * xp.expand_dims(neighbour.weight(), axis=1)
            share = xp.where(xp.expand_dims(neighbour.within, axis=1), share, xp.zeros_like(share))
            where = _everywhere(xp, neighbour.index, channels)
            of_input = scatter_add(xp, of_input, 2, where, xp.reshape(share, where.shape))
        if output_mask[1]:
            along = xp.sum(_values(xp, input, neighbour) * grad_output, axis=1)
            for coordinate in range(dims):
                slope = neighbour.slope(coordinate)
                if slope is not None:
                    part = along * slope
                    part = part if dims == 2 else xp.where(neighbour.within, part, xp.zeros_like(part))
                    moves[coordinate] = moves[coordinate] + part
    return xp.reshape(of_input, input.shape) if output_mask[0] else None, (
        xp.stack(moves, axis=-1) if output_mask[1] else None
    )


def grid_sampler_2d(
    xp: Namespace, input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    return _sampled(xp, input, grid, interpolation_mode, padding_mode, align_corners, 2)


def grid_sampler_3d(
    xp: Namespace, input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    return _sampled(xp, input, grid, interpolation_mode, padding_mode, align_corners, 3)


def grid_sampler_2d_backward(
    xp: Namespace,
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    return _gradients(xp, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 2)


def grid_sampler_3d_backward(
    xp: Namespace,
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    return _gradients(xp, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 3)
