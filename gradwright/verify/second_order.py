"""Properties of second derivatives: against finite differences, and of each mode over each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gradwright.autograd import forward_ad
from gradwright.autograd import grad as autograd_grad
from gradwright.verify import numerical
from gradwright.verify.boundary import special
from gradwright.verify.first_order import tangents_of
from gradwright.verify.points import Array, Point, array, assert_number, gradients, inner
from gradwright.verify.results import Refuted, Undecided
from runtime.base.errors import MissingDerivativeError
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward

_NEARBY = 10  # points around special values
_CLOSE = 1e-7  # a step over which a gradient that is continuous hardly changes


def second(point: Point) -> None:
    """The gradient of a gradient, by its inputs and by what came back, is what finite differences find."""
    outs = point.results()
    ways, cotangents = point.like(point.inputs), point.like(outs)
    inputs = [x.detach().requires_grad_() for x in point.inputs]
    seeds = [c.detach().requires_grad_() for c in cotangents]
    first = autograd_grad(point.function(*inputs), inputs, seeds, allow_unused=True, create_graph=True)
    total = _total(zip(first, ways, strict=True))
    none = [None] * (len(inputs) + len(seeds))
    found = none if total is None else autograd_grad(total, [*inputs, *seeds], allow_unused=True)
    estimate = _along(point, ways, cotangents)
    if not estimate.settled.all():
        raise Undecided("finite differences of the gradient do not settle")
    start = 0
    for name, tensor, given in zip(point.names(), point.inputs, found, strict=False):
        size = tensor._array.size
        wanted, error = (part[start : start + size] for part in (estimate.value, estimate.error))
        start += size
        have = np.zeros(size, tensor._array.dtype) + np.asarray(array(given)).reshape(-1)
        with np.errstate(all="ignore"):
            off = np.abs(have - wanted) > 20 * error + 1e-6 * (1e-2 + np.abs(wanted).max(initial=0.0))
        if off.any() or np.isnan(have).any():
            place = int(np.argmax(off | np.isnan(have)))
            raise Refuted(
                f"second derivative by '{name}' at element {place}: {have[place]:.6g} instead of {wanted[place]:.6g}",
                name,
            )
    tangents = tangents_of(point, ways)
    for place, (given, tangent) in enumerate(zip(found[len(inputs) :], tangents, strict=True)):
        other = np.asarray(array(tangent))
        have = np.zeros(outs[place]._array.shape) + np.asarray(array(given))
        scale = np.abs(other).max(initial=0.0)
        if not np.allclose(have, other, rtol=1e-6, atol=1e-7 * (1 + scale)):
            raise Refuted(f"derivative of the gradient by grad {place} is not the tangent")
    if not {"boundary", "beyond"} & dict(point.info.unproven).keys():
        _at_special_values(point)


def _at_special_values(point: Point) -> None:
    """At zeros and ties, where a gradient has the same derivative to both sides, it is that one."""
    if any(not tensor.numel() for tensor in point.inputs):
        return
    every = [inputs for inputs in special(point) if not any(np.isnan(array(x)).any() for x in inputs)]
    for inputs in every:
        try:
            outs = point.function(*inputs)
            if not outs or not all(np.isfinite(array(out)).all() for out in outs):
                continue
            _as_beside(point, inputs, point.like(inputs), point.like(outs))
        except (RuntimeError, MissingDerivativeError):
            continue  # such values are refused


def _as_beside(point: Point, inputs: Sequence[Tensor], ways: Sequence[Tensor], cotangents: Sequence[Tensor]) -> None:
    have = _second_along(point, inputs, ways, cotangents)

    def along(step: float) -> Array:
        return _moved(point, inputs, ways, step, cotangents)

    here = along(0.0)
    with np.errstate(all="ignore"):
        jumps = [np.abs(along(step) - here) for step in (-_CLOSE, _CLOSE)]
    smooth = np.all([jump <= 1e3 * _CLOSE * (1 + np.abs(here)) for jump in jumps], axis=0)
    if not (smooth.any() if point.info.pointwise else smooth.all()):
        return  # a kink, a pole, or eigenvalues in another order; of single elements it is about these alone
    sides = [numerical.one_sided(along, side) for side in (-1, 1)]
    known = sides[0].settled & sides[1].settled & smooth
    values = [side.value for side in sides]
    low, high = np.minimum(*values), np.maximum(*values)
    slack = 20 * np.maximum(sides[0].error, sides[1].error) + 1e-5 * (1 + np.maximum(np.abs(low), np.abs(high)))
    known &= high - low <= slack  # at a kink of the gradient several may be right
    wrong = known & ~((low - slack <= have) & (have <= high + slack)) & ~np.isnan(have)
    for _ in range(_NEARBY if wrong.any() else 0):  # where it is another one close by, there is none
        moved = [
            np.asarray(x._array + 1e-4 * other._array) for x, other in zip(inputs, point.like(inputs), strict=True)
        ]
        near = _second_along(point, [wrap(each).requires_grad_() for each in moved], ways, cotangents)
        wrong &= np.abs(near - low) <= 1e-2 * (1 + np.abs(low))
    if wrong.any():
        place = int(np.argmax(wrong))
        name = _name_of(point, inputs, place)
        raise Refuted(
            f"at special values a second derivative by '{name}' is {have[place]:.6g}, those to both sides are "
            f"{values[0][place]:.6g} and {values[1][place]:.6g}",
            name,
        )


def at_special_values(point: Point) -> Iterator[Array]:
    """The second derivatives along a direction at each of the special values, where there are any.

    Of a point that is new they are the same ones each time.
    """
    for inputs in special(point):
        try:
            outs = point.function(*inputs)
            ways = point.like(inputs)
            yield _second_along(point, inputs, ways, point.like(outs))
        except (RuntimeError, MissingDerivativeError):
            continue


def _second_along(
    point: Point, inputs: Sequence[Tensor], ways: Sequence[Tensor], cotangents: Sequence[Tensor]
) -> Array:
    """The derivative of the gradients of all inputs along `ways`, by backward over backward."""
    first = autograd_grad(point.function(*inputs), inputs, cotangents, allow_unused=True, create_graph=True)
    found = _gradients(_total(zip(first, ways, strict=True)), inputs)
    parts = [np.zeros(x.shape) + np.asarray(array(each)) for x, each in zip(inputs, found, strict=True)]
    return np.concatenate([part.reshape(-1) for part in parts])


def _name_of(point: Point, inputs: Sequence[Tensor], place: int) -> str:
    """The input that an element of all of them, one after another, is of."""
    ends = np.cumsum([each.numel() for each in inputs])
    return point.names()[int(np.searchsorted(ends, place, "right"))]


def _along(point: Point, ways: Sequence[Tensor], cotangents: Sequence[Tensor]) -> numerical.Estimate:
    """How the gradients of all inputs, one after another, change along `ways`."""
    return numerical.derivative(lambda step: _moved(point, point.inputs, ways, step, cotangents))


def _moved(
    point: Point, inputs: Sequence[Tensor], ways: Sequence[Tensor], step: float, cotangents: Sequence[Tensor]
) -> Array:
    """The gradients of all inputs, one after another, a step along `ways`."""
    moved = [wrap(np.asarray(x._array + step * w._array)).requires_grad_() for x, w in zip(inputs, ways, strict=True)]
    found = gradients(point.function(*moved), moved, cotangents)
    return np.concatenate([np.asarray(array(each)).reshape(-1) for each in found])


def modes(point: Point) -> None:
    """`<H v, u>` by each mode over each: H is of `<w, f>`, a real function of the inputs."""
    ways, others = point.like(point.inputs), point.like(point.inputs)
    cotangents = point.like(point.results())
    inputs = point.inputs
    function = point.function
    found = {
        "backward over backward": _backward_over_backward(function, inputs, ways, cotangents),
        "forward over backward": _forward_over_backward(function, inputs, ways, cotangents),
        "backward over forward": _backward_over_forward(function, inputs, ways, cotangents),
    }
    values = {name: inner(others, each) for name, each in found.items()}
    values["forward over forward"] = _forward_over_forward(function, inputs, ways, others, cotangents)
    first = next(iter(found.values()))
    scale = inner([_sizes(o) for o in others], [None if g is None else _sizes(g) for g in first])
    wanted = gradients(function(*inputs), inputs, cotangents)
    turned = {
        "backward over forward, by the tangents": _by_tangents(function, inputs, ways, cotangents),
        "forward over backward, by grad": _by_cotangents(function, inputs, ways, cotangents),
    }
    size = inner([_sizes(o) for o in others], [_sizes(g) for g in wanted])
    for name, each in turned.items():
        assert_number(inner(others, each), inner(others, wanted), f"derivative {name}", size)
    for name, value in values.items():
        assert_number(value, values["backward over backward"], f"second derivative by {name}", scale)


def _sizes(tensor: Tensor) -> Tensor:
    return wrap(np.asarray(np.abs(array(tensor))))


def _total(pairs: Iterable[tuple[Tensor | None, Tensor]]) -> Any:
    """The inner product as a Tensor; None where nothing in it depends on anything."""
    products = [(a * b.conj()).real.sum() for a, b in pairs if a is not None and a.requires_grad]
    return sum(products[1:], start=products[0]) if products else None


def _gradients(total: Any, inputs: Any) -> Any:
    return [None] * len(inputs) if total is None else autograd_grad(total, inputs, allow_unused=True)


def _backward_over_backward(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    grads = autograd_grad(function(*inputs), inputs, cotangents, create_graph=True, allow_unused=True)
    return _gradients(_total(zip(grads, tangents, strict=True)), inputs)


def _forward_over_backward(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
        grads = autograd_grad(function(*duals), duals, cotangents, allow_unused=True)
        return [None if g is None else forward_ad.unpack_dual(g).tangent for g in grads]


def _backward_over_forward(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
        found = [forward_ad.unpack_dual(out).tangent for out in function(*duals)]
    return _gradients(_total(zip(found, cotangents, strict=True)), inputs)


def _by_tangents(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    """The gradient once more: a tangent is linear in those that go in."""
    seeds = [t.detach().requires_grad_() for t in tangents]
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, seeds, strict=True)]
        found = [forward_ad.unpack_dual(out).tangent for out in function(*duals)]
    return _gradients(_total(zip(found, cotangents, strict=True)), seeds)


def _by_cotangents(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    """The gradient once more: it is linear in what comes back."""
    with forward_ad.dual_level():
        seeds = [forward_ad.make_dual(wrap(np.zeros_like(c._array)), c) for c in cotangents]
        grads = autograd_grad(function(*inputs), inputs, seeds, allow_unused=True, create_graph=True)
        return [None if g is None else forward_ad.unpack_dual(g).tangent for g in grads]


def _forward_over_forward(function: Any, inputs: Any, tangents: Any, others: Any, cotangents: Any) -> float:
    outer, deeper = forward.enter(), forward.enter()
    try:
        duals = []
        for x, t, u in zip(inputs, tangents, others, strict=True):
            dual = x.view_as(x)
            forward.set_tangent(dual, t, outer)
            forward.set_tangent(dual, u, deeper)
            duals.append(dual)
        found = [forward.tangent_of(out, deeper) for out in function(*duals)]
        return inner(cotangents, [None if t is None else forward.tangent_of(t, outer) for t in found])
    finally:
        forward.leave(deeper)
        forward.leave(outer)
