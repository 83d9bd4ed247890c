"""Every operator behind a kernel that was registered at run time: all that it gives is as with the built-in kernel."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.autograd import forward_ad
from gradwright.library import _scoped_library
from gradwright.testing import as_function, operator_function, sample_inputs
from runtime.base.errors import MissingDerivativeError
from runtime.base.tensor import Tensor
from runtime.call.dispatch import Operator
from runtime.call.facts import flat_tensors
from runtime.call.kernel_table import TensorKernel, resolve
from runtime.graph import forward
from runtime.load.operator_info import OperatorInfo

torch: Any = gradwright


def operator_of(info: OperatorInfo) -> Operator:
    found: Operator = getattr(operators, f"{info.function}_op")
    return found


@contextmanager
def redispatching(info: OperatorInfo) -> Iterator[list[str]]:
    """The operator's own kernel, but as one on Tensors; what is called is counted."""
    operator, calls = operator_of(info), []
    found = resolve(operator, "CPU")
    assert found is not None
    key, built_in = found

    def function(*args: Any, **kwargs: Any) -> Any:
        calls.append(info.name)
        return built_in.run(operator, operator.signature.bind(args, kwargs))

    kernel = TensorKernel(function, key)
    operator.add_kernel(key, kernel)
    try:
        yield calls
    finally:
        operator.remove_kernel(key, kernel)


def drawn(random: np.random.Generator, like: Tensor) -> Tensor:
    array = like.detach().numpy()
    values = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * random.standard_normal(array.shape)
    return gradwright.tensor(np.asarray(values, dtype=array.dtype))


def inner(ones: Any, others: Any) -> Any:
    """The inner product as a Tensor; None where nothing in it requires grad."""
    products = [(a * b.conj()).real.sum() for a, b in zip(ones, others, strict=True) if a is not None]
    products = [product for product in products if product.requires_grad]
    return sum(products[1:], start=products[0]) if products else None


def gradients(total: Any, inputs: Any) -> Any:
    return [None] * len(inputs) if total is None else torch.autograd.grad(total, inputs, allow_unused=True)


def tangents(function: Any, inputs: Any, ways: Any) -> list[Any]:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, ways, strict=True)]
        return [forward_ad.unpack_dual(out).tangent for out in function(*duals)]


def tangents_of_gradients(function: Any, inputs: Any, ways: Any, cotangents: Any) -> list[Any]:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, ways, strict=True)]
        found = torch.autograd.grad(function(*duals), duals, cotangents, allow_unused=True)
        return [None if g is None else forward_ad.unpack_dual(g).tangent for g in found]


def tangents_of_tangents(function: Any, inputs: Any, ways: Any, others: Any) -> list[Any]:
    outer, deeper = forward.enter(), forward.enter()
    try:
        duals = []
        for x, t, u in zip(inputs, ways, others, strict=True):
            dual = x.view_as(x)
            forward.set_tangent(dual, t, outer)
            forward.set_tangent(dual, u, deeper)
            duals.append(dual)
        found = [forward.tangent_of(out, deeper) for out in function(*duals)]
        return [None if t is None else forward.tangent_of(t, outer) for t in found]
    finally:
        forward.leave(deeper)
        forward.leave(outer)


def declared(derive: Callable[..., Any], *args: Any) -> Any:
    """A second derivative; nothing where a formula on the way is declared as not implemented."""
    try:
        return derive(*args)
    except MissingDerivativeError:
        return []


def derivatives(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> dict[str, list[Any]]:
    """First and second derivatives by each mode over each, in directions that are always the same."""

    def seeded(*args: Any) -> Any:
        gradwright.manual_seed(0)
        return function(*args)

    random = np.random.default_rng(0)
    outs = seeded(*inputs)
    ways, others = ([drawn(random, x) for x in inputs] for _ in range(2))
    cotangents = [drawn(random, out) for out in outs]
    found: dict[str, list[Any]] = {"values": list(outs)}
    if not outs or not inputs:
        return found
    found["gradients"] = torch.autograd.grad(outs, inputs, cotangents, create_graph=True, allow_unused=True)
    found["double gradients"] = declared(gradients, inner(found["gradients"], ways), inputs)
    found["jvp"] = tangents(seeded, inputs, ways)
    found["grad of jvp"] = declared(gradients, inner(found["jvp"], cotangents), inputs)
    found["jvp of grad"] = declared(tangents_of_gradients, seeded, inputs, ways, cotangents)
    found["jvp of jvp"] = declared(tangents_of_tangents, seeded, inputs, ways, others)
    return found


def variants(info: OperatorInfo, dtype: str) -> Iterator[tuple[str, list[Any]]]:
    """In place, with out= and under vmap, for each sample."""
    function = operator_function(info)
    base, _, overload = (info.inplace or "").partition(".")
    inplace = getattr(operators, f"{base}_{overload or 'default'}", None)
    for sample in sample_inputs(info, dtype):
        gradwright.manual_seed(0)
        plain = function(*sample.args, **sample.kwargs)
        results, count = flat_tensors([plain]), len(plain) if isinstance(plain, list | tuple) else 1
        first = sample.args[0] if sample.args else None
        fits = isinstance(first, Tensor) and isinstance(plain, Tensor) and plain.dtype == first.dtype
        if inplace is not None and fits and (plain.shape == first.shape or operator_of(info).view is not None):
            target = first * 1 if first.requires_grad else first.clone()
            gradwright.manual_seed(0)
            inplace(target, *sample.args[1:], **sample.kwargs)
            inputs = [x for x in sample.tensors() if target.requires_grad]
            total = inner([target], [drawn(np.random.default_rng(0), target)])
            yield "in place", [target, *gradients(total, inputs)]
        if operator_of(info).view is None and info.out and len(results) == count:
            room = [gradwright.empty_like(x) for x in results]
            with gradwright.no_grad():
                gradwright.manual_seed(0)
                function(*sample.args, **sample.kwargs, out=room[0] if isinstance(plain, Tensor) else room)
            yield "out", room
        called, inputs = as_function(info, sample)
        if inputs and not info.random and "CompositeImplicitAutograd" not in operator_of(info).built_in:
            stacked = [gradwright.stack([x.detach(), x.detach() * 0.5]) for x in inputs]
            try:
                yield "vmap", list(gradwright.vmap(called, randomness="same")(*stacked))
            except RuntimeError:
                yield "vmap", []


def collected(info: OperatorInfo, dtype: str) -> list[tuple[str, str, list[Any]]]:
    found = []
    for sample in sample_inputs(info, dtype):
        function, inputs = as_function(info, sample)
        found += [(sample.text, name, items) for name, items in derivatives(function, inputs).items()]
    return found + [("", name, items) for name, items in variants(info, dtype)]


def check_same(found: list[tuple[str, str, list[Any]]], wanted: list[tuple[str, str, list[Any]]]) -> None:
    for (text, name, items), (_, _, expected) in itertools.zip_longest(found, wanted, fillvalue=("", "", [])):
        for item, want in itertools.zip_longest(items, expected):
            assert (item is None) is (want is None), (text, name)
            if item is not None:
                assert (item.requires_grad, item._is_view(), item.dtype) == (
                    want.requires_grad,
                    want._is_view(),
                    want.dtype,
                ), (text, name)
                # The native core and NumPy add up in other orders.
                one, two = item.detach().numpy(), want.detach().numpy()
                np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-11, err_msg=f"{name} of ({text})")


# Without an entry in derivatives.yaml: a kernel of somebody's own is refused in forward mode.
NO_ENTRY = frozenset(("linalg_ldl_factor_ex", "geqrf", "_linalg_eigvals"))


@pytest.mark.parametrize(
    "info", [pytest.param(i, id=i.name) for i in OPERATORS.values() if i.samples and i.name not in NO_ENTRY]
)
def test_a_redispatching_kernel_changes_nothing(info: OperatorInfo) -> None:
    dtype = "float64" if sample_inputs(info, "float64") else "complex128"
    wanted = collected(info, dtype)
    with redispatching(info) as calls:
        found = collected(info, dtype)
    assert calls
    check_same(found, wanted)


# -- kernels that compute with operators, in place of built-in ones


def _softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    e = torch.exp(self - torch.amax(self, [dim], True))
    return e / e.sum([dim], True)


def _transpose(self: Any, i: int, j: int) -> Any:
    order = list(range(self.dim()))
    order[i], order[j] = order[j], order[i]
    return self.permute(order)


# The kernel, and a function of two matrices that calls its operator in some of its forms.
COMPUTING: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "div.Tensor": (lambda self, other: self * other.reciprocal(), lambda x, y: (x / y, (x * y).div_(y))),
    "mul.Tensor": (lambda self, other: self / other.reciprocal(), lambda x, y: (x * y, (x + y).mul_(x))),
    "atan2": (lambda self, other: torch.atan(self / other), lambda x, y: torch.atan2(x, y)),
    "_softmax": (_softmax, lambda x, y: torch.softmax(x * y, 1)),
    "cat": (
        lambda tensors, dim=0: torch.stack(tensors, dim).flatten(dim, dim + 1),
        lambda x, y: torch.cat([x, y, x], 1),
    ),
    "transpose.int": (_transpose, lambda x, y: (x.transpose(0, 1) * y, (x * y).transpose(0, 1))),
    "unbind.int": (
        lambda self, dim=0: [self.select(dim, i) for i in range(self.shape[dim])],
        lambda x, y: [a * b for a, b in zip((x * 1).unbind(1), y.unbind(0), strict=True)],
    ),
    "var_mean.correction": (
        lambda self, dim=None, *, correction=None, keepdim=False: (
            self.sub(self.mean(dim, True)).square().sum(dim, keepdim) / (self.shape[dim[0]] - 1),
            self.mean(dim, keepdim),
        ),
        lambda x, y: torch.var_mean(x * y, [1]),
    ),
    "square": (lambda self: self**2, lambda x, y: torch.square(x) * y),
}


@pytest.mark.filterwarnings("ignore:Overriding")
@pytest.mark.parametrize("name", COMPUTING)
@pytest.mark.parametrize("constant", [None, 0, 1])
def test_a_kernel_made_of_operators_changes_nothing(name: str, constant: int | None) -> None:
    kernel, called = COMPUTING[name]
    random = np.random.default_rng(7)
    pair = [gradwright.tensor(random.uniform(0.5, 2.0, (3, 3))) for _ in range(2)]
    free = [x.requires_grad_() for i, x in enumerate(pair) if i != constant]

    def function(*tensors: Tensor) -> Any:
        given = list(tensors)
        if constant is not None:
            given.insert(constant, pair[constant])
        out = called(*given)
        return [out] if isinstance(out, Tensor) else list(out)

    def everything() -> list[tuple[str, str, list[Any]]]:
        found = derivatives(function, tuple(free))
        batches = [gradwright.stack([x.detach(), x.detach() * 0.5]) for x in free]
        found["vmap"] = list(gradwright.vmap(function, randomness="same")(*batches))
        return [("x, y", kind, items) for kind, items in found.items()]

    wanted = everything()
    with _scoped_library("aten", "IMPL") as aten:
        aten.impl(name, kernel, "CompositeImplicitAutograd" if name == "square" else "CPU")
        check_same(everything(), wanted)


@pytest.mark.filterwarnings("ignore:Overriding")
def test_a_gradient_of_a_tangent_goes_through_the_result_too() -> None:
    """The forward formula of div uses the result, and with it its history: d/dy (x / y)' = 2 x / y**3 y'."""
    x, y = torch.tensor(3.0), torch.tensor(2.0, requires_grad=True)
    with _scoped_library("aten", "IMPL") as aten:
        aten.impl("div.Tensor", lambda self, other: self * other.reciprocal(), "CPU")
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(x / forward_ad.make_dual(y, torch.tensor(1.0))).tangent
        assert torch.autograd.grad(tangent, y)[0].item() == 0.75


@pytest.mark.filterwarnings("ignore:Overriding")
@pytest.mark.parametrize("several", [False, True])
def test_arguments_among_the_results_of_a_kernel_keep_their_history(several: bool) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with _scoped_library("aten", "IMPL") as aten:
        if several:
            aten.impl("var_mean.correction", lambda self, dim=None, **options: (self.sum(), self), "CPU")
            outs = torch.var_mean(x)
            assert type(outs).__name__ != "list"
        else:
            aten.impl("cat", lambda tensors, dim=0: tensors[0], "CPU")
            outs = [torch.cat([x, x])]
    assert x.is_leaf
    assert all(out is not x and out.grad_fn is not None for out in outs)


@pytest.mark.filterwarnings("ignore:Overriding")
def test_kernels_do_not_make_arguments_into_inference_tensors() -> None:
    x = torch.ones(2)
    with _scoped_library("aten", "IMPL") as aten, torch.inference_mode():
        aten.impl("hypot", lambda self, other: self, "CPU")
        out = torch.hypot(x, x)
    assert not x.is_inference()
    assert out is not x


PAIR = "pair(Tensor self) -> (Tensor, Tensor)"
ONE = "one(Tensor self) -> Tensor"
LIST = "pieces(Tensor self) -> Tensor[]"


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"])
@pytest.mark.parametrize(
    ("schema", "result", "returned"),
    [
        (PAIR, lambda x: x, "expected 2 results, but the kernel returned an? (array|Tensor)"),
        (PAIR, lambda x: (x,), "expected 2 results, but the kernel returned 1 result"),
        (PAIR, lambda x: (x, x, x), "expected 2 results, but the kernel returned 3 results"),
        (ONE, lambda x: (x, x), "expected 1 result, but the kernel returned a tuple of 2"),
        (ONE, lambda x: [x], "expected 1 result, but the kernel returned a list of 1"),
        (LIST, lambda x: x, "expected a list, but the kernel returned an? (array|Tensor)"),
    ],
)
def test_the_number_of_results_is_checked(key: str, schema: str, result: Callable[..., Any], returned: str) -> None:
    operator = Operator(schema, len, {key: result})
    with pytest.raises(RuntimeError, match=f"(?s){returned}.*schema: {re.escape(schema)}"):
        operator(gradwright.ones(2, 2))


def test_results_may_come_as_tuple_or_list() -> None:
    for made in (tuple, list):
        first, second = Operator(PAIR, len, {"CPU": lambda x, made=made: made((x, -x))})(gradwright.ones(2))
        assert (first.tolist(), second.tolist()) == ([1, 1], [-1, -1])
        pieces = Operator(LIST, len, {"CPU": lambda x, made=made: made((x, x, x))})(gradwright.ones(2))
        assert len(pieces) == 3
