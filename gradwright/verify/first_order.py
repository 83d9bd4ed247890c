"""Properties of first derivatives: against finite differences, complex steps and tangents, and what a gradient is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradwright.autograd import forward_ad
from gradwright.testing import as_function, make_sample
from gradwright.verify import numerical
from gradwright.verify.causes import cause_of
from gradwright.verify.points import (
    HALVES,
    Array,
    Point,
    all_tensors,
    array,
    assert_close,
    assert_number,
    gradients,
    inner,
)
from gradwright.verify.recorded import without_forward_formulas
from gradwright.verify.results import Inapplicable, Refuted, Undecided
from runtime import ops
from runtime.base.tensor import Tensor, wrap

# Of larger inputs so many elements are looked at.
_ELEMENTS = 40
_STEP = 1e-30
# What a gradient may be off by, as a part of it, beside what differences are.
_LEAST = 3e-10


def gradient(point: Point, with_kinks: bool = True) -> None:
    """Backward gives the derivative that finite differences find, within their bound.

    Without kinks elements are left out where the derivatives to both sides differ.
    """
    cotangents = point.like(point.results())
    found = [array(each) for each in point.gradients(cotangents)]
    undecided = 0
    checked = 0
    for place in range(len(point.inputs)):
        for index, unit in coordinates(point, place):
            slope = derivative_along(point, place, index, unit, cotangents)
            part = found[place][index].imag if unit == 1j else found[place][index].real
            if not slope.settled:
                undecided += 1
                continue
            checked += 1
            bound = 20 * slope.error + _LEAST * (1e-2 + abs(slope.value))
            if abs(part - slope.value) <= bound:
                continue
            is_stair = part == 0 and abs(point.inputs[place]._array[index]) > numerical.LARGE  # over steps as long
            if with_kinks or (not is_stair and _is_smooth(point, place, index, unit, cotangents)):
                _wrong(point, place, cotangents, index, part, float(slope.value))
    if undecided > checked:
        raise Undecided("finite differences do not settle")
    for place in range(len(point.inputs)):
        _compare_digits(point, place, found[place], cotangents)


def _compare_digits(point: Point, place: int, found: Array, cotangents: list[Tensor]) -> None:
    """Compare a gradient with differences along itself, where no part of their sum makes up for another.

    Differences of single elements are small beside their rounding; this one is as large as it can be.
    """
    largest = float(np.abs(found).max(initial=0.0))
    if not 0 < largest < np.inf:
        return
    way = found / largest

    def along(step: float) -> tuple[float, float]:
        terms = weighted(point, place, ..., step * way, cotangents)
        return float(terms.sum()), float(np.abs(terms).sum())

    slope = numerical.to_the_last_digits(along, _LEAST / 20)
    have = float(np.sum(np.abs(found) ** 2)) / largest
    if slope is not None and abs(have - slope[0]) > 20 * slope[1] + _LEAST * abs(slope[0]):
        name = point.names()[place]
        one, other = next(pair for pair in _written(have, slope[0]) if pair[0] != pair[1])
        raise Refuted(f"gradient of '{name}' is wrong in its last digits: along itself {one} instead of {other}", name)


def gradient_along(point: Point) -> None:
    """As `gradient`, which looks at each element only where two directions are not settled or differ."""
    outs = point.results()
    cotangents = point.like(outs)
    found = [array(each) for each in point.gradients(cotangents)]
    for _ in range(2):
        ways = [way._array * _sizes_of(x._array) for way, x in zip(point.like(point.inputs), point.inputs, strict=True)]

        def along(step: float, ways: list[Array] = ways) -> Array:
            moved = [np.asarray(x._array + step * way) for x, way in zip(point.inputs, ways, strict=True)]
            return _terms(cotangents, point.function(*[wrap(each).requires_grad_() for each in moved]))

        slope = _summed(numerical.derivative(along))
        parts = [np.real(way.conj() * each) for way, each in zip(ways, found, strict=True)]
        have, size = (float(sum(each.sum() for each in given)) for given in (parts, [np.abs(each) for each in parts]))
        if not (slope.error <= 1e-8 * size and abs(have - slope.value) <= 20 * slope.error + 1e-8 * size):
            gradient(point, with_kinks=False)
            return


def _sizes_of(values: Array) -> Array:
    """Powers of two near the sizes of large numbers, and 1 for others."""
    with np.errstate(all="ignore"):
        return np.asarray(np.exp2(np.floor(np.log2(np.maximum(np.abs(values), 1)))))


def _wrong(
    point: Point, place: int, cotangents: list[Tensor], index: tuple[int, ...], found: float, wanted: float
) -> None:
    name = point.names()[place]
    cause = cause_of(point, place, cotangents)
    at = f" at element {list(index)}" if index else ""
    said = f"gradient of '{name}' is {cause}" if cause else f"gradient of '{name}' is wrong"
    one, other = next(pair for pair in _written(found, wanted) if pair[0] != pair[1])
    raise Refuted(f"{said}{at}: {one} instead of {other}", name, cause)


def _written(found: float, wanted: float) -> Iterator[tuple[str, str]]:
    """Two numbers with as many digits as tell them apart."""
    for digits in (6, 10, 14, 17):
        yield f"{found:.{digits}g}", f"{wanted:.{digits}g}"
    yield repr(found), "another number"


def coordinates(point: Point, place: int) -> Iterator[tuple[tuple[int, ...], complex]]:
    """Elements of an input, and the parts of each."""
    values = point.inputs[place]._array
    units = (1.0, 1j) if values.dtype.kind == "c" else (1.0,)
    every = list(np.ndindex(values.shape))
    if len(every) > _ELEMENTS:
        every = [every[i] for i in point.random.choice(len(every), _ELEMENTS, replace=False)]
    return ((index, unit) for index in every for unit in units)


def derivative_along(
    point: Point, place: int, index: tuple[int, ...], unit: complex, cotangents: list[Tensor]
) -> numerical.Estimate:
    """How the inner product of the results with `cotangents` changes with a part of one element of an input."""
    size = float(abs(point.inputs[place]._array[index]))
    return _summed(numerical.derivative(lambda step: weighted(point, place, index, unit * step, cotangents), size))


def _is_smooth(point: Point, place: int, index: tuple[int, ...], unit: complex, cotangents: list[Tensor]) -> bool:
    size = float(abs(point.inputs[place]._array[index]))
    one, other = (
        _summed(numerical.one_sided(lambda step: weighted(point, place, index, unit * step, cotangents), side, size))
        for side in (1, -1)
    )
    return bool(one.settled and other.settled and abs(one.value - other.value) <= 1e-4 * (1 + abs(one.value)))


def weighted(point: Point, place: int, index: Any, change: complex | Array, cotangents: list[Tensor]) -> Array:
    """The terms of the inner product of the results with `cotangents`, with elements of an input changed."""
    moved = [tensor._array for tensor in point.inputs]
    moved[place] = moved[place].copy()
    moved[place][index] += change
    return _terms(cotangents, point.function(*[wrap(each.copy()).requires_grad_() for each in moved]))


def _terms(cotangents: Sequence[Tensor], outs: Sequence[Tensor]) -> Array:
    return np.concatenate(
        [np.real(array(c).conj() * array(o)).reshape(-1) for c, o in zip(cotangents, outs, strict=True)]
    )


def _summed(terms: numerical.Estimate) -> numerical.Estimate:
    return numerical.Estimate(np.asarray(terms.value.sum()), np.asarray(terms.error.sum()))


def complex_step(point: Point) -> None:
    """A step along the imaginary axis gives the derivative of a holomorphic function without any difference.

    The method is W. Squire and G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM
    Review 40, 1998.
    """
    if point.dtype != "float64" or "complex" not in point.info.dtypes:
        raise Inapplicable("there is no complex function")
    outs = point.results()
    ways = point.like(point.inputs)
    cotangents = point.like(outs)
    if any(out._array.dtype.kind != "f" for out in outs):
        raise Inapplicable("the results are complex")
    wanted = sum(float(np.vdot(array(w), array(g))) for w, g in zip(ways, point.gradients(cotangents), strict=True))
    steps = [
        wrap(np.asarray(x._array + 1j * _STEP * w._array)).requires_grad_()
        for x, w in zip(point.inputs, ways, strict=True)
    ]
    try:
        moved = point.function(*steps)
        found = sum(float(np.sum(array(c) * array(m).imag)) for c, m in zip(cotangents, moved, strict=True)) / _STEP
    except (RuntimeError, TypeError, ValueError) as error:
        raise Inapplicable("not of this call in complex numbers") from error

    def along(step: float) -> Array:
        moved = [
            wrap(np.asarray(x._array + step * w._array)).requires_grad_()
            for x, w in zip(point.inputs, ways, strict=True)
        ]
        return np.asarray(inner(cotangents, point.function(*moved)))

    slope = numerical.derivative(along)
    scale = abs(wanted) + sum(float(np.abs(array(out)).sum()) for out in outs)
    if not abs(found - slope.value) <= 20 * slope.error + 1e-6 * (1 + abs(slope.value)):
        raise Inapplicable("the function is not holomorphic")
    if not abs(found - wanted) <= 1e-11 * (1 + scale):
        raise Refuted(f"the gradient along a direction is {wanted:.15g}, by a complex step {found:.15g}")


def forward(point: Point) -> None:
    """`<w, J v>` by forward mode is `<J' w, v>` by backward mode."""
    if all(tangent is None for tangent in _forward(point)):
        raise Refuted("forward mode gives no tangent", "result")


def _forward(point: Point) -> list[Tensor | None]:
    outs = point.results()
    ways, cotangents = point.like(point.inputs), point.like(outs)
    by_backward = point.gradients(cotangents)
    tangents = tangents_of(point, ways)
    result = "result"
    scale = abs(inner([_sizes(w) for w in ways], [_sizes(g) for g in by_backward]))
    found, wanted = inner(cotangents, tangents), inner(ways, by_backward)
    assert_number(found, wanted, f"tangent of '{result}' against the gradients, along a direction", scale, result)
    for tangent, out in zip(tangents, outs, strict=True):
        if tangent is not None and (tangent.dtype, tangent.shape) != (out.dtype, out.shape):
            raise Refuted(f"tangent is {tangent.dtype} of shape {tuple(tangent.shape)}, not as its result", result)
    return tangents


def _sizes(tensor: Tensor) -> Tensor:
    return wrap(np.asarray(np.abs(array(tensor))))


def transposed(point: Point) -> None:
    """Without forward formulas the backward formulas give the same tangents, transposed once more."""
    with without_forward_formulas():
        _forward(point)


def tangents_of(point: Point, ways: list[Tensor], inputs: Sequence[Tensor] | None = None) -> list[Tensor | None]:
    """The tangent of each result along one of the inputs; of those of the point, or of others."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), t) for x, t in zip(inputs or point.inputs, ways, strict=True)]
        outs = point.function(*[dual.requires_grad_() for dual in duals])
        return [forward_ad.unpack_dual(out).tangent for out in outs]


def linear(point: Point) -> None:
    """The gradient is linear in what comes back: of a sum the sum, of zeros zeros."""
    outs = point.results()
    one, other = point.like(outs), point.like(outs)
    mixed = [wrap(np.asarray(1.5 * a._array - 0.75 * b._array)) for a, b in zip(one, other, strict=True)]
    rows = [point.gradients(each) for each in (one, other, mixed, [ops.zeros_like(out) for out in outs])]
    for name, a, b, both, none in zip(point.names(), *map(list, rows), strict=True):
        wanted = 1.5 * array(a) - 0.75 * array(b)
        assert_close(array(both), wanted, f"gradient of '{name}' is not linear in grad", argument=name)
        if np.any(array(none) != 0):
            raise Refuted(f"gradient of '{name}' is not zero where grad is", name)


def dtypes(point: Point) -> None:
    """A gradient has the dtype and the shape of its input."""
    try:
        outs = point.results()
        found = point.gradients([ops.ones_like(out) for out in outs])
    except RuntimeError as error:
        if point.dtype in HALVES and "not implemented for" in str(error):  # such as singular values
            raise Inapplicable("no half precision") from error
        raise
    for name, each, tensor in zip(point.names(), found, point.inputs, strict=True):
        if (each.dtype, each.shape) != (tensor.dtype, tensor.shape):
            raise Refuted(
                f"gradient of '{name}' is {each.dtype} of shape {tuple(each.shape)}, '{name}' is {tensor.dtype} of "
                f"shape {tuple(tensor.shape)}",
                name,
            )

    if point.dtype in ("float32", "complex64") and point.info.node is not None:
        _check_width(point, outs[0].grad_fn)


def _check_width(point: Point, node: Any) -> None:
    """What a formula computes is no wider than what it is computed of, though it would be cast."""
    known = [each for each in all_tensors(point.sample) if each.is_floating_point() or each.is_complex()]
    most = max(_width(each._array.dtype) for each in (*known, *point.function(*point.inputs)))
    try:
        seeds = [wrap(np.ones(tuple(each.shape), np.dtype(each.dtype))) for each in node._input_metadata]
        made = node(*seeds)
    except (RuntimeError, TypeError):  # eigenvectors are known up to a phase; a result that is left out
        return
    for each in made if isinstance(made, tuple) else (made,):
        if isinstance(each, Tensor) and each._array.dtype.kind in "fc" and _width(each._array.dtype) > most:
            raise Refuted(f"the formula gives {each.dtype} of {point.dtype}: a constant of another type, perhaps")


def _width(dtype: np.dtype[Any]) -> int:
    """The bytes of a real number."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def undefined(point: Point) -> None:
    """Output gradients that are left out, in every combination, are zeros."""
    count = len(point.results())
    if count < 2:
        raise Inapplicable("there is one result")
    for used in _subsets(count):
        fresh = point.results()
        cotangents = point.like(fresh)
        given = [c if i in used else ops.zeros_like(c) for i, c in enumerate(cotangents)]
        wanted = gradients(fresh, point.inputs, given)
        fresh = point.results()
        some = [fresh[i] for i in used]
        found = gradients(some, point.inputs, [cotangents[i] for i in used])
        for name, one, other in zip(point.names(), found, wanted, strict=True):
            what = f"gradient of '{name}' where only results {list(used)} have one"
            assert_close(array(one), array(other), what, 1e-11, name)


def needed(point: Point) -> None:
    """What one input gets does not depend on which others want a gradient."""
    if len(point.inputs) < 2:
        raise Inapplicable("there is one input")
    outs = point.results()
    cotangents = point.like(outs)
    wanted = point.gradients(cotangents)
    names = point.names()
    for used in _subsets(len(point.inputs)):
        some = [x.detach().requires_grad_(i in used) for i, x in enumerate(point.inputs)]
        fresh = point.function(*some)
        if len(fresh) != len(outs):
            continue  # a result that only depends on the others
        found = gradients(fresh, [some[i] for i in used], cotangents)
        for place, one in zip(used, found, strict=True):
            what = f"gradient of '{names[place]}' where only {[names[i] for i in used]} need one"
            assert_close(array(one), array(wanted[place]), what, 1e-11, names[place])


def _subsets(count: int) -> list[tuple[int, ...]]:
    """Those of some things but none and all; of many things, one and all but one."""
    if count <= 4:
        every = [tuple(i for i in range(count) if bits >> i & 1) for bits in range(1, 2**count - 1)]
        return every
    singles = [(i,) for i in range(count)]
    return [*singles, *(tuple(j for j in range(count) if j != i) for i in range(count))]


def empty(point: Point) -> None:
    """Tensors without elements have gradients of their shape."""
    made = make_sample(point.info, point.sample.text, point.inputs[0].dtype, True, "empty") if point.inputs else None
    if made is None:
        raise Inapplicable("nothing to differentiate")
    function, inputs = as_function(point.info, made)
    try:
        outs = function(*inputs)
    except (RuntimeError, IndexError, ValueError) as error:
        raise Inapplicable("the operator wants elements") from error
    if not outs:
        raise Inapplicable("nothing to differentiate")
    found = gradients(outs, inputs, [ops.ones_like(out) for out in outs])
    for name, each, tensor in zip(point.names(), found, inputs, strict=True):
        if (each.dtype, each.shape) != (tensor.dtype, tensor.shape):
            raise Refuted(f"gradient of '{name}' is of shape {tuple(each.shape)} for {tuple(tensor.shape)}", name)
