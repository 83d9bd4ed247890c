"""Images read at points that a grid gives, and grids of affine maps.

Coordinates go from -1 to 1, the last dimension of the image first.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


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
