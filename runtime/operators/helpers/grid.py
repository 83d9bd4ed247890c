"""Derivatives of images and volumes at the points of a grid, and of their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.declarations import linear_in
from runtime.base.half import in_float32
from runtime.base.tensor import Tensor
from runtime.operators.kernels import _grid


def _indices(places: Tensor) -> Tensor:
    return places.to(dtypes.int64)


def _neighbours(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, order: int
) -> list[_grid.Neighbour]:
    """What the points of a grid are made of, by operators that record."""
    arithmetic = _grid.Arithmetic(ops.where, ops.floor, ops.round, ops.abs, ops.zeros_like, _indices)
    modes = (interpolation_mode, padding_mode, align_corners)
    return list(_grid.neighbours(arithmetic, grid, input.shape[2:], *modes, order=order))


def _everywhere(index: Tensor, channels: int) -> Tensor:
    """The places of elements in an image, (N, ...), for each of its channels: (N, channels, points)."""
    batch = index.shape[0]
    count = index.numel() // max(batch, 1)
    return index.reshape([batch, 1, count]).expand([batch, channels, count])


def _values(input: Tensor, neighbour: _grid.Neighbour) -> Tensor:
    """The elements that are neighbours of the points, 0 beyond the image: (N, C, ...)."""
    batch, channels = input.shape[0], input.shape[1]
    flat = input.reshape([batch, channels, input.shape[2:].numel()])
    found = flat.gather(2, _everywhere(neighbour.index, channels))
    return _within(found.reshape([batch, channels, *neighbour.index.shape[1:]]), neighbour)


def _within(values: Tensor, neighbour: _grid.Neighbour) -> Tensor:
    """What there is of neighbours, (N, C, ...), and 0 beyond the image."""
    return values.masked_fill(neighbour.within.logical_not().unsqueeze(1), 0)


def _change(neighbour: _grid.Neighbour, tangent: Tensor, *moved: int) -> Tensor | None:
    """How a weight, or its derivative, changes where the points move; None where it does not."""
    total = None
    for coordinate in range(tangent.shape[-1]):
        slope = neighbour.slope(coordinate, *moved)
        if slope is not None:
            part = slope * tangent[..., coordinate]
            total = part if total is None else total + part
    return total


def _plus(total: Tensor | None, term: Tensor) -> Tensor:
    return term if total is None else total + term


@in_float32
def grid_sampler_jvp(
    input: Tensor, grid: Tensor, tangent: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """How images, or volumes, at the points of a grid change where the points move: (N, C, ...)."""
    total = None
    for neighbour in _neighbours(input, grid, interpolation_mode, padding_mode, align_corners, 1):
        change = _change(neighbour, tangent)
        if change is not None:
            total = _plus(total, _values(input, neighbour) * change.unsqueeze(1))
    return input.new_zeros([*input.shape[:2], *grid.shape[1:-1]]) if total is None else total


@in_float32
def grid_sampler_2d_double_backward(
    ggI: Tensor | None,
    ggGrid: Tensor | None,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of the incoming gradient, of the image and of the grid, of what the backward gives."""
    dims = grid.shape[-1]
    of_output: Tensor | None = None
    of_image: Tensor | None = None
    moves: list[Tensor | None] = [None] * dims
    for neighbour in _neighbours(input, grid, interpolation_mode, padding_mode, align_corners, 2):
        change = None if ggGrid is None else _change(neighbour, ggGrid)
        if output_mask[0] and ggI is not None:
            weight = neighbour.weight()
            of_output = _plus(of_output, _within(_values(ggI, neighbour) * weight.unsqueeze(1), neighbour))
        if output_mask[0] and change is not None:
            of_output = _plus(of_output, _within(_values(input, neighbour) * change.unsqueeze(1), neighbour))
        if output_mask[1] and change is not None:
            share = _within(grad_output * change.unsqueeze(1), neighbour)
            where = _everywhere(neighbour.index, input.shape[1])
            if of_image is None:
                of_image = input.new_zeros([input.shape[0], input.shape[1], input.shape[2:].numel()])
            of_image = of_image.scatter_add(2, where, share.reshape(where.shape))
        beyond = neighbour.within.logical_not()
        for coordinate in range(dims) if output_mask[2] else ():
            slope = neighbour.slope(coordinate)
            if ggI is not None and slope is not None:
                along = (_values(ggI, neighbour) * grad_output).sum(1)
                moves[coordinate] = _plus(moves[coordinate], (along * slope).masked_fill(beyond, 0))
            bend = None if ggGrid is None else _change(neighbour, ggGrid, coordinate)
            if bend is not None:
                along = (_values(input, neighbour) * grad_output).sum(1)
                moves[coordinate] = _plus(moves[coordinate], (along * bend).masked_fill(beyond, 0))
    if output_mask[0] and of_output is None:
        of_output = ops.zeros_like(grad_output)
    if output_mask[1]:
        of_image = ops.zeros_like(input) if of_image is None else of_image.reshape(input.shape)
    of_grid = None
    if output_mask[2]:
        nothing = ops.zeros_like(grid[..., 0])
        of_grid = ops.stack([nothing if move is None else move for move in moves], -1)
    return of_output, of_image, of_grid


def grid_sampler_3d_double_backward(
    ggI: Tensor | None,
    ggGrid: Tensor | None,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """As of two dimensions."""
    return grid_sampler_2d_double_backward(
        ggI, ggGrid, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask
    )


# The gradient of the images alone, which is not asked for here, does not depend on them.
@linear_in("grad_output")
@linear_in("input")
def grid_sampler_backward_grid(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor | None:
    """The gradient of the points."""
    backward = ops.grid_sampler_2d_backward if grid.shape[-1] == 2 else ops.grid_sampler_3d_backward
    return backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, (False, True))[1]


def grid_sampler_backward_jvp_input(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    tangent: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor | None:
    """How the gradient of images, or volumes, changes where the points move."""
    modes = (interpolation_mode, padding_mode, align_corners)
    return grid_sampler_2d_double_backward(None, tangent, grad_output, input, grid, *modes, (False, True, False))[1]


def grid_sampler_backward_jvp_grid(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    tangent: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor | None:
    """How the gradient of the points changes where they move."""
    modes = (interpolation_mode, padding_mode, align_corners)
    return grid_sampler_2d_double_backward(None, tangent, grad_output, input, grid, *modes, (False, False, True))[2]
