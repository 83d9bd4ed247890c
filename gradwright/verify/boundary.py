"""Derivatives where values are special: zeros, ties, bounds that other arguments name, the ends of a domain."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gradwright.verify import numerical
from gradwright.verify.first_order import tangents_of
from gradwright.verify.points import Array, Point, array, gradients
from gradwright.verify.results import Refuted, Undecided
from runtime.base.errors import LinAlgError
from runtime.base.tensor import Tensor, wrap
from runtime.graph.grad_mode import no_grad

_USUAL = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -3.0)
_JUMP = 0.01
_RESULTS = 8
_NEARBY = 80
_DRAWS = 12
_ELEMENTS = 8
_FEW = 3
_LEAST = 1e-3  # of numbers of a sample that are values: smaller ones are tolerances
_CLOSE = 1e-5  # slopes that differ by less are the same
_SEED = -1.25  # of gradients, which are divided by it: 1 could be lost, and its sign


Limits = tuple[float, float]
# Of an element of a result, as a multiple of a unit.
Slope = tuple[tuple[int, ...], complex, float]
Forward = Callable[[], tuple[list[Array], list[Any]]]


@dataclass(frozen=True, slots=True)
class _Result:
    """One result at special values.

    Attributes:
        point: the call.
        inputs: the special values.
        limits: the domain of each.
        place: which result it is.
        values: the result as a function of values of the inputs.
        rows: some elements, each with a unit that what comes back is a multiple of, and the gradients of the inputs.
    """

    point: Point
    inputs: list[Tensor]
    limits: list[Limits]
    place: int
    values: Callable[[list[Array]], Array]
    rows: list[tuple[tuple[int, ...], complex, list[Array]]]


def boundary(point: Point) -> None:
    """At special values a gradient lies between the derivatives to both sides, and is the one where they agree."""
    point.results()
    checked = 0
    for inputs in special(point):
        try:
            outs = point.function(*inputs)
        except RuntimeError:
            continue  # such values are refused
        forward = _forward(point, inputs)
        for place in range(len(outs)):
            checked += _result(point, inputs, place, forward)
    if not checked:
        raise Undecided("no special value has a derivative to a side")


def special(point: Point) -> Iterator[list[Tensor]]:
    """The inputs with special values: from a fixed few, and all of them alike."""
    own = [abs(number) for number in _numbers(point.sample.text)]
    values = np.array(sorted({*_USUAL, *(sign * n for n in own if _LEAST <= n <= 4 for sign in (1, -1))}))
    made, chosen, limits = [], [], _all_limits(point)
    for tensor, (low, high) in zip(point.inputs, limits, strict=True):
        some = np.unique([*values[(values >= low) & (values <= high)], *(n for n in (low, high) if abs(n) <= 1e3)])
        made.append(_drawn(point, tensor, some)._array)
        chosen.append(some)
    yield [wrap(each).requires_grad_() for each in made]
    for _ in range(_DRAWS):  # once more where all results are finite, so that no NaN has an excuse, and with more ties
        order = point.random.permutation(np.unique(np.concatenate(chosen))).tolist() if chosen else []
        few = [np.array(sorted(some.tolist(), key=order.index)[:_FEW]) for some in chosen]
        other = [_drawn(point, tensor, some) for tensor, some in zip(point.inputs, few, strict=True)]
        with suppress(RuntimeError):
            if all(np.isfinite(array(out)).all() for out in point.function(*other)):
                yield other
                break
    if point.dtype == "float64":  # what leaves NaN out has a derivative beside it
        holes = [np.where(point.random.random(each.shape) < 0.3, np.nan, each) for each in made]
        yield [wrap(np.asarray(each)).requires_grad_() for each in holes]
    alike = [np.full_like(each, max(low, 0)) for each, (low, _) in zip(made, limits, strict=True) if each.size]
    if len(alike) == len(made):
        yield [wrap(each).requires_grad_() for each in alike]


def _drawn(point: Point, tensor: Tensor, some: Array) -> Tensor:
    numbers = point.random.choice(some, tensor.shape)
    if tensor.is_complex():
        numbers = numbers + 1j * point.random.choice(some, tensor.shape)
        if 0 in some:
            numbers = np.where(point.random.random(tensor.shape) < 0.2, 0, numbers)
    return wrap(np.asarray(numbers, dtype=tensor._array.dtype)).requires_grad_()


def _numbers(text: str) -> list[float]:
    """The numbers that a sample has beside those of its makers."""
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = [node for each in given if not isinstance(each, ast.Call) for node in ast.walk(each)]
    values = [n.value for n in found if isinstance(n, ast.Constant)]
    return [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _all_limits(point: Point) -> list[Limits]:
    """The whole numbers around the values of a sample that has a domain: that, more or less, with its ends."""
    if "low=" not in point.sample.text and "high=" not in point.sample.text:
        return [(-math.inf, math.inf)] * len(point.inputs)
    values = [tensor.detach().numpy().real for tensor in point.inputs]
    return [(math.floor(v.min()), math.ceil(v.max())) if v.size else (-math.inf, math.inf) for v in values]


def _forward(point: Point, inputs: list[Tensor]) -> Forward:
    """Tangents of the inputs and those that the results have then; computed when the first result asks for them."""

    @cache
    def found() -> tuple[list[Array], list[Any]]:
        ways = point.like(inputs)
        return [way._array for way in ways], [array(each) for each in tangents_of(point, ways, inputs)]

    return found


def _result(point: Point, inputs: list[Tensor], place: int, forward: Forward) -> int:
    """The gradients of one result against differences to both sides; how many were compared."""
    values = array(point.function(*inputs)[place])
    chosen = [index for index in np.ndindex(values.shape) if np.isfinite(values[index])]
    chosen = _some(point, chosen, _RESULTS)
    units = (1.0, 1j) if values.dtype.kind == "c" else (1.0,)
    try:
        whole = _infinite(point, inputs, place)
        wanted = [(index, unit) for index in chosen for unit in units]
        rows = [(*each, found) for each, found in zip(wanted, _gradients(point, inputs, place, wanted), strict=True)]
    except LinAlgError:  # of the inverse of a singular matrix
        return 0
    clean = bool(np.isfinite(values).all())
    result = _Result(point, inputs, _all_limits(point), place, _values_of(point, inputs, place), rows)
    checked = 0
    for number, name in enumerate(point.names()):
        for element, part in _parts(point, inputs[number]):
            way = [np.zeros_like(each._array) for each in inputs]
            way[number][element] = part
            beside = not clean or bool(whole[number][element])  # a pole: zero times infinity
            at = f"at {name}{list(element) or ''} = {inputs[number]._array[element]:.6g}"
            slopes = [(index, unit, _real(found[number][element], part)) for index, unit, found in rows]
            checked += _along_way(result, way, slopes, f"gradient of '{name}' {at}", name, beside)
    together = [np.ones_like(each._array) for each in inputs]  # what is alike stays so
    broken = not clean or any(each.any() for each in whole)
    slopes = [(index, unit, _slope(found, together)) for index, unit, found in rows]
    checked += _along_way(result, together, slopes, "gradient along (1, 1, ...)", None, broken)
    ways, tangents = forward()
    _compare_tangent(np.asarray(tangents[place]), ways, rows)
    return checked


def _along_way(
    result: _Result, way: list[Array], slopes: list[Slope], what: str, name: str | None, broken: bool
) -> int:
    """The slopes of some elements of a result along a direction; how many were compared."""
    inputs = result.inputs
    inside = [side for side in (-1, 1) if _stays(result, way, side)]

    def along(step: float) -> Array:
        return result.values([np.asarray(x._array + step * w) for x, w in zip(inputs, way, strict=True)])

    if len(inside) == 2:  # the mean of both sides lies between them, and takes fewer values: two, or four
        for mean in numerical.means_of_sides(along):
            slopes = [each for each in slopes if not _is(each[2], _part(mean, *each[:2]))]
            if not slopes:
                break
    checked = len(result.rows) - len(slopes)
    if not slopes:
        return checked
    sides = [numerical.one_sided(along, side) for side in inside]
    jumps = _jumps(along) if name is None else None
    for index, unit, slope in slopes:
        if (math.isnan(slope) and broken) or (jumps is not None and jumps[index]):
            continue
        one = [_part(side, index, unit) for side in sides]
        known = [side for side in one if math.isfinite(side[1])]
        checked += len(known) > 0
        if known and not _between(slope, known) and not _nearby(result, index, unit, way, slope):
            values = " and ".join(f"{value:.6g}" for value, _ in known)
            to = "the derivative to one side is" if len(known) == 1 else "the derivatives to both sides are"
            raise Refuted(f"{what} is {slope:.6g}, {to} {values}", name)
    return checked


def _jumps(along: numerical.Along) -> Array:
    """Where a function is not continuous; there a gradient is what somebody has decided."""
    here = along(0.0)
    with np.errstate(all="ignore"):
        steps = [np.abs(along(step) - here) for step in (-1e-7, 1e-7)]
    return np.asarray(sum(np.where(np.isfinite(each), each, 0) for each in steps) > _JUMP)


def _stays(result: _Result, way: list[Array], side: int) -> bool:
    """Whether a small step leaves no domain."""
    for tensor, moved, limits in zip(result.inputs, way, result.limits, strict=True):
        end = limits[0 if side < 0 else 1]
        if math.isinf(end):
            continue
        for part in (np.real, np.imag):
            if np.any((part(moved) != 0) & (part(tensor._array) == end)):
                return False
    return True


def _slope(found: list[Array], way: list[Array]) -> float:
    with np.errstate(all="ignore"):
        parts = [np.vdot(np.where(w != 0, g, 0), w).real for g, w in zip(found, way, strict=True)]
    return float(sum(parts))


def _real(found: complex, part: complex) -> float:
    """The slope along a part of one element."""
    return float((np.conj(found) * part).real)


def _compare_tangent(tangent: Array, ways: list[Array], rows: Any) -> None:
    """Forward mode takes the same side as backward mode."""
    for index, unit, found in rows:
        given = tangent[index] if tangent.shape else tangent[()]
        have = float(np.imag(given) if unit == 1j else np.real(given))
        wanted = _slope(found, ways)
        if math.isfinite(have) and math.isfinite(wanted) and abs(have - wanted) > 1e-7 * (1 + abs(wanted)):
            raise Refuted(f"tangent at {list(index)} is {have:.6g}, the gradient there gives {wanted:.6g}", "result")


def _infinite(point: Point, inputs: list[Tensor], place: int) -> list[Any]:
    """Which elements of the inputs have an infinite derivative."""
    out = point.function(*inputs)[place]
    found = gradients([out], inputs, [wrap(np.ones(out.shape, out._array.dtype))])
    arrays = [array(each) for each in found]
    return [~np.isfinite(each) if each.dtype.kind == "c" else np.isinf(each) for each in arrays]


def _some(point: Point, every: list[Any], count: int) -> list[Any]:
    return every if len(every) <= count else [every[i] for i in point.random.choice(len(every), count, replace=False)]


def _parts(point: Point, tensor: Tensor) -> list[tuple[tuple[int, ...], complex]]:
    parts = (1.0, 1j) if tensor.is_complex() else (1.0,)
    return [(index, part) for index in _some(point, list(np.ndindex(tensor.shape)), _ELEMENTS) for part in parts]


def _gradients(
    point: Point, inputs: list[Tensor], place: int, wanted: list[tuple[tuple[int, ...], complex]]
) -> list[list[Array]]:
    """The gradients of the inputs for some elements of a result, each with its unit."""
    out = point.function(*inputs)[place]
    every = []
    for index, unit in wanted:
        seed = np.zeros(out.shape, out._array.dtype)
        seed[index] = _SEED * unit
        found = gradients([out], inputs, [wrap(seed)], retain_graph=True)
        every.append([np.asarray(array(each)) / _SEED for each in found])
    return every


def _values_of(point: Point, inputs: list[Tensor], place: int) -> Callable[[list[Array]], Array]:
    """The values of a result for values of the inputs; recorded only where that says which results there are."""
    recorded = len(point.function(*inputs))
    with no_grad():
        every = len(point.function(*inputs))

    def values(given: list[Array]) -> Array:
        with nullcontext() if every != recorded else no_grad():
            try:
                return np.asarray(array(point.function(*[wrap(each).requires_grad_() for each in given])[place]))
            except RuntimeError:  # such values are refused
                return np.asarray(np.nan)

    return values


def _part(side: numerical.Estimate, index: tuple[int, ...], unit: complex) -> tuple[float, float]:
    """The derivative of one part of an element of the result, and its bound; infinite where there is none."""
    value, error = side.value[index], float(side.error[index])
    return float(value.imag if unit == 1j else value.real), error if side.settled[index] else math.inf


def _is(slope: float, known: tuple[float, float]) -> bool:
    value, error = known
    return math.isfinite(error) and abs(slope - value) <= _CLOSE * (1 + abs(value))


def _between(slope: float, sides: list[tuple[float, float]]) -> bool:
    low, high = min(value for value, _ in sides), max(value for value, _ in sides)
    slack = 20 * max(error for _, error in sides) + _CLOSE * (1 + max(abs(low), abs(high)))
    return low - slack <= slope <= high + slack


def _nearby(result: _Result, index: tuple[int, ...], unit: complex, way: list[Array], slope: float) -> bool:
    """Whether a slope lies between those of points around, where there is no tie.

    So does one that is of no side: the middle one of three numbers that are alike changes with none of them alone.
    """
    point, least, most = result.point, math.inf, -math.inf
    for _ in range(_NEARBY):
        moved = [x._array + 1e-4 * point.random.standard_normal(x.shape).astype(x._array.dtype) for x in result.inputs]
        with suppress(RuntimeError):
            points = [wrap(np.asarray(each)).requires_grad_() for each in moved]
            (gradient,) = _gradients(point, points, result.place, [(index, unit)])
            found = _slope(gradient, way)
            least, most = min(least, found), max(most, found)
            if least - 1e-2 <= slope <= most + 1e-2:
                return True
    return False
