"""Compares what was emitted for JAX with the runtime, and JAX's own transformations of it with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads

from codegen.schema.names import python
from gradwright.testing import operator_of
from gradwright.verify.points import Point, points
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.load.operator_info import OperatorInfo
from support.rule_agreement import compared

TOLERANCE = 1e-10


def to_jax(value: Any) -> Any:
    """An argument of a sample as JAX has it."""
    if isinstance(value, Tensor):
        return jnp.asarray(np.asarray(value.detach().resolve_conj().numpy()))
    if isinstance(value, list | tuple):
        return tuple(map(to_jax, value))
    return jnp.dtype(value.name) if isinstance(value, DType) else value


def is_of_numbers(value: Any) -> bool:
    """Whether a leaf of arguments or results has derivatives."""
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jnp.inexact))


@dataclass(frozen=True)
class Rule:
    """A function of JAX in the form of a rule: PyTorch's gradients are conjugates of JAX's."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[int, ...]
    has_tangents: bool

    def _call(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> Any:
        values = dict(zip(self.names, arrays, strict=True)) | dict(given)
        out = self.function(**{python(name): value for name, value in values.items()})
        parts = out if isinstance(out, tuple) else (out,)
        return tuple(part for part in parts if is_of_numbers(part))

    def save(self, out: Any, *arrays: Any, needs: Sequence[bool]) -> Any:
        """The arguments; the results are compared at once."""
        mine = self.function(**{python(name): value for name, value in zip(self.names, arrays, strict=True)})
        for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(out), strict=True):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
        return arrays

    def vjp(self, saved: Sequence[Any], grads: Any, needs: Sequence[bool]) -> tuple[Any, ...]:
        """The gradients of the inputs that are needed."""
        given = {name: saved[self.names.index(name)] for name, needed in zip(self.inputs, needs, strict=True) if needed}
        _, back = jax.vjp(lambda given: self._call(saved, given), given)
        parts = grads if isinstance(grads, tuple) else (grads,)
        (found,) = back(tuple(map(jnp.conj, parts)))
        found = jax.tree.map(lambda part: jnp.conj(part) if is_of_numbers(part) else part, found)
        return tuple(map(found.get, self.inputs))

    @property
    def jvp(self) -> Callable[..., Any] | None:
        """The tangents of the results, where there are any."""
        return self._jvp if self.has_tangents else None

    def _jvp(self, out: Any, *values: Any) -> Any:
        arrays, tangents = values[: len(self.names)], values[len(self.names) :]
        given = {name: arrays[self.names.index(name)] for name in self.inputs}

        def whole(value: Any, tangent: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(whole, value, tangent))
            if value is None or tangent is not None:
                return tangent
            return jnp.zeros_like(value) if is_of_numbers(value) else np.zeros(value.shape, jax.dtypes.float0)

        directions = {name: whole(given[name], tangent) for name, tangent in zip(self.inputs, tangents, strict=True)}
        _, found = jax.jvp(lambda each: self._call(arrays, each), (given,), (directions,))
        by_place = dict(zip(self.results, found, strict=True))
        return [by_place.get(place) for place in range(len(out) if isinstance(out, tuple) else 1)]


def rule_of(info: OperatorInfo, function: Callable[..., Any], has_tangents: bool) -> Rule:
    """A function of JAX as the rule of an operator."""
    operator = operator_of(info)
    inputs = tuple(name for name, type in zip(operator.names, operator.types, strict=True) if type.startswith("Tensor"))
    count = len(operator.facts.results)
    results = tuple(place for place in range(count) if (info.name, place) != ("largest", 1))
    return Rule(function, tuple(operator.names), inputs, results, has_tangents)


def differences(info: OperatorInfo, rule: Rule) -> Iterator[tuple[str, float]]:
    """Each comparison with the runtime, of gradients and tangents, in double precision."""
    for dtype, kind in (("float64", "float"), ("complex128", "complex")):
        if kind in info.dtypes:
            yield from compared(info, rule, dtype, jnp.asarray, np.asarray, jnp.dtype)


def transformed(info: OperatorInfo, rule: Rule) -> Iterator[str]:
    """JAX's transformations of a function at the first samples of its operator, each compared with another one.

    Yields:
        What was compared.
    """
    for number, point in enumerate(points(info, "float64")):
        function, inputs = _of_reals(point, rule)
        if not inputs or number > 1:
            return
        yield from _transformed(function, inputs, rule.has_tangents, number == 0)


def _of_reals(point: Point, rule: Rule) -> tuple[Callable[..., Any], list[Any]]:
    """A sample as a function of its arrays that are differentiated."""
    values = operator_of(point.info).signature.bind(point.sample.args, point.sample.kwargs)
    wanted = jax.tree.leaves([_marks(value) for value in values])
    flat, tree = jax.tree.flatten([to_jax(value) for value in values])
    places = [
        place for place, (leaf, mark) in enumerate(zip(flat, wanted, strict=True)) if mark and is_of_numbers(leaf)
    ]

    def function(*given: Any) -> Any:
        leaves = list(flat)
        for place, value in zip(places, given, strict=True):
            leaves[place] = value
        arrays = jax.tree.unflatten(tree, leaves)
        out = rule.function(**{python(name): value for name, value in zip(rule.names, arrays, strict=True)})
        parts = out if isinstance(out, tuple) else (out,)
        return tuple(part for part in parts if is_of_numbers(part))

    return function, [flat[place] for place in places]


def _marks(value: Any) -> Any:
    """For each leaf of an argument, whether it is differentiated."""
    if isinstance(value, list | tuple):
        return tuple(map(_marks, value))
    if value is None:
        return None
    return isinstance(value, Tensor) and bool(value.requires_grad)


def _transformed(function: Callable[..., Any], inputs: list[Any], has_tangents: bool, is_first: bool) -> Iterator[str]:
    places = tuple(range(len(inputs)))

    def total(*given: Any) -> Any:
        return sum(jnp.sum(jnp.sin(part)) for part in function(*given))

    _same(jax.jit(function)(*inputs), function(*inputs))
    yield "jit"
    gradients = jax.grad(total, places)(*inputs)
    _same(jax.jit(jax.grad(total, places))(*inputs), gradients)
    yield "grad of jit"
    batch = [jnp.stack([each, each * 1.125, each * 1.25]) for each in inputs]
    one = [each[1] for each in batch]
    _same(jax.tree.map(lambda part: part[1], jax.vmap(function)(*batch)), function(*one))
    yield "vmap"
    first = jax.vmap(function, in_axes=(0, *[None] * (len(inputs) - 1)))(batch[0], *inputs[1:])
    _same(jax.tree.map(lambda part: part[2], first), function(batch[0][2], *inputs[1:]))
    yield "vmap of one argument"
    _same(jax.tree.map(lambda part: part[1], jax.vmap(jax.grad(total, places))(*batch)), jax.grad(total, places)(*one))
    yield "vmap of grad"
    backward = jax.jacrev(function, places)(*inputs)
    if has_tangents:
        _same(jax.jacfwd(function, places)(*inputs), backward)
        yield "jacfwd and jacrev"
        out, linear = jax.linearize(function, *inputs)
        tangents = [jnp.cos(each) for each in inputs]
        _same((out, linear(*tangents)), jax.jvp(function, tuple(inputs), tuple(tangents)))
        yield "linearize and jvp"
    if is_first:
        second = jax.jacrev(jax.grad(total, places), places)(*inputs)
        if has_tangents:
            _same(jax.hessian(total, places)(*inputs), second)
            yield "hessian"
        modes = ("fwd", "rev") if has_tangents else ("rev",)
        check_grads(jax.jit(function), inputs, order=2, modes=modes)
        yield "second order"


def _same(one: Any, other: Any) -> None:
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)
