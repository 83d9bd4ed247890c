"""`forward_ad` beside PyTorch's: each case is run with both modules, and what it shows is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

CASES: dict[str, Callable[[Any, Any], Any]] = {}


def case(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    CASES[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """A result as something that can be compared."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "detach"):
        return str(value.dtype).partition(".")[2], np.asarray(value.detach().tolist())
    return value


def answer(body: Callable[[Any, Any], Any], module: Any) -> Any:
    return plain(body(module, module.autograd.forward_ad))


def values(m: Any, *shape: int, start: float = 0.5, grad: bool = False, dtype: str = "float64") -> Any:
    count = int(np.prod(shape))
    made = m.tensor([start + 0.25 * i for i in range(count)], dtype=getattr(m, dtype)).reshape(shape).clone()
    return made.requires_grad_() if grad else made


def error_of(function: Callable[[], Any]) -> str:
    try:
        function()
    except Exception as error:
        return type(error).__name__
    return "no error"


# -- names, levels, errors


@case
def levels(m: Any, fa: Any) -> Any:
    number = fa.enter_dual_level()
    fa.exit_dual_level(level=number)
    with fa.dual_level() as inside:
        pass
    return number, inside, fa.UnpackedDualTensor._fields


@case
def nested_levels(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        found = error_of(lambda: fa.dual_level().__enter__()), error_of(fa.enter_dual_level)
    return found


@case
def wrong_levels(m: Any, fa: Any) -> Any:
    x, t = values(m, 2), values(m, 2)
    found = [
        error_of(fa.exit_dual_level),
        error_of(lambda: fa.make_dual(x, t)),
        error_of(lambda: fa.make_dual(x, t, level=0)),
        fa.unpack_dual(x).tangent,
    ]
    with fa.dual_level():
        d = fa.make_dual(x, t, level=0)
        found += [
            error_of(lambda: fa.exit_dual_level(level=1)),
            error_of(lambda: fa.make_dual(x, t, level=1)),
            error_of(lambda: fa.make_dual(x, t, level=-1)),
            error_of(lambda: fa.unpack_dual(d, level=1)),
            fa.unpack_dual(d, level=0).tangent,
            fa.unpack_dual(d, level=-1).tangent,
        ]
    return found


@case
def what_make_dual_refuses(m: Any, fa: Any) -> Any:
    x, t = values(m, 2), values(m, 2)
    whole = m.tensor([1, 2])
    with fa.dual_level():
        d = fa.make_dual(x, t)
        return [
            error_of(lambda: fa.make_dual(d, t)),
            error_of(lambda: fa.make_dual(x, d)),
            error_of(lambda: fa.make_dual(x, values(m, 3))),
            error_of(lambda: fa.make_dual(whole, t)),
            error_of(lambda: fa.make_dual(x, whole)),
            error_of(lambda: fa.make_dual(x, values(m, 2, dtype="float32"))),
        ]


@case
def tangents_end_with_their_level(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        d = fa.make_dual(values(m, 2), values(m, 2))
        y = d * 2
        found = [fa.unpack_dual(y).tangent]
    found.append(fa.unpack_dual(y).tangent)
    with fa.dual_level():
        found += [fa.unpack_dual(y).tangent, fa.unpack_dual(d).tangent, fa.unpack_dual(d * 3).tangent]
    return found


# -- duals


@case
def parts_of_a_dual(m: Any, fa: Any) -> Any:
    x, t = values(m, 2, 3, grad=True), values(m, 2, 3, start=2.0)
    with fa.dual_level():
        d = fa.make_dual(x, t)
        primal, tangent = fa.unpack_dual(d)
        t.mul_(2)  # the tangent shares its memory with what was given
        return (
            [d, primal, tangent, d.requires_grad, primal.requires_grad, d.is_leaf, d._is_view(), primal._is_view()],
            [fa.unpack_dual(primal).tangent, fa.unpack_dual(x).tangent, fa.unpack_dual(d.detach()).tangent],
            [fa.unpack_dual(m.tensor([1])), fa.unpack_dual(values(m, 2)), fa.unpack_dual(d.data).tangent],
        )


@case
def a_tangent_laid_out_in_another_way_is_copied(m: Any, fa: Any) -> Any:
    x, t = values(m, 2, 3), values(m, 3, 2).t()
    with fa.dual_level():
        d = fa.make_dual(x, t)
        t.mul_(100)
        spread = fa.make_dual(x, values(m, 3).expand(2, 3))
        return fa.unpack_dual(d).tangent, fa.unpack_dual(d).tangent.stride(), fa.unpack_dual(spread).tangent.stride()


@case
def no_tangents(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        d = fa.make_dual(values(m, 3), values(m, 3))
        results = d > 0.6, d.argmax(), d.max(0).indices, d.int(), m.zeros_like(d), d.new_ones(2), d.isnan(), d.sign()
        return [fa.unpack_dual(result).tangent for result in results]


@case
def tangents_of_other_dtypes(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        d = fa.make_dual(values(m, 3), values(m, 3))
        results = d.float(), d.double(), d.to(m.complex128), d.float() * d, d * (1 + 2j)
        return [fa.unpack_dual(result) for result in results]


@case
def under_no_grad(m: Any, fa: Any) -> Any:
    with fa.dual_level(), m.no_grad():
        d = fa.make_dual(values(m, 3, grad=True), values(m, 3))
        y = (d * d).sum()
        return fa.unpack_dual(y), y.requires_grad


@case
def out_variants(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        d = fa.make_dual(values(m, 3), values(m, 3))
        room = values(m, 3)
        return error_of(lambda: m.mul(d, d, out=room)), error_of(lambda: m.mul(room, room, out=d))


# -- views and writes


@case
def views_share_memory(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        d = fa.make_dual(values(m, 2, 3), values(m, 2, 3, start=5.0))
        view = d.t()[1:]
        tangent = fa.unpack_dual(view).tangent
        fa.unpack_dual(d).tangent.mul_(10)
        return tangent, tangent.stride(), tangent._is_view(), fa.unpack_dual(view.expand(4, 2, 2)[0]).tangent


@case
def writes_to_a_dual(m: Any, fa: Any) -> Any:
    t = values(m, 3)
    with fa.dual_level():
        d = fa.make_dual(values(m, 3), t)
        d.mul_(2).add_(d * d).sin_()
        found = [d, fa.unpack_dual(d).tangent, t]
        for write in (
            lambda d: d.zero_(),
            lambda d: d.fill_(4.0),
            lambda d: d.copy_(values(m, 3)),
            lambda d: d.__setitem__(0, 5.0),
            lambda d: d.exp_(),
            lambda d: d.div_(fa.make_dual(values(m, 3, start=2.0), values(m, 3))),
            lambda d: d.clamp_(0.6, 0.9),
        ):
            d = fa.make_dual(values(m, 3), values(m, 3, start=7.0))
            write(d)
            found += [d, fa.unpack_dual(d).tangent]
        return found


@case
def writes_to_a_view_of_a_dual(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        x = values(m, 2, 3)
        d = fa.make_dual(x, values(m, 2, 3, start=2.0))
        other = d[:, 1]
        d[0].mul_(fa.make_dual(values(m, 3), values(m, 3)))
        return [fa.unpack_dual(y) for y in (d, other, x)]


@case
def writes_to_the_base_of_duals(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        x = values(m, 2, 3)
        d = fa.make_dual(x, values(m, 2, 3, start=2.0))
        y = d * 1
        row, column = y[0], y[:, 1]
        y.mul_(3)
        x.mul_(2)  # the dual was made of x, and x carries nothing
        return [fa.unpack_dual(z) for z in (y, row, column, d, x)]


@case
def writes_of_duals_into_plain_memory(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        dual = fa.make_dual(values(m, 3), values(m, 3, start=3.0))
        base, other = values(m, 2, 3), values(m, 2, 3)
        row, column = base[1], base[:, 0]  # before there are tangents
        row.add_(dual)
        rows = other.unbind(0)[1], other[0], other.t()[2]
        other.copy_(dual.expand(2, 3))
        third = values(m, 2, 3)
        third[1] = dual
        parts = m.zeros(3, dtype=m.complex128)
        parts.real.copy_(dual)
        return [fa.unpack_dual(x) for x in (base, row, column, other, *rows, third, parts, parts.real, parts.imag)]


@case
def writes_to_the_primal_and_to_detached(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        dual = fa.make_dual(values(m, 3), values(m, 3, start=3.0))
        y = dual * 1
        primal, detached = fa.unpack_dual(y).primal, y.detach()
        detached.mul_(fa.make_dual(values(m, 3), values(m, 3)))
        found = [fa.unpack_dual(z) for z in (y, primal, detached)]
        return [*found, fa.unpack_dual(primal[1:]).tangent]


@case
def parts_of_complex_numbers(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        z = values(m, 3).to(m.complex128) * (1 + 2j)
        d = fa.make_dual(z, z * 1j)
        view = m.view_as_real(d)
        results = d.real, d.imag, view, d.conj() * d, d.abs(), m.view_as_complex(view * 2)
        return [fa.unpack_dual(result) for result in results]


# -- with the other mode


@case
def backward_over_forward(m: Any, fa: Any) -> Any:
    x, t = values(m, 3, grad=True), values(m, 3, start=2.0, grad=True)
    with fa.dual_level():
        d = fa.make_dual(x, t)
        tangent = fa.unpack_dual((d.exp() * d.sin()).tanh()).tangent
    return m.autograd.grad(tangent.sum(), (x, t))


HESSIANS: dict[str, Callable[[Any, Any], Any]] = {
    "exp": lambda m, x: x.exp(),
    "tanh": lambda m, x: x.tanh(),
    "sigmoid": lambda m, x: x.sigmoid() * x,
    "softmax": lambda m, x: x.softmax(-1).log(),
    "sqrt": lambda m, x: x.sqrt(),
    "reciprocal": lambda m, x: x.reciprocal(),
    "matmul": lambda m, x: x @ x.t() @ x,
    "solve": lambda m, x: m.linalg.solve(x @ x.t() + 3 * m.eye(2, dtype=x.dtype), x),
    "var": lambda m, x: x.var(0),
    "norm": lambda m, x: x.norm(),
    "prod": lambda m, x: x.prod(),
    "cumprod": lambda m, x: x.cumprod(1),
    "max": lambda m, x: x.max(1).values * x.amin(),
    "cat": lambda m, x: m.cat([x, x * x]) ** 2,
    "write": lambda m, x: (x * 1).mul_(x).tanh_() * x,
    "write to a view": lambda m, x: _written(m, x),
    "log_softmax": lambda m, x: x.log_softmax(0) * x,
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (3,)).sin(),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
}


def _written(m: Any, x: Any) -> Any:
    y = x * x
    y[:, 1:].mul_(x[:, :2])
    y[0].tanh_()
    return y.sin()


@pytest.mark.parametrize("name", HESSIANS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_hessian_vector_products(name: str, create_graph: bool) -> None:
    """Forward over backward: the gradient has a tangent; by PyTorch, and by backward over backward."""

    def body(m: Any, fa: Any) -> Any:
        x, t, c = values(m, 2, 3, grad=True), values(m, 2, 3, start=-0.7), 1.0
        with fa.dual_level():
            d = fa.make_dual(x, t)
            out = HESSIANS[name](m, d)
            weights = values(m, *out.shape, start=c) if out.dim() else m.tensor(c, dtype=out.dtype)
            (g,) = m.autograd.grad((out * weights).sum(), d, create_graph=create_graph)
            return fa.unpack_dual(g)

    def twice(m: Any, fa: Any) -> Any:
        x, t, c = values(m, 2, 3, grad=True), values(m, 2, 3, start=-0.7), 1.0
        out = HESSIANS[name](m, x)
        weights = values(m, *out.shape, start=c) if out.dim() else m.tensor(c, dtype=out.dtype)
        (g,) = m.autograd.grad((out * weights).sum(), x, create_graph=True)
        return g, m.autograd.grad((g * t).sum(), x)[0]

    ours = answer(body, gradwright)
    compare(ours, answer(twice, gradwright))
    if name != "solve" or create_graph:  # PyTorch goes by the factors then, as if they were constants
        compare(ours, answer(body, torch))


@case
def gradients_into_leaves_keep_tangents(m: Any, fa: Any) -> Any:
    x = values(m, 3, grad=True)
    with fa.dual_level():
        d = fa.make_dual(x, values(m, 3))
        (d * d * d).sum().backward(retain_graph=True)
        first = fa.unpack_dual(x.grad).tangent
        (d * d).sum().backward()
        return first, fa.unpack_dual(x.grad)


@case
def printing(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        return repr(fa.make_dual(m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])))


@case
def what_is_detached_in_place_has_no_tangent(m: Any, fa: Any) -> Any:
    found = []
    with fa.dual_level():
        x = fa.make_dual(m.ones(2), m.ones(2))
        result = x * 3
        part = result[:1]
        result.detach_()
        found += [fa.unpack_dual(each).tangent for each in (x, result, part, result * 2)]
    ones = (m.ones(2),)
    found += m.func.jvp(lambda x: (x * 1).detach_() * x, ones, ones)
    found += m.func.jvp(lambda x: (x * 1).detach_(), ones, ones)
    return found


@case
def what_has_a_tangent_keeps_its_memory(m: Any, fa: Any) -> Any:
    found = []
    with fa.dual_level():
        for change in (lambda x: x.resize_(3), lambda x: x.set_(m.ones(3))):
            x = fa.make_dual(m.ones(2), m.ones(2))
            try:
                change(x)
            except Exception as error:
                found.append(type(error).__name__)
            found.append(fa.unpack_dual(x).tangent)
    return found


@case
def random_operators_do_not_draw_again(m: Any, fa: Any) -> Any:
    with fa.dual_level():
        d = fa.make_dual(m.ones(50), m.full((50,), 3.0))
        found = []
        for operator in (lambda d: m.nn.functional.dropout(d, 0.5), lambda d: m.native_dropout(d, 0.5, True)[0]):
            primal, tangent = fa.unpack_dual(operator(d))
            found.append(bool((tangent == 3 * primal).all()) and 0 < int((primal == 0).sum()) < 50)
        found.append(fa.unpack_dual(m.bernoulli(d * 0.5)).tangent)
        return found


def compare(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            compare(our, their)
    elif isinstance(theirs, tuple):
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6 if "32" in theirs[0] else 1e-10, atol=1e-12)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    compare(answer(CASES[name], gradwright), answer(CASES[name], torch))
