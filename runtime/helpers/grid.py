"""Derivatives of images at the points of a grid."""

from __future__ import annotations

from runtime.base.tensor import Tensor
from runtime.composite.grid import neighbours, values, zero
from runtime.kernels import _grid


def grid_sampler_jvp(
    input: Tensor, grid: Tensor, tangent: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """How images, or volumes, at the points of a grid change where the points move."""
    total: Tensor | None = None
    sizes = list(input.shape[2:])
    for neighbour in neighbours(grid, sizes, interpolation_mode, padding_mode, align_corners, sloped=True):
        change = None
        for dim, slope in enumerate(neighbour.slopes):
            part = slope * tangent[..., dim]
            change = part if change is None else change + part
        assert change is not None
        term = values(input, neighbour) * change.unsqueeze(1)
        total = term if total is None else total + term
    assert total is not None
    return zero(total) if interpolation_mode == _grid.NEAREST else total
