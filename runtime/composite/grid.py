"""Images read at places that a grid gives, and grids of affine maps.

Coordinates go from -1 to 1, the last dimension of the image first.  All is made of differentiable operators, so that
derivatives in image and grid follow, of any order.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.kernels import _grid


def _indices(places: Tensor) -> Tensor:
    return places.to(dtypes.int64)


def neighbours(
    grid: Tensor, sizes: Sequence[int], interpolation_mode: int, padding_mode: int, align_corners: bool, sloped: bool
) -> list[_grid.Neighbour]:
    """What the points of a grid are made of, by operators that record."""
    arithmetic = _grid.Arithmetic(ops.where, ops.floor, ops.round, ops.abs, ops.zeros_like, _indices)
    return list(
        _grid.neighbours(arithmetic, grid, sizes, interpolation_mode, padding_mode, align_corners, sloped=sloped)
    )


def _everywhere(index: Tensor, channels: int) -> Tensor:
    """The places of elements in an image, (N, ...), for each of its channels: (N, channels, points)."""
    batch = index.shape[0]
    count = index.numel() // max(batch, 1)
    return index.reshape([batch, 1, count]).expand([batch, channels, count])


def values(input: Tensor, neighbour: _grid.Neighbour) -> Tensor:
    """The elements that are neighbours of the points, 0 beyond the image: (N, C, ...)."""
    batch, channels = input.shape[0], input.shape[1]
    flat = input.reshape([batch, channels, input.shape[2:].numel()])
    found = flat.gather(2, _everywhere(neighbour.index, channels))
    found = found.reshape([batch, channels, *neighbour.index.shape[1:]])
    return found.masked_fill(neighbour.within.logical_not().unsqueeze(1), 0)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Images, or volumes, at the places of a grid; modes are counted as `bilinear`, `nearest` and `bicubic`."""
    dims = input.dim() - 2
    if dims not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    sampler = ops.grid_sampler_2d if dims == 2 else ops.grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_2d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of images and grid; None for those that `output_mask` leaves out."""
    return _gradients(
        grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask[0], output_mask[1], 2
    )


def grid_sampler_3d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of volumes and grid; None for those that `output_mask` leaves out."""
    return _gradients(
        grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask[0], output_mask[1], 3
    )


def _gradients(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    of_images: bool,
    of_points: bool,
    dims: int,
) -> tuple[Tensor | None, Tensor | None]:
    _grid.check(input, grid, interpolation_mode, dims)
    batch, channels, *sizes = input.shape
    points = list(grid.shape[1:-1])
    if list(grad_output.shape) != [batch, channels, *points]:
        raise RuntimeError(
            f"grid_sampler_{dims}d_backward(): expected grad_output of size {[batch, channels, *points]}, but got "
            f"{list(grad_output.shape)}"
        )
    images = input.new_zeros([batch, channels, input.shape[2:].numel()])
    moves: list[Tensor | None] = [None] * dims
    for neighbour in neighbours(grid, sizes, interpolation_mode, padding_mode, align_corners, sloped=of_points):
        if of_images:
            share = grad_output * neighbour.weight.unsqueeze(1)
            share = share.masked_fill(neighbour.within.logical_not().unsqueeze(1), 0)
            where = _everywhere(neighbour.index, channels)
            images = images.scatter_add(2, where, share.reshape(where.shape))
        if of_points:
            along = (values(input, neighbour) * grad_output).sum(1)
            for dim, slope in enumerate(neighbour.slopes):
                move, known = along * slope, moves[dim]
                moves[dim] = move if known is None else known + move
    of_grid = None
    if of_points:
        of_grid = ops.stack([move for move in moves if move is not None], -1)
        if interpolation_mode == _grid.NEAREST:
            of_grid = zero(of_grid)
    return images.reshape(input.shape) if of_images else None, of_grid


def zero(tensor: Tensor) -> Tensor:
    """Zeros of the same shape, with a history: what no point moves is still of the graph of all that it is made of."""
    return tensor.masked_fill(ops.ones_like(tensor, dtype=dtypes.bool), 0)


def _base(like: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The coordinates of all places of an image, and a one: (1, places, dimensions + 1)."""
    dims = len(size) - 2
    columns = []
    for dim in range(dims - 1, -1, -1):
        length = size[2 + dim]
        row = like.new_zeros([length])
        if length > 1:
            row = ops.linspace(-1, 1, length, dtype=like.dtype, device=like.device)
            if not align_corners:
                row = row * ((length - 1) / length)
        columns.append(row.reshape([length if i == dim else 1 for i in range(dims)]).expand(list(size[2:])))
    columns.append(like.new_ones(list(size[2:])))
    return ops.stack(columns, -1).reshape([1, -1, dims + 1])


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The places that affine maps of shape (N, dimensions, dimensions + 1) take those of an image to."""
    dims = len(size) - 2
    if dims not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    base = _base(theta, size, align_corners)
    return ops.matmul(base, theta.transpose(1, 2)).reshape([size[0], *size[2:], dims])


def affine_grid_generator_backward(grad: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The adjoint, in theta."""
    base = _base(grad, size, align_corners)
    return ops.matmul(grad.reshape([size[0], -1, len(size) - 2]).transpose(1, 2), base)
