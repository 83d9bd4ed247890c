"""Forward mode: levels inside each other, tangents in shared memory, and operators that have no forward formula."""

from __future__ import annotations

import gc
import math
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.autograd import forward_ad, grad
from gradwright.testing import sample_inputs
from runtime.base import modes
from runtime.base.tensor import Tensor
from runtime.call.dispatch import Operator
from runtime.graph import forward
from runtime.graph.node import Node
from support.documents import ROOT

Function = Callable[..., Any]


def x(*values: float, requires_grad: bool = False) -> Any:
    return gradwright.tensor(list(values), dtype=gradwright.float64, requires_grad=requires_grad)


def number(value: float) -> Any:
    return gradwright.tensor(value, dtype=gradwright.float64)


def tangent_of(tensor: Tensor) -> Any:
    return forward_ad.unpack_dual(tensor).tangent


def derivative(function: Function) -> Function:
    """The derivative of a function of one number, in a level of its own."""

    def derived(at: Any) -> Any:
        level = forward.enter()
        try:
            dual = at.view_as(at)
            forward.set_tangent(dual, gradwright.ones_like(at), level)
            tangent = forward.tangent_of(function(dual), level)
            return gradwright.zeros_like(at) if tangent is None else tangent
        finally:
            forward.leave(level)

    return derived


# -- levels


def test_levels_inside_each_other() -> None:
    assert forward.innermost() is None
    outer = forward.enter()
    inner = forward.enter()
    assert (outer, inner, forward.innermost()) == (0, 1, 1)
    with pytest.raises(RuntimeError, match="not the last one that was created"):
        forward.leave(outer)
    forward.leave(inner)
    forward.leave(outer)
    assert not forward.active()
    assert modes.plain
    with pytest.raises(RuntimeError, match="no level is open"):
        forward.leave()


def test_levels_are_not_confused() -> None:
    """d/dx (x d/dy (x + y)) is 1; were the two levels one it would be 2."""
    assert derivative(lambda a: a * derivative(lambda b: a + b)(number(1.0)))(number(3.0)).item() == 1.0
    # d/dx (x d/dy (x y)) at y = 2 is 2 x
    assert derivative(lambda a: a * derivative(lambda b: a * b)(number(2.0)))(number(3.0)).item() == 6.0
    # the inner variable shadows the outer one
    assert derivative(lambda a: derivative(lambda b: b * b)(a) + a)(number(3.0)).item() == 3.0


def test_derivatives_of_derivatives() -> None:
    at = number(0.7)
    expected = [math.sin(0.7), math.cos(0.7), -math.sin(0.7), -math.cos(0.7), math.sin(0.7)]
    function: Function = gradwright.sin
    for want in expected:
        assert function(at).item() == pytest.approx(want, rel=1e-12)
        function = derivative(function)
    # saved results: the derivative of exp is made of its result
    assert derivative(derivative(derivative(gradwright.exp)))(at).item() == pytest.approx(math.exp(0.7))
    third = derivative(derivative(derivative(lambda a: (a.tanh() * a).sqrt())))
    step = 1e-4
    second = derivative(derivative(lambda a: (a.tanh() * a).sqrt()))
    difference = (second(number(0.7 + step)).item() - second(number(0.7 - step)).item()) / (2 * step)
    assert third(at).item() == pytest.approx(difference, rel=1e-6)


def test_mixed_derivatives() -> None:
    a, b = number(0.3), number(1.1)
    mixed = derivative(lambda p: derivative(lambda q: (p * q).sin() / q)(b))(a)
    # d/dq sin(p q)/q = p cos(p q)/q - sin(p q)/q^2, and d/dp of that is -p sin(p q) after two terms cancel
    assert mixed.item() == pytest.approx(-0.3 * math.sin(0.33), rel=1e-12)


def test_inner_levels_in_writes_and_views() -> None:
    def function(a: Any) -> Any:
        room = gradwright.zeros(3, dtype=gradwright.float64)
        view = room[1]
        view.copy_(a)
        view.mul_(a)
        room.mul_(a)
        view.sin_()
        return room.sum()

    at = 0.9
    cube = at**3
    assert derivative(function)(number(at)).item() == pytest.approx(math.cos(cube) * 3 * at**2)
    second = -math.sin(cube) * 9 * at**4 + math.cos(cube) * 6 * at
    assert derivative(derivative(function))(number(at)).item() == pytest.approx(second)


def test_gradients_of_tangents_of_tangents() -> None:
    at = x(0.4, 0.8, requires_grad=True)
    (found,) = grad(derivative(derivative(lambda a: a.exp() * a))(at).sum(), at)
    np.testing.assert_allclose(found.numpy(), np.exp([0.4, 0.8]) * np.array([3.4, 3.8]))


def test_levels_belong_to_a_thread() -> None:
    found: list[Any] = []
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x(1.0), x(2.0))

        def work() -> None:
            found.append(forward.active())
            with forward_ad.dual_level():
                found.append(tangent_of(dual * 2))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert tangent_of(dual) is not None
    assert found == [False, None]


def test_a_level_is_closed_after_an_error() -> None:
    with pytest.raises(KeyError), forward_ad.dual_level():
        raise KeyError
    assert forward.innermost() is None


def test_closing_a_level_frees_its_tangents() -> None:
    held = x(1.0, requires_grad=True)
    with forward_ad.dual_level():
        room = x(0.0)
        room.copy_(forward_ad.make_dual(held, x(2.0)))
        y = room.exp()
        tangents = [tangent_of(y), tangent_of(room)]
        arrays = [weakref.ref(t._array) for t in tangents if t is not None]
        del tangents
        assert [array() is None for array in arrays] == [False, False]
        gc.disable()
    try:
        assert [array() is None for array in arrays] == [True, True]
    finally:
        gc.enable()
    assert y.requires_grad  # Tensors live on
    y.backward()


# -- memory


def test_a_view_made_before_its_base_has_a_tangent() -> None:
    base = gradwright.from_numpy(np.zeros((4, 6))[::2, 1::2])  # not dense
    row, part = base[1], base.t()[1:, 0]
    with forward_ad.dual_level():
        base.copy_(forward_ad.make_dual(gradwright.ones(2, 3, dtype=gradwright.float64), _counting(2, 3)))
        assert tangent_of(row).tolist() == [3.0, 4.0, 5.0]
        tangent = tangent_of(part)
        assert tangent is not None
        assert tangent.tolist() == [1.0, 2.0]
        base.mul_(2)
        assert tangent.tolist() == [2.0, 4.0]
        part.zero_()
        whole = tangent_of(base)
        assert whole is not None
        assert whole.tolist() == [[0.0, 0.0, 0.0], [6.0, 8.0, 10.0]]
        assert whole.stride() == base.stride()


def _counting(*shape: int) -> Any:
    return gradwright.from_numpy(np.arange(float(np.prod(shape))).reshape(shape))


def test_writing_a_result_leaves_the_tangents_of_arguments_alone() -> None:
    """Where a formula gives back a tangent it was given, the result has a copy."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x(1.0, 2.0), x(3.0, 4.0))
        for function in (lambda a: a.clone(), lambda a: a + 1.0, lambda a: a * 1.0, lambda a: a.double().contiguous()):
            out = function(dual)
            if out is dual:
                continue
            out.mul_(100.0)
            assert tangent_of(dual).tolist() == [3.0, 4.0]


def test_an_argument_that_the_write_overwrites() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x(3.0), x(1.0))
        dual.mul_(dual)
        assert tangent_of(dual).tolist() == [6.0]


def test_a_write_that_depends_on_nothing_leaves_a_tangent_of_zeros() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x(3.0, 1.0), x(1.0, 2.0))
        dual[0].lt_(2.0)
        assert (dual.tolist(), tangent_of(dual).tolist()) == ([0.0, 1.0], [0.0, 2.0])


def test_many_results_in_one_level() -> None:
    """Those that are gone are forgotten while the level is open; the others lose their tangents at its end."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x(1.0), x(1.0))
        kept = [dual * 1.0 for _ in range(100)]
        for _ in range(3000):
            dual.neg()
        kept += [dual * 1.0 for _ in range(100)]
        holders = forward._state.levels[0]._holders
        assert len(holders) < 2500
    assert all(out._extra is not None and not out._extra.tangent for out in kept)


# -- operators without a forward formula


@pytest.fixture
def without_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    for operator in vars(operators).values():
        if isinstance(operator, Operator) and operator.record is not None:
            monkeypatch.setattr(operator, "jvp", None)


@pytest.mark.usefixtures("without_formulas")
class TestFromTheBackwardFormula:
    def test_nothing_else_requires_grad(self) -> None:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x(1.0, 2.0), x(1.0, 1.0))
            y = (dual * dual.exp()).sum()
            assert not y.requires_grad
            tangent = tangent_of(y)
            assert tangent is not None
            assert not tangent.requires_grad
        assert tangent.item() == pytest.approx(2 * math.e + 3 * math.exp(2.0))

    def test_random_operators_do_not_draw_again(self) -> None:
        gradwright.manual_seed(3)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(gradwright.ones(40), gradwright.full((40,), 5.0))
            out, mask = gradwright.native_dropout(dual, 0.5, True)
            state = gradwright.get_rng_state()
            tangent = tangent_of(out)
            assert tangent is not None
            assert tangent.tolist() == (5.0 * out).tolist()
            assert tangent_of(mask) is None
        gradwright.manual_seed(3)
        gradwright.native_dropout(gradwright.ones(40), 0.5, True)
        assert gradwright.equal(state, gradwright.get_rng_state())

    def test_lists_and_several_results(self) -> None:
        with forward_ad.dual_level():
            a, b = forward_ad.make_dual(x(1.0, 2.0), x(3.0, 4.0)), x(5.0)
            joined = tangent_of(gradwright.cat([b, a, b]))
            assert joined is not None
            assert joined.tolist() == [0.0, 3.0, 4.0, 0.0]
            variance, mean = gradwright.var_mean(a, 0)
            assert tangent_of(variance).item() == pytest.approx(1.0)
            assert tangent_of(mean).item() == pytest.approx(3.5)
            top, places = a.topk(1)
            assert tangent_of(top).tolist() == [4.0]
            assert tangent_of(places) is None

    def test_views_share_memory(self) -> None:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x(1.0, 2.0), x(3.0, 4.0))
            parts = dual.unbind(0)
            tangent_of(dual).mul_(10.0)
            assert [tangent_of(part).item() for part in parts] == [30.0, 40.0]

    def test_the_tangent_can_be_differentiated(self) -> None:
        a, t = x(0.5, 1.5, requires_grad=True), x(1.0, 2.0, requires_grad=True)
        other = x(2.0, 3.0, requires_grad=True)  # requires grad, and carries no tangent
        with forward_ad.dual_level():
            tangent = tangent_of(forward_ad.make_dual(a, t) / other.exp())
            assert tangent is not None
        found = grad(tangent.sum(), (a, t, other), allow_unused=True)
        assert found[0] is None or not found[0].numpy().any()
        np.testing.assert_allclose(found[1].numpy(), np.exp([-2.0, -3.0]))
        np.testing.assert_allclose(found[2].numpy(), -np.array([1.0, 2.0]) * np.exp([-2.0, -3.0]))

    def test_hooks_are_for_backward(self) -> None:
        calls: list[str] = []
        a = x(0.5, requires_grad=True)
        with forward_ad.dual_level():
            y = forward_ad.make_dual(a, x(1.0)).tanh()
            y.register_hook(lambda g: calls.append("tensor"))
            assert isinstance(y.grad_fn, Node)
            y.grad_fn.register_hook(lambda *g: calls.append("node"))
            (y * y).exp()
        assert not calls
        assert a.grad is None

    def test_the_history_of_an_argument_is_not_walked(self) -> None:
        a = x(0.5, requires_grad=True)
        y: Any = a
        visited: list[int] = []

        class Counted(type(y.exp().grad_fn)):  # type: ignore[misc]
            __slots__ = ()

            @property
            def edges(self) -> Any:
                visited.append(1)
                return super().edges

        for _ in range(10):
            y = y.exp()
        y.grad_fn.__class__ = Counted
        with forward_ad.dual_level():
            out = forward_ad.make_dual(y * 0.5, x(1.0)).sin()
            assert tangent_of(out) is not None
        assert not visited

    def test_nested_levels(self) -> None:
        second = derivative(derivative(lambda a: (a.exp() * a).tanh()))
        at, step = 0.3, 1e-5
        first = derivative(lambda a: (a.exp() * a).tanh())
        difference = (first(number(at + step)).item() - first(number(at - step)).item()) / (2 * step)
        assert second(number(at)).item() == pytest.approx(difference, rel=1e-8)
        assert derivative(lambda a: a * derivative(lambda b: a + b)(number(1.0)))(number(3.0)).item() == 1.0


def test_a_formula_for_some_results_only(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = operators.var_mean_correction_op
    whole = operator.jvp
    assert whole is not None
    monkeypatch.setattr(operator, "jvp", lambda *values: (None, whole(*values)[1]))
    with forward_ad.dual_level():
        variance, mean = gradwright.var_mean(forward_ad.make_dual(x(1.0, 2.0), x(3.0, 4.0)), 0)
        assert tangent_of(variance).item() == pytest.approx(1.0)
        assert tangent_of(mean).item() == pytest.approx(3.5)


def test_operators_without_any_derivative() -> None:
    def operator(kernel: Any, **options: Any) -> Operator:
        return Operator("f(Tensor self) -> Tensor", lambda self: self, kernels={"CPU": kernel}, **options)

    double, positive = operator(lambda a: a * 2.0), operator(lambda a: a > 0)
    known = operator(lambda a: a * 2.0, never_differentiable=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x(1.0), x(1.0))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with f that does not support it"):
            double(dual)
        assert tangent_of(positive(dual)) is None
        assert tangent_of(known(dual)) is None
        assert double(x(1.0)).tolist() == [2.0]


def test_a_composite_explicit_function_runs_without_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    operator = operators.native_dropout_default_op
    kernel = operator.kernels["CompositeExplicitAutograd"]

    def watching(*args: Any) -> Any:
        seen.append(forward.active())
        return kernel(*args)

    monkeypatch.setitem(operator.kernels, "CompositeExplicitAutograd", watching)
    with forward_ad.dual_level():
        out = operator(forward_ad.make_dual(x(1.0), x(1.0)), 0.0, True)[0]
        assert tangent_of(out) is not None
    assert seen == [False]


# -- forward over backward


def test_saved_results_have_their_tangents_on_the_way_back() -> None:
    a = x(0.5, 1.0, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, x(1.0, 2.0))
        y = dual.tanh()
        assert isinstance(y.grad_fn, Node)
        saved: Tensor = y.grad_fn._saved_result  # type: ignore[attr-defined]
        tangents = tangent_of(saved), tangent_of(y)
        assert tangents[0] is not None
        assert tangents[0].tolist() == tangents[1].tolist()
    assert tangent_of(y.grad_fn._saved_result) is None  # type: ignore[attr-defined]


def test_fitting_a_gradient_keeps_its_tangent() -> None:
    """The sum over broadcast dimensions is a step of the engine and no operator."""
    a = x(0.5, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, x(1.0))
        (found,) = grad((dual * dual * x(1.0, 2.0, 3.0)).sum(), dual)
        assert tangent_of(found).tolist() == [12.0]


def test_writes_through_views_on_the_way_back() -> None:
    a = x(0.5, 1.0, requires_grad=True)
    for create_graph in (False, True):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(a, x(1.0, 2.0))
            y = dual * dual
            y[0].mul_(dual[1])
            (found,) = grad(y.sum(), dual, create_graph=create_graph)
            # of x0^2 x1 + x1^2: (2 x0 x1, x0^2 + 2 x1), and that along (1, 2)
            tangent = tangent_of(found)
            assert tangent is not None
            np.testing.assert_allclose(found.detach().numpy(), [1.0, 2.25])
            np.testing.assert_allclose(tangent.detach().numpy(), [4.0, 5.0])


# -- derivatives that are not implemented

UNIMPLEMENTED = [
    pytest.param(operator, name, id=f"{operator.name}-{name}")
    for operator in vars(operators).values()
    if isinstance(operator, Operator)
    for name in operator.unimplemented
]


def test_every_formula_that_is_not_implemented_is_known() -> None:
    text = (ROOT / "derivatives.yaml").read_text()
    lines = re.findall(r"^  ([\w, ]+): '?not_implemented\(", text, re.MULTILINE)
    assert len(UNIMPLEMENTED) == sum(len(names.split(", ")) for names in lines) > 0


@pytest.mark.parametrize("formula", [True, False])
@pytest.mark.parametrize(("operator", "name"), UNIMPLEMENTED)
def test_a_tangent_that_no_derivative_takes_is_refused(
    operator: Operator, name: str, formula: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not formula:
        monkeypatch.setattr(operator, "jvp", None)
    info = OPERATORS[operator.name]
    place = operator.names.index(name)
    samples = [s for s in sample_inputs(info, "float64", requires_grad=False) if len(s.args) > place]
    samples = [s for s in samples if s.args[place] is not None and s.args[place].is_floating_point()]
    # Statistics that a forward pass saved are no arguments that a sample could choose.
    assert samples or name.startswith("save_")
    beside = 1 if place == 0 else 0  # an argument that has a derivative
    for sample in samples:
        args = list(sample.args)
        with forward_ad.dual_level():
            if info.differentiable:
                args[beside] = forward_ad.make_dual(args[beside], gradwright.ones_like(args[beside]))
                out = operator.function(*args)
                assert forward_ad.unpack_dual(out if isinstance(out, Tensor) else out[0]).tangent is not None
            for others in (args, sample.args):  # beside other tangents, and alone
                given = list(others)
                given[place] = forward_ad.make_dual(args[place], gradwright.ones_like(args[place]))
                with pytest.raises(NotImplementedError, match=rf"{operator.name} .*'{name}' is not implemented"):
                    operator.function(*given)
