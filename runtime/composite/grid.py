"""Images read at places that a grid gives, and grids of affine maps.

Coordinates go from -1 to 1, the last dimension of the image first.  All is made of differentiable operators, so that
derivatives in image and grid follow, of any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2

# The free parameter of the cubic of Keys (1981).
_SHARPNESS = -0.75

Tap = tuple[Tensor, Tensor]  # places along a dimension, and the weights of what stands there


def _places(coordinates: Tensor, size: int, align_corners: bool) -> Tensor:
    """Coordinates from -1 to 1 as places among `size` elements."""
    if align_corners:
        return (coordinates + 1) * ((size - 1) / 2)
    return ((coordinates + 1) * size - 1) / 2


def _inside(places: Tensor, size: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Places beyond the image as places in it, as the padding says."""
    if padding_mode == _ZEROS:
        return places
    if padding_mode == _REFLECTION:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            places = places * 0
        else:
            away = (places - low).abs()
            turns = (away / span).floor().detach()
            rest = away - turns * span
            places = ops.where(turns.remainder(2) == 0, rest + low, span - rest + low)
    # At the border itself the gradient is zero, as beyond it.  NaN counts as the first place.
    between = (places > 0).logical_and(places < size - 1)
    return ops.where(between, places, places.detach().clamp(0, size - 1).nan_to_num(0))


def _taps(coordinates: Tensor, size: int, mode: int, padding_mode: int, align_corners: bool) -> list[Tap]:
    """What an element is made of, along a dimension."""
    places = _places(coordinates, size, align_corners)
    if mode != _BICUBIC:
        places = _inside(places, size, padding_mode, align_corners)
    if mode == _NEAREST:
        # 1, with a gradient of zeros that has a graph: the result and its gradient belong to the graph of the grid.
        return [(places.detach().round(), places.masked_fill(places.isnan().logical_or(places == places), 0) + 1)]
    low = places.detach().floor()
    part = places - low
    if mode == _BILINEAR:
        return [(low, 1 - part), (low + 1, part)]
    a = _SHARPNESS

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def wide(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = (wide(part + 1), near(part), near(1 - part), wide(2 - part))
    return [
        (_inside(low + (step - 1), size, padding_mode, align_corners), weight) for step, weight in enumerate(weights)
    ]


def _in_image(tap: Tap, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Places as indices, of which those beyond the image are 0; which ones are in it; and their weights."""
    places, weight = tap
    within = (places >= 0).logical_and(places <= size - 1)
    return places.masked_fill(within.logical_not(), 0).to(dtypes.int64), within, weight


def _sampled(input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    sizes = list(input.shape[2:])
    batch, channels, dims = input.shape[0], input.shape[1], len(sizes)
    coordinates = grid.unbind(-1)
    taps = [_taps(coordinates[dims - 1 - dim], sizes[dim], mode, padding_mode, align_corners) for dim in range(dims)]
    count = grid.numel() // max(batch * dims, 1)
    plane = 1
    for size in sizes:
        plane *= size
    flat = input.reshape([batch, channels, plane])
    shape = [batch, channels, *grid.shape[1:-1]]
    known = [[_in_image(tap, size) for tap in row] for row, size in zip(taps, sizes, strict=True)]
    total: Tensor | None = None
    for chosen in itertools.product(*known):
        at, within, weight = chosen[0]
        for (index, inside, factor), size in zip(chosen[1:], sizes[1:], strict=True):
            at = index.add(at, alpha=size)
            within = within.logical_and(inside)
            weight = weight * factor
        where = at.reshape([batch, 1, count]).expand([batch, channels, count])
        values = flat.gather(2, where).reshape(shape).masked_fill(within.logical_not().unsqueeze(1), 0)
        values = values * weight.unsqueeze(1)
        total = values if total is None else total + values
    assert total is not None
    return total


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
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected input and grid to have same dtype, but got {grid.dtype}")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size")
    if grid.shape[-1] != dims:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {dims} in last dimension")
    if not all(input.shape[2:]):
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, got {list(input.shape)}"
        )
    if dims == 3 and interpolation_mode == _BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


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
