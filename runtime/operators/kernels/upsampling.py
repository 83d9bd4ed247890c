"""Upsampling: along each dimension, every element of the result is a weighted sum of a few of the input."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.base.arrays import Array

Sizes = Sequence[int]


@dataclass(frozen=True)
class _Taps:
    """Along a dimension: the places that an element is made of, a row for each of these, and their weights.

    Where there are fewer places than rows, `absent` is true: what is there counts for nothing, even if it is infinite.
    """

    places: tuple[Array, ...]
    weights: tuple[Array, ...] | None  # None: each is 1
    absent: tuple[Array, ...] | None = None  # None: none is

    def weigh(self, part: Array, number: int, axis: int) -> None:
        """Multiply, in place, what stands for a row of places."""
        if self.weights is not None:
            part *= _row(self.weights[number], axis, part.ndim)
        if self.absent is not None and self.absent[number].any():
            np.copyto(part, 0, where=_row(self.absent[number], axis, part.ndim))


def _ratio(size: int, count: int, scale: float | None, kind: Any) -> Any:
    """How far elements of the result lie apart in the input: by the factor that was given, else by the sizes."""
    if scale is not None and scale > 0:
        return kind(1.0 / scale)
    return kind(size) / kind(count)


def _nearest(size: int, count: int, scale: float | None, exact: bool) -> _Taps:
    """The element that an element of the result lies in; `exact`, its middle."""
    # In single precision whatever the dtype, as PyTorch's, so that both choose the same neighbour.
    ratio = _ratio(size, count, scale, np.float32)
    at = (np.arange(count, dtype=np.float32) + np.float32(0.5 if exact else 0)) * ratio
    return _Taps((np.minimum(np.floor(at).astype(np.int64), size - 1),), None)


def _position(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> Array:
    """Where the elements of the result lie in the input."""
    places = np.arange(count).astype(kind)
    if align_corners:
        return np.asarray(places * (kind(size - 1) / kind(count - 1) if count > 1 else kind(0)))
    return np.asarray((places + kind(0.5)) * _ratio(size, count, scale, kind) - kind(0.5))


def _linear(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> _Taps:
    """The two neighbours, weighted by how near they are."""
    at = np.maximum(_position(size, count, scale, align_corners, kind), kind(0))
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    part = np.clip(at - low, 0, 1).astype(kind)
    return _Taps((low, np.minimum(low + 1, size - 1)), (1 - part, part))


# The free parameter of the cubic of Keys (1981).
_SHARPNESS = -0.75


def _cubic(size: int, count: int, scale: float | None, align_corners: bool, kind: Any) -> _Taps:
    """The four neighbours, weighted by a piecewise cubic with a continuous slope."""
    at = _position(size, count, scale, align_corners, kind)
    low = np.floor(at).astype(np.int64)
    part = (at - low).astype(kind)
    a = kind(_SHARPNESS)

    def near(x: Array) -> Array:
        return np.asarray(((a + 2) * x - (a + 3)) * x * x + 1)

    def wide(x: Array) -> Array:
        return np.asarray(((a * x - 5 * a) * x + 8 * a) * x - 4 * a)

    weights = (wide(part + 1), near(part), near(1 - part), wide(2 - part))
    return _Taps(tuple(np.clip(low + step, 0, size - 1) for step in (-1, 0, 1, 2)), weights)


def _tent(x: Array) -> Array:
    """The weight of what lies `x` away, for lines between neighbours."""
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def _wave(x: Array) -> Array:
    """The weight of what lies `x` away, by the cubic of Keys with the parameter that fits a parabola best."""
    far = np.abs(x)
    near = (1.5 * far - 2.5) * far * far + 1
    return np.where(far < 1, near, np.where(far < 2, ((-0.5 * far + 2.5) * far - 4) * far + 2, 0))


def _lanczos(x: Array) -> Array:
    """The weight of what lies `x` away, by the window of Lanczos with three lobes (Duchon 1979)."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _smoothed(
    size: int, count: int, scale: float | None, align_corners: bool, kind: Any, reach: int, weight: Callable[..., Array]
) -> _Taps:
    """All that lies within `reach` elements, of the result where these are the larger ones, by its distance.

    So that nothing of the input is left out where it becomes smaller (antialiasing); the weights sum to 1.  A dimension
    that keeps its size is left as it is, whatever the factor, as PyTorch does: no zero weighs what is infinite.
    """
    if size == count:
        return _Taps((np.arange(size),), None)
    if align_corners:
        ratio = (size - 1) / (count - 1) if count > 1 else 0.0
    else:
        ratio = float(_ratio(size, count, scale, np.float64))
    wide = max(ratio, 1.0)
    middles = ratio * (np.arange(count) + 0.5)
    first = np.maximum((middles - reach * wide + 0.5).astype(np.int64), 0)
    last = np.minimum((middles + reach * wide + 0.5).astype(np.int64), size)
    steps = range(int((last - first).max()))
    absent = tuple(first + step >= last for step in steps)
    weights = [np.where(absent[step], 0, weight((first + step - middles + 0.5) / wide)) for step in steps]
    total = np.sum(weights, axis=0)
    total[total == 0] = 1
    return _Taps(
        tuple(np.minimum(first + step, size - 1) for step in steps),
        tuple((w / total).astype(kind) for w in weights),
        absent,
    )


def _row(values: Array, axis: int, ndim: int) -> Array:
    return values.reshape([-1 if i == axis else 1 for i in range(ndim)])


def _made(array: Array, axis: int, taps: _Taps) -> Array:
    """The weighted sums, along an axis."""
    if taps.weights is None:
        return np.take(array, taps.places[0], axis)
    out: Any = None
    for number, places in enumerate(taps.places):
        part = np.take(array, places, axis)
        taps.weigh(part, number, axis)
        out = part if out is None else np.add(out, part, out=out)
    return np.asarray(out)


# Where more elements in a row are made of the same one, they are added up among themselves.
_MOST_IN_A_ROW = 8


def _add_grown(out: Array, axis: int, places: Array, part: Array) -> None:
    """Add up elements along an axis at places that only grow, so that those that are the same stand together."""
    before: tuple[Any, ...] = (slice(None),) * axis
    present, starts, counts = np.unique(places, return_index=True, return_counts=True)
    if counts.max(initial=0) > _MOST_IN_A_ROW:
        out[(*before, present)] += np.add.reduceat(part, starts, axis=axis)
        return
    # First the first one of each place, then the second ones: none of these places occurs twice.
    for number in range(int(counts.max(initial=0))):
        more = counts > number
        out[(*before, _regular(present[more]))] += part[(*before, _regular(starts[more] + number))]


def _regular(places: Array) -> Any:
    """Places that lie equally far apart as a slice, which is a view."""
    steps = np.diff(places)
    if steps.size and not (steps == steps[0]).all():
        return places
    step = int(steps[0]) if steps.size else 1
    return slice(int(places[0]), int(places[-1]) + 1, step)


def _returned(gradient: Array, axis: int, taps: _Taps, size: int) -> Array:
    """The adjoint: what each element of the input contributed to."""
    shape = [size if i == axis else length for i, length in enumerate(gradient.shape)]
    out: Any = np.zeros(shape, gradient.dtype)
    for number, places in enumerate(taps.places):
        part = gradient
        if taps.weights is not None:
            part = gradient.copy()
            taps.weigh(part, number, axis)
        _add_grown(out, axis, places, part)
    return np.asarray(out)


def _check(shape: Sizes, output_size: Sizes) -> None:
    dims = len(output_size)
    if len(shape) != dims + 2 or not all(shape[1:]) or min(output_size) < 1:
        raise RuntimeError(
            f"upsampling: expected a non-empty {dims + 2}D input and sizes greater than 0, but got input {list(shape)} "
            f"and output {list(output_size)}"
        )


_SMOOTHED: dict[str, tuple[int, Callable[..., Array]]] = {
    "tent": (1, _tent), "wave": (2, _wave), "lanczos": (3, _lanczos),
}  # fmt: skip


def _taps(
    kind: str, shape: Sizes, output_size: Sizes, scales: Sequence[float | None], align_corners: bool, dtype: Any
) -> list[_Taps]:
    made = []
    for size, count, scale in zip(shape[2:], output_size, scales, strict=True):
        real = dtype.type(0).real.dtype.type
        if kind in ("nearest", "exact"):
            made.append(_nearest(size, count, scale, kind == "exact"))
        elif kind in _SMOOTHED:
            made.append(_smoothed(size, count, scale, align_corners, real, *_SMOOTHED[kind]))
        else:
            function = _linear if kind == "linear" else _cubic
            made.append(function(size, count, scale, align_corners, real))
    return made


def _up(
    kind: str, self: Array, output_size: Sizes, scales: Sequence[float | None], align_corners: bool = False
) -> Array:
    _check(self.shape, output_size)
    out = self
    for axis, taps in enumerate(_taps(kind, self.shape, output_size, scales, align_corners, self.dtype), 2):
        out = _made(out, axis, taps)
    return np.ascontiguousarray(out, self.dtype)


def _back(
    kind: str,
    grad_output: Array,
    output_size: Sizes,
    input_size: Sizes,
    scales: Sequence[float | None],
    align_corners: bool = False,
) -> Array:
    _check(input_size, output_size)
    if grad_output.shape != (*input_size[:2], *output_size):
        raise RuntimeError(
            f"Expected grad_output to have the shape {[*input_size[:2], *output_size]}, but got "
            f"{list(grad_output.shape)}"
        )
    out = grad_output
    for axis, taps in enumerate(_taps(kind, input_size, output_size, scales, align_corners, out.dtype), 2):
        out = _returned(out, axis, taps, input_size[axis])
    assert math.prod(out.shape) == math.prod(input_size)
    return np.ascontiguousarray(out, grad_output.dtype)


# -- the operators; `scales` is a factor for each dimension, or None


def upsample_nearest1d(self: Array, output_size: Sizes, *scales: float | None) -> Array:
    return _up("nearest", self, output_size, scales)


def upsample_nearest1d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, *scales: float | None
) -> Array:
    return _back("nearest", grad_output, output_size, input_size, scales)


def upsample_nearest2d(self: Array, output_size: Sizes, *scales: float | None) -> Array:
    return _up("nearest", self, output_size, scales)


def upsample_nearest2d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, *scales: float | None
) -> Array:
    return _back("nearest", grad_output, output_size, input_size, scales)


def upsample_nearest3d(self: Array, output_size: Sizes, *scales: float | None) -> Array:
    return _up("nearest", self, output_size, scales)


def upsample_nearest3d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, *scales: float | None
) -> Array:
    return _back("nearest", grad_output, output_size, input_size, scales)


def _upsample_nearest_exact1d(self: Array, output_size: Sizes, *scales: float | None) -> Array:
    return _up("exact", self, output_size, scales)


def _upsample_nearest_exact1d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, *scales: float | None
) -> Array:
    return _back("exact", grad_output, output_size, input_size, scales)


def _upsample_nearest_exact2d(self: Array, output_size: Sizes, *scales: float | None) -> Array:
    return _up("exact", self, output_size, scales)


def _upsample_nearest_exact2d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, *scales: float | None
) -> Array:
    return _back("exact", grad_output, output_size, input_size, scales)


def _upsample_nearest_exact3d(self: Array, output_size: Sizes, *scales: float | None) -> Array:
    return _up("exact", self, output_size, scales)


def _upsample_nearest_exact3d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, *scales: float | None
) -> Array:
    return _back("exact", grad_output, output_size, input_size, scales)


def upsample_linear1d(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("linear", self, output_size, scales, align_corners)


def upsample_linear1d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("linear", grad_output, output_size, input_size, scales, align_corners)


def upsample_bilinear2d(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("linear", self, output_size, scales, align_corners)


def upsample_bilinear2d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("linear", grad_output, output_size, input_size, scales, align_corners)


def upsample_trilinear3d(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("linear", self, output_size, scales, align_corners)


def upsample_trilinear3d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("linear", grad_output, output_size, input_size, scales, align_corners)


def upsample_bicubic2d(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("cubic", self, output_size, scales, align_corners)


def upsample_bicubic2d_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("cubic", grad_output, output_size, input_size, scales, align_corners)


def _upsample_bilinear2d_aa(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("tent", self, output_size, scales, align_corners)


def _upsample_bilinear2d_aa_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("tent", grad_output, output_size, input_size, scales, align_corners)


def _upsample_bicubic2d_aa(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("wave", self, output_size, scales, align_corners)


def _upsample_bicubic2d_aa_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("wave", grad_output, output_size, input_size, scales, align_corners)


def _upsample_lanczos2d_aa(self: Array, output_size: Sizes, align_corners: bool, *scales: float | None) -> Array:
    return _up("lanczos", self, output_size, scales, align_corners)


def _upsample_lanczos2d_aa_backward(
    grad_output: Array, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    return _back("lanczos", grad_output, output_size, input_size, scales, align_corners)
