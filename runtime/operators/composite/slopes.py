"""Slopes of functions that are known at points: central differences inside, one-sided ones at the two ends."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dims
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar


def gradient_scalarint(
    self: Tensor, *, spacing: Scalar | None = None, dim: int | None = None, edge_order: int = 1
) -> Sequence[Tensor]:
    """The slopes along each of the dims, of a function of which `self` has the values at evenly spaced points.

    Inside it is (f(x + h) - f(x - h)) / 2h, whose error is of the order h^2 (Fornberg, Mathematics of Computation 51,
    1988); at the ends the difference of two points, or with `edge_order=2` the slope of the parabola through three.
    """
    dims = range(self.dim()) if dim is None else [dim]
    step = 1 if spacing is None else spacing
    return _slopes(self, [step for _ in dims], dims, edge_order)


def gradient_scalararray(self: Tensor, *, spacing: Scalar, dim: Sequence[int], edge_order: int = 1) -> Sequence[Tensor]:
    return _slopes(self, [spacing for _ in dim], dim, edge_order)


def gradient_array(self: Tensor, *, dim: Sequence[int], edge_order: int = 1) -> Sequence[Tensor]:
    return _slopes(self, [1 for _ in dim], dim, edge_order)


def gradient_scalarrayint(
    self: Tensor, *, spacing: Sequence[Scalar], dim: int | None = None, edge_order: int = 1
) -> Sequence[Tensor]:
    return _slopes(self, spacing, _dims_of(self, len(spacing), dim), edge_order)


def gradient_scalarrayarray(
    self: Tensor, *, spacing: Sequence[Scalar], dim: Sequence[int], edge_order: int = 1
) -> Sequence[Tensor]:
    return _slopes(self, spacing, _as_many(len(spacing), dim), edge_order)


def gradient_tensorarrayint(
    self: Tensor, *, spacing: Sequence[Tensor], dim: int | None = None, edge_order: int = 1
) -> Sequence[Tensor]:
    """The same for points at the coordinates `spacing`, of which there is a vector for each dim."""
    return _slopes(self, spacing, _dims_of(self, len(spacing), dim), edge_order)


def gradient_tensorarray(
    self: Tensor, *, spacing: Sequence[Tensor], dim: Sequence[int], edge_order: int = 1
) -> Sequence[Tensor]:
    return _slopes(self, spacing, _as_many(len(spacing), dim), edge_order)


def _dims_of(self: Tensor, count: int, dim: int | None) -> Sequence[int]:
    """The dims that a list of spacings is for: the one that is given, else all."""
    if dim is not None:
        return _as_many(count, [dim])
    if count != self.dim():
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{self.dim()}', since dim argument was not given, but got a list of length {count}"
        )
    return range(self.dim())


def _as_many(count: int, dim: Sequence[int]) -> Sequence[int]:
    if count != len(dim):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {count} and a dim argument of length {len(dim)}."
        )
    return dim


def _slopes(
    self: Tensor, spacing: Sequence[Scalar] | Sequence[Tensor], dim: Sequence[int], edge_order: int
) -> Sequence[Tensor]:
    if self.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    places = normalize_dims(dim, self.dim())
    for place in places:
        if self.size(place) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    for step in spacing:
        if isinstance(step, Tensor) and step.dim() != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{step.dim()} dimensions!"
            )
    return [
        _uneven(self, place, step, edge_order) if isinstance(step, Tensor) else _even(self, place, step, edge_order)
        for place, step in zip(places, spacing, strict=True)
    ]


def _even(f: Tensor, dim: int, h: Scalar, edge_order: int) -> Tensor:
    """Along a dim, whose points are `h` apart."""
    inside = (_from(f, dim, 2) - _until(f, dim, -2)) / 2
    if edge_order == 1:
        first, last = _at(f, dim, 1) - _at(f, dim, 0), _at(f, dim, -1) - _at(f, dim, -2)
    else:
        first = -1.5 * _at(f, dim, 0) + 2 * _at(f, dim, 1) - 0.5 * _at(f, dim, 2)
        last = 1.5 * _at(f, dim, -1) - 2 * _at(f, dim, -2) + 0.5 * _at(f, dim, -3)
    return ops.cat([first, inside, last], dim) / h


def _uneven(f: Tensor, dim: int, x: Tensor, edge_order: int) -> Tensor:
    """Along a dim, whose points are `x`: the slopes of the parabola through each point and its neighbours."""
    steps = (x[1:] - x[:-1]).reshape([-1] + [1] * (f.dim() - dim - 1))
    before, after = steps[:-1], steps[1:]
    inside = (
        -after / (before * (before + after)) * _until(f, dim, -2)
        + (after - before) / (before * after) * f.narrow(dim, 1, f.shape[dim] - 2)
        + before / (after * (before + after)) * _from(f, dim, 2)
    )
    if edge_order == 1:
        first = (_at(f, dim, 1) - _at(f, dim, 0)) / steps[:1]
        last = (_at(f, dim, -1) - _at(f, dim, -2)) / steps[-1:]
    else:
        a, b, c, d = steps[:1], steps[1:2], steps[-2:-1], steps[-1:]
        first = (
            -(2 * a + b) / (a * (a + b)) * _at(f, dim, 0)
            + (a + b) / (a * b) * _at(f, dim, 1)
            - a / (b * (a + b)) * _at(f, dim, 2)
        )
        last = (
            d / (c * (c + d)) * _at(f, dim, -3)
            - (c + d) / (c * d) * _at(f, dim, -2)
            + (c + 2 * d) / (d * (c + d)) * _at(f, dim, -1)
        )
    return ops.cat([first, inside, last], dim)


def _at(f: Tensor, dim: int, place: int) -> Tensor:
    return f.narrow(dim, place % f.shape[dim], 1)


def _from(f: Tensor, dim: int, first: int) -> Tensor:
    return f.narrow(dim, first, f.shape[dim] - first)


def _until(f: Tensor, dim: int, end: int) -> Tensor:
    return f.narrow(dim, 0, f.shape[dim] + end)
