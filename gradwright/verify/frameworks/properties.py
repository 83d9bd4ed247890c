"""Properties of the operators that a target has emitted: in each mode of the framework they are what the runtime is.

The runtime's own rules are proven against finite differences, and formulas are the same; so here numbers are compared.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwright.autograd import grad as autograd_grad
from gradwright.testing import operator_of
from gradwright.verify import batching
from gradwright.verify.first_order import tangents_of
from gradwright.verify.frameworks.framework import Call, Framework, numbers
from gradwright.verify.points import (
    HALVES,
    Array,
    Point,
    all_tensors,
    array,
    assert_close,
    assert_number,
    tensors_in,
)
from gradwright.verify.results import Inapplicable, Refuted, Undecided
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import DType

if TYPE_CHECKING:
    from gradwright.verify.frameworks.pytorch import PyTorch

_MODULES = {"torch": "pytorch", "jax": "jax"}
_COARSE = {"float32": 1e-5, "complex64": 1e-5, **dict.fromkeys(HALVES, 1e-2)}
_RTOL = 1e-10


@cache
def framework_of(target: str, package: str) -> Framework:
    """The framework of a target, with the operators of a package.

    Raises:
        Undecided: the framework is not installed.
        ImportError: nothing has been emitted for it.
    """
    try:
        # Late: they are imported by whoever has them. The code of the module runs when the name is asked for.
        chosen: type[Framework] = importlib.import_module(f"{__package__}.{_MODULES[target]}").FRAMEWORK
    except ImportError as error:
        raise Undecided(f"{target} is not installed") from error
    return chosen(package)


def returns(framework: Framework, point: Point) -> None:
    """Results have the values, shapes and dtypes that the runtime gives."""
    call = Call(framework, point)
    wanted = tensors_in([call.wanted()])
    results = call.results(call.inputs)
    if len(results) != len(wanted):
        raise Refuted(f"{len(results)} results instead of {len(wanted)}")
    by_default = _is_by_default(point)
    for place, (one, other) in enumerate(zip(results, wanted, strict=True)):
        what = f"result {place}" if len(wanted) > 1 else "result"
        _same(framework, one, other, what, by_default=by_default)


def _is_by_default(point: Point) -> bool:
    """Whether floats that come out are of the default dtype: from integers or from nothing, where none is asked for."""
    given = (*point.sample.args, *point.sample.kwargs.values())
    if any(isinstance(each, DType) for each in given):
        return False
    return point.dtype in ("int64", "bool") or not all_tensors(point.sample)


def gradient(framework: Framework, point: Point) -> None:
    """Gradients are the runtime's."""
    _compare_gradients(framework, point, point.like(point.results()))


def dtypes(framework: Framework, point: Point) -> None:
    """Gradients have the dtypes that the runtime's have, and their numbers within their precision."""
    _compare_gradients(framework, point, [ops.ones_like(each) for each in point.results()])


def _compare_gradients(framework: Framework, point: Point, cotangents: Sequence[Tensor]) -> None:
    call = Call(framework, point)
    _, pullback = framework.vjp(call, call.inputs)
    _same_gradients(framework, point, pullback(framework.arrays(cotangents)), point.gradients(cotangents))


def forward(framework: Framework, point: Point) -> None:
    """Tangents are the runtime's."""
    outs = point.results()
    ways = point.like(point.inputs)
    wanted = tangents_of(point, ways)
    call = Call(framework, point)
    _, tangents = framework.jvp(call, call.inputs, framework.arrays(ways))
    for one, other, out in zip(tangents, wanted, outs, strict=True):
        zeros = np.zeros(out.shape, array(out).dtype)
        _close(framework, one, zeros if other is None else array(other), "tangent of 'result'", "result")


def second(framework: Framework, point: Point) -> None:
    """The gradients of a gradient are the runtime's, by the inputs and by what came back."""
    call = Call(framework, point)
    cotangents = point.like(point.results())
    ways = point.like(point.inputs)
    count = len(point.inputs)

    def gradients_of(*arrays: Any) -> Sequence[Any]:
        return framework.vjp(call, arrays[:count])[1](arrays[count:])

    places = [*call.inputs, *framework.arrays(cotangents)]
    _, pullback = framework.vjp(gradients_of, places)
    derivatives = pullback(framework.arrays(ways))
    names = [f"second derivative by '{name}'" for name in point.names()]
    names += [f"derivative of the gradient by grad {place}" for place in range(len(cotangents))]
    arguments = [*point.names(), *[None] * len(cotangents)]
    wanted = _second(point, cotangents, ways)
    for what, argument, one, other in zip(names, arguments, derivatives, wanted, strict=True):
        _close(framework, one, other, what, argument)


def _second(point: Point, cotangents: Sequence[Tensor], ways: Sequence[Tensor]) -> list[Array]:
    """The gradients of `<ways, gradients>` in the runtime, by the inputs and by the cotangents."""
    inputs = [each.detach().requires_grad_() for each in point.inputs]
    seeds = [each.detach().requires_grad_() for each in cotangents]
    first = autograd_grad(point.function(*inputs), inputs, seeds, allow_unused=True, create_graph=True)
    pairs = [(each, way) for each, way in zip(first, ways, strict=True) if each is not None and each.requires_grad]
    places = [*inputs, *seeds]
    derivatives: Sequence[Tensor | None] = [None] * len(places)
    if pairs:
        outs, weights = zip(*pairs, strict=True)
        derivatives = autograd_grad(list(outs), places, list(weights), allow_unused=True)
    return [
        np.zeros(place.shape, array(place).dtype) if each is None else array(each)
        for place, each in zip(places, derivatives, strict=True)
    ]


def modes(framework: Framework, point: Point) -> None:
    """Second derivatives by every pair of transformations: `<H v, u>` of `<w, f>`."""
    framework = framework.transforming()
    call = Call(framework, point)
    cotangents, ways, others = (
        point.like(point.results()), point.like(point.inputs), point.like(point.inputs),
    )  # fmt: skip
    weights, along, across = (framework.arrays(some) for some in (cotangents, ways, others))

    def gradients_of(*arrays: Any) -> Sequence[Any]:
        return tuple(framework.vjp(call, arrays)[1](weights))

    def tangents_along(*arrays: Any) -> Sequence[Any]:
        return tuple(framework.jvp(call, arrays, along)[1])

    _, backward_over_backward = framework.vjp(gradients_of, call.inputs)
    products = {"backward over backward": _inner(framework, backward_over_backward(along), across)}
    by_forward: dict[str, Callable[[], Any]] = {
        "forward over backward": lambda: _inner(framework, framework.jvp(gradients_of, call.inputs, along)[1], across),
        "backward over forward": lambda: _inner(
            framework, framework.vjp(tangents_along, call.inputs)[1](weights), across
        ),
        "forward over forward": lambda: _inner(
            framework, framework.jvp(tangents_along, call.inputs, across)[1], weights
        ),
    }
    for name, compute in by_forward.items():
        try:
            products[name] = compute()
        except Undecided:
            continue  # only gradients
    wanted = _second(point, cotangents, ways)[: len(ways)]
    exact = float(sum(np.vdot(array(u), w).real for u, w in zip(others, wanted, strict=True)))
    scale = sum(float(np.sum(np.abs(array(u)) * np.abs(w))) for u, w in zip(others, wanted, strict=True))
    for name, value in products.items():
        assert_number(value, exact, f"second derivative by {name}", scale)


def undefined(framework: Framework, point: Point) -> None:
    """Output gradients that are left out are zeros."""
    outs = point.results()
    if len(outs) < 2:
        raise Inapplicable("there is one result")
    call = Call(framework, point)
    cotangents = point.like(outs)
    for used in range(len(outs)):
        _, pullback = framework.vjp(lambda *arrays, used=used: (call(*arrays)[used],), call.inputs)
        gradients = pullback(framework.arrays([cotangents[used]]))
        only = [each if place == used else each * 0 for place, each in enumerate(cotangents)]
        _same_gradients(framework, point, gradients, point.gradients(only), f" where only result {used} has one")


def needed(framework: Framework, point: Point) -> None:
    """What one input gets does not depend on which others want a gradient."""
    if len(point.inputs) < 2:
        raise Inapplicable("there is one input")
    call = Call(framework, point)
    cotangents = point.like(point.results())
    wanted = point.gradients(cotangents)
    for place, name in enumerate(point.names()):

        def alone(varied: Any, place: int = place) -> Sequence[Any]:
            return call(*[varied if other == place else each for other, each in enumerate(call.inputs)])

        results, pullback = framework.vjp(alone, [call.inputs[place]])
        if len(results) != len(cotangents):
            raise Undecided("another number of results")
        (alone_gradient,) = pullback(framework.arrays(cotangents))
        what = f"gradient of '{name}' where only '{name}' needs one"
        _close(framework, alone_gradient, array(wanted[place]), what, name)


def batches(framework: Framework, point: Point) -> None:
    """A batch over all inputs, over the first one, and along another dimension, is a loop; so are its gradients."""
    if not point.inputs:
        raise Inapplicable("there is nothing to batch")
    call = Call(framework, point)
    outs = point.results()
    weights = framework.arrays(point.like(outs))

    def both(*arrays: Any) -> Sequence[Any]:
        results, pullback = framework.transforming().vjp(call, arrays)
        return (*results, *pullback(weights))

    hermitian = {id(each) for each in point.sample.hermitian}
    elements = [batching.batch_elements(tensor, id(tensor) in hermitian) for tensor in point.inputs]
    count = len(point.inputs)
    for chosen, dim in ((range(count), 0), (range(1), 0), (range(count), 1)):
        if dim and any(point.inputs[place].dim() < dim for place in chosen):
            continue
        in_dims = [dim if place in chosen else None for place in range(count)]
        stacked = [
            framework.array(np.stack(each, axis=in_dim)) if in_dim is not None else alone
            for each, in_dim, alone in zip(elements, in_dims, call.inputs, strict=True)
        ]
        batch = framework.vmap(both, in_dims)(*stacked)
        for number in range(batching.SIZE):
            arrays = [
                framework.array(each[number]) if in_dim is not None else alone
                for each, in_dim, alone in zip(elements, in_dims, call.inputs, strict=True)
            ]
            for place, (one, other) in enumerate(zip(batch, both(*arrays), strict=True)):
                what = f"result {place}" if place < len(outs) else f"gradient of '{point.names()[place - len(outs)]}'"
                wanted = framework.numpy(other)
                _close(framework, one[number], wanted, f"{what} of a batch along dimension {dim}")


def compiled(framework: Framework, point: Point) -> None:
    """Compiled, results and gradients are the same."""
    call = Call(framework, point)
    cotangents = point.like(point.results())
    weights = framework.arrays(cotangents)
    _, pullback = framework.vjp(framework.compiled(call), call.inputs)
    _same_gradients(framework, point, pullback(weights), point.gradients(cotangents), " of compiled code")

    def gradients_of(*arrays: Any) -> Sequence[Any]:
        return tuple(framework.transforming().vjp(call, arrays)[1](weights))

    gradients = framework.compiled(gradients_of)(*call.inputs)
    _same_gradients(framework, point, gradients, point.gradients(cotangents), " in compiled code")


def registered(framework: PyTorch, point: Point) -> None:
    """PyTorch's own tests of the registration: the schema, autograd, Tensors without data, the compiler."""
    call = Call(framework, point)
    # A leaf that requires grad can not be written.
    with_gradients = (point.info.differentiable or point.info.composite) and "!)" not in point.info.schema
    args, kwargs = call.arguments([each.detach().requires_grad_(with_gradients) for each in call.inputs])
    try:
        framework.check_registration(point.info.name, args, kwargs)
    except Exception as error:  # of many classes
        raise Refuted(f"opcheck: {str(error).strip().splitlines()[0]}") from error


def inplace(framework: PyTorch, point: Point) -> None:
    """The variant in place writes what the operator gives, with the same gradients."""
    name = point.info.inplace
    if name is None or point.names()[:1] != [operator_of(point.info).names[0]]:
        raise Inapplicable("there is none")
    call, written = Call(framework, point), Call(framework, point, name)
    (result,) = call.results(call.inputs)
    if (result.shape, result.dtype) != (call.inputs[0].shape, call.inputs[0].dtype):
        raise Inapplicable("the result has another shape or dtype")
    cotangents = point.like(point.results())
    results, pullback = framework.vjp(lambda first, *others: written(first.clone(), *others), call.inputs)
    for one, other in zip(results, call(*call.inputs), strict=True):
        _close(framework, one, framework.numpy(other), f"'{name}'")
    gradients = pullback(framework.arrays(cotangents))
    _same_gradients(framework, point, gradients, point.gradients(cotangents), f" of '{name}'")


def out(framework: PyTorch, point: Point) -> None:
    """The variant with out= writes what the operator gives."""
    name = point.info.out
    if name is None:
        raise Inapplicable("there is none")
    call = Call(framework, point)
    wanted = call.results(call.inputs)
    args, kwargs = call.arguments(call.inputs)
    room = {each: like.new_empty(0) for each, like in zip(framework.out_names(name), wanted, strict=True)}
    framework.operator(name)(*args, **kwargs, **room)
    for (each, written), other in zip(room.items(), wanted, strict=True):
        _close(framework, written, framework.numpy(other), f"what is written to '{each}'")


def _same(
    framework: Framework, one: Any, other: Tensor, what: str, argument: str | None = None, by_default: bool = False
) -> None:
    """Values, shape and dtype."""
    name = framework.dtype_name(one)
    dtype = other.dtype.name
    if by_default and other.dtype.is_floating_point:
        dtype = framework.default_dtype
    if name != dtype or tuple(one.shape) != tuple(other.shape):
        raise Refuted(
            f"{what} is {name} of shape {tuple(one.shape)} instead of {dtype} of {tuple(other.shape)}",
            argument,
        )
    wanted = numbers(other)
    wanted = wanted.astype(np.float32) if name in HALVES else wanted
    assert_close(framework.numpy(one), wanted, what, _COARSE.get(other.dtype.name, _RTOL), argument)


def _same_gradients(
    framework: Framework, point: Point, gradients: Sequence[Any], wanted: Sequence[Tensor], where: str = ""
) -> None:
    for name, one, other in zip(point.names(), gradients, wanted, strict=True):
        _same(framework, one, other, f"gradient of '{name}'{where}", name)


def _close(framework: Framework, one: Any, other: Any, what: str, argument: str | None = None) -> None:
    assert_close(framework.numpy(one), other, what, _RTOL, argument)


def _inner(framework: Framework, some: Sequence[Any], others: Sequence[Any]) -> float:
    pairs = zip(some, others, strict=True)
    return float(sum(np.vdot(framework.numpy(one), framework.numpy(other)).real for one, other in pairs))
