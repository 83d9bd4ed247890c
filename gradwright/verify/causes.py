"""A guess at what is wrong with a gradient, from how it differs from the right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradwright.verify import numerical
from gradwright.verify.points import Array, Point, array, inner
from runtime.base.tensor import Tensor, wrap

_LARGE = 256  # elements; more take too long to look at


def cause_of(point: Point, place: int, cotangents: Sequence[Tensor]) -> str | None:
    """What would explain the gradient of an input, in words that go on 'gradient of self is'; None for nothing simple.

    Args:
        point: the sample.
        place: of the input among those of the sample.
        cotangents: what came back to the results where the gradient is wrong.
    """
    if sum(tensor.numel() for tensor in point.inputs) > _LARGE:
        return None
    # Complex results have real weights first, so that conjugates show.
    weighted = [_weights(cotangents)] if any(each._array.dtype.kind == "c" for each in cotangents) else []
    for each in (*weighted, cotangents):
        found = array(point.gradients(each)[place])
        right = [_numerical(point, other, each) for other in range(len(point.inputs))]
        if not _same(found, right[place]):
            told = next(_explanations(point, place, found, right), None)
            if told is not None:
                return told
    difference = found - right[place]
    if (
        difference.size > 1
        and not _same(found, right[place])
        and _same(difference, np.full_like(difference, difference.flat[0]))
    ):
        # It may depend on what came back, unlike the others.
        return f"off by the constant {difference.flat[0]:.6g}"
    return None


def _explanations(point: Point, place: int, found: Array, right: list[Array]) -> Iterator[str]:
    """What would make the gradient that was found of the one that is right, from which it differs."""
    wanted = right[place]
    names = point.names()
    if not np.isfinite(found).all():
        yield "not finite"
        return
    if _same(found, 0 * found):
        yield "zero"
    factor = _factor(found, wanted)
    if factor is not None:
        yield "of the wrong sign" if abs(factor + 1) < 1e-5 else f"off by the factor {factor:.6g}"
    if wanted.dtype.kind == "c":
        for said, other in (("not conjugated", wanted.conj()), ("conjugated and of the wrong sign", -wanted.conj())):
            if _same(found, other):
                yield said
        if _same(found, wanted.real):
            yield "without its imaginary part"
    for another, gradient in zip(names, right, strict=True):
        if another != names[place] and _same(found, gradient):
            yield f"that of '{another}'"
    if found.ndim >= 2 and found.shape[-1] == found.shape[-2] and _same(found, wanted.swapaxes(-1, -2)):
        yield "transposed"
    ratio = _ratio(found, wanted)
    if ratio is not None:
        values = [*zip(names, point.inputs, strict=True), *_results(point)]
        for name, tensor in values:
            known = array(tensor)
            for text, candidate in ((name, known), (f"1 / {name}", _inverse(known)), (f"{name}.conj()", known.conj())):
                if candidate.shape == ratio.shape and _same(ratio, candidate):
                    yield f"off by a factor {text}"
                if candidate.shape == ratio.shape and _same(ratio, -candidate):
                    yield f"off by a factor -{text}"


def _results(point: Point) -> list[tuple[str, Tensor]]:
    outs = point.function(*point.inputs)
    return [("result", outs[0])] if len(outs) == 1 else [(f"result{i}", out) for i, out in enumerate(outs)]


def _numerical(point: Point, place: int, cotangents: Sequence[Tensor]) -> Array:
    values = point.inputs[place]._array
    made = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        for unit in (1.0, 1j) if values.dtype.kind == "c" else (1.0,):

            def along(step: float, index: tuple[int, ...] = index, unit: complex = unit) -> Array:
                moved = [tensor._array.copy() for tensor in point.inputs]
                moved[place][index] += unit * step
                return np.asarray(inner(cotangents, point.function(*[wrap(each).requires_grad_() for each in moved])))

            made[index] += unit * numerical.derivative(along).value
    return made


def _weights(outs: Sequence[Tensor]) -> list[Tensor]:
    """Real numbers in the shapes and dtypes of the results, others for each of these."""
    made = [
        np.asarray(0.6 + np.cos(np.arange(out.numel()) + 2 * place) ** 2).reshape(out.shape)
        for place, out in enumerate(outs)
    ]
    return [wrap(each.astype(out._array.dtype)) for each, out in zip(made, outs, strict=True)]


def _same(one: Array, other: Array) -> bool:
    scale = float(np.max(np.abs(other), initial=0.0))
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-5, atol=1e-6 * (1e-3 + scale)))


def _factor(found: Array, wanted: Array) -> float | None:
    """The number that `wanted` was multiplied by."""
    length = float(np.vdot(wanted, wanted).real)
    if not length or found.shape != wanted.shape:
        return None
    factor = float(np.vdot(wanted, found).real) / length
    if abs(factor) < 1e-6 or not _same(found, factor * wanted):
        return None
    # Of a single number any other one is a multiple.
    is_told = np.count_nonzero(wanted) > 1 or any(abs(x - round(x)) < 1e-6 for x in (factor, 1 / factor))
    return factor if is_told else None


def _ratio(found: Array, wanted: Array) -> Array | None:
    if found.shape != wanted.shape or not np.all(np.abs(wanted) > 1e-9):
        return None
    return np.asarray(found / wanted)


def _inverse(values: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(1 / values)
