"""Jacobians, Hessians and products with them, on functions whose derivatives are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from gradwright.autograd import functional
from gradwright.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from runtime.graph import engine

A = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 4.0]])
X = np.array([0.5, -1.0, 2.0])


def tensor(values: Any, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(np.asarray(values).tolist(), dtype=torch.float64, requires_grad=requires_grad)


def sines(x: torch.Tensor) -> torch.Tensor:
    """A @ sin(x): the Jacobian is A with columns times cos(x)."""
    return tensor(A) @ x.sin()


def quartic(x: torch.Tensor) -> torch.Tensor:
    """sum(x)**2 + sum(x**4): the Hessian is 2 everywhere, and 12 x**2 more on the diagonal."""
    return x.sum() * x.sum() + (x**4).sum()


SINES_JACOBIAN = A * np.cos(X)
QUARTIC_HESSIAN = 2.0 + np.diag(12 * X**2)

WAYS = pytest.mark.parametrize(
    "options",
    [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}, {"create_graph": True}],
    ids=["rows", "batch", "forward", "graph"],
)


@WAYS
def test_jacobian(options: dict[str, Any]) -> None:
    np.testing.assert_allclose(jacobian(sines, tensor(X), **options).detach().numpy(), SINES_JACOBIAN)


@WAYS
def test_jacobian_of_matrices(options: dict[str, Any]) -> None:
    """The shape is that of the output, then that of the input; elements are counted row by row in both."""
    x = tensor(np.arange(6.0).reshape(2, 3))
    found = jacobian(lambda x: x.t() * 1.0, x, **options)
    assert found.shape == (3, 2, 2, 3)
    np.testing.assert_array_equal(found.detach().numpy(), np.eye(6).reshape(2, 3, 2, 3).transpose(1, 0, 2, 3))


def test_hessian() -> None:
    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        found = hessian(quartic, tensor(X), **options)
        np.testing.assert_allclose(found.detach().numpy(), QUARTIC_HESSIAN)


def test_products() -> None:
    v, w = tensor([2.0, -1.0]), tensor([1.0, 0.0, 3.0])
    out, product = vjp(sines, tensor(X), v)
    np.testing.assert_allclose(out.numpy(), A @ np.sin(X))
    np.testing.assert_allclose(product.numpy(), v.numpy() @ SINES_JACOBIAN)
    out, product = jvp(sines, tensor(X), w)
    np.testing.assert_allclose(out.numpy(), A @ np.sin(X))
    np.testing.assert_allclose(product.numpy(), SINES_JACOBIAN @ w.numpy())
    for function in (vhp, hvp):
        out, product = function(quartic, tensor(X), w)
        np.testing.assert_allclose(out.item(), X.sum() ** 2 + (X**4).sum())
        np.testing.assert_allclose(product.numpy(), QUARTIC_HESSIAN @ w.numpy())


def test_vhp_and_hvp_are_told_apart_by_a_gradient_that_is_none() -> None:
    """With the gradient (2 x0, x0), which no function has, the second derivatives are not symmetric."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x[1] * 1.0
        y.register_hook(lambda grad: grad * x[0])
        return x[0] * x[0] + y

    x, v = tensor([2.0, 3.0]), tensor([1.0, 10.0])
    matrix = hessian(function, x).numpy()
    assert matrix[0, 1] == 0.0
    assert matrix[1, 0] == 1.0
    np.testing.assert_allclose(vhp(function, x, v)[1].numpy(), v.numpy() @ matrix)
    np.testing.assert_allclose(hvp(function, x, v)[1].numpy(), matrix @ v.numpy())


def test_third_derivative() -> None:
    x = tensor(X, requires_grad=True)
    (third,) = torch.autograd.grad(hessian(quartic, x, create_graph=True).sum(), x)
    np.testing.assert_allclose(third.numpy(), 24 * X)


def test_results_have_no_history_and_nothing_is_accumulated() -> None:
    x, w = tensor(X, requires_grad=True), tensor([1.0, 0.0, 3.0], requires_grad=True)
    results = [jacobian(sines, x), hessian(quartic, x), *vhp(quartic, x, w), *hvp(quartic, x, w), *jvp(sines, x, w)]
    assert not any(result.requires_grad for result in results)
    assert x.grad is None
    assert w.grad is None


@pytest.mark.parametrize("enabled", [False, True])
def test_recording_is_on_inside_and_as_it_was_outside(enabled: bool) -> None:
    seen = []

    def function(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.is_grad_enabled())
        return quartic(x)

    calls: list[Callable[[], Any]] = [
        lambda: jacobian(function, tensor(X)),
        lambda: hessian(function, tensor(X)),
        lambda: vjp(function, tensor(X)),
        lambda: jvp(function, tensor(X), tensor(X)),
        lambda: vhp(function, tensor(X), tensor(X)),
        lambda: hvp(function, tensor(X), tensor(X)),
    ]
    with torch.set_grad_enabled(enabled):
        for call in calls:
            call()
            assert torch.is_grad_enabled() is enabled
    assert seen == [True] * len(calls)


def test_the_function_runs_once() -> None:
    count = []

    def function(x: torch.Tensor) -> torch.Tensor:
        count.append(1)
        return sines(x)

    jacobian(function, tensor(X))
    jacobian(function, tensor(X), vectorize=True)
    assert len(count) == 2


def test_rows_do_not_spoil_each_other() -> None:
    """A gradient that is infinite stays with its output; all outputs in one batch would multiply it by zero."""
    roots, same = jacobian(lambda x: (x.sqrt(), x * 1.0), tensor([0.0, 4.0]))
    np.testing.assert_array_equal(roots.numpy(), [[np.inf, 0.0], [np.nan, 0.25]])
    np.testing.assert_array_equal(same.numpy(), np.eye(2))


def test_a_row_is_a_backward_with_its_hooks() -> None:
    rows: list[list[float]] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2.0
        y.register_hook(lambda grad: rows.append(grad.tolist()))
        y.register_hook(lambda grad: grad * 10.0)
        return y * y

    found = jacobian(function, tensor([1.0, 3.0]))
    np.testing.assert_array_equal(found.numpy(), [[80.0, 0.0], [0.0, 240.0]])
    assert rows == [[4.0, 0.0], [0.0, 12.0]]


def test_an_error_in_a_row_is_raised_and_leaves_no_trace() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2.0
        y.register_hook(lambda grad: 1 / 0)
        return y * x

    with pytest.raises(ZeroDivisionError):
        jacobian(function, tensor(X))
    np.testing.assert_allclose(jacobian(sines, tensor(X)).numpy(), SINES_JACOBIAN)


def test_results_own_their_memory() -> None:
    """Writing to one block of a result changes neither another one nor what was given."""
    x = tensor(X)
    for options in ({}, {"vectorize": True}, {"create_graph": True}):
        first, second = jacobian(lambda a, b: a + b, (x, x), **options)
        with torch.no_grad():
            first.mul_(0.0)
        np.testing.assert_array_equal(second.detach().numpy(), np.eye(3))
    np.testing.assert_array_equal(x.numpy(), X)


def test_strict() -> None:
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        jacobian(lambda a, b: a * 2.0, (tensor(X), tensor(X)), strict=True)
    # The input is named, also where it is not the first one.
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function is independent of input 1"):
        jacobian(lambda a, b: a * a + b, (tensor(X), tensor(X)), strict=True, create_graph=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect to input 0"):
        hessian(lambda a: a.sum(), tensor(X), strict=True)


def test_no_inputs_and_no_outputs() -> None:
    assert jacobian(lambda: tensor(X), ()) == ()
    assert jacobian(lambda x: (), tensor(X)) == ()
    out, product = jvp(lambda: tensor(X), (), ())
    np.testing.assert_array_equal(out.numpy(), X)
    np.testing.assert_array_equal(product.numpy(), 0 * X)


def test_it_is_exported() -> None:
    assert torch.autograd.functional is functional
    assert set(functional.__all__) == {"hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"}


# -- batches of gradients, and the repeated backward under them


def test_batch_of_gradients() -> None:
    x, unused = tensor(X, requires_grad=True), tensor(X, requires_grad=True)
    batch = tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    found, nothing = torch.autograd.grad(sines(x), (x, unused), batch, allow_unused=True, is_grads_batched=True)
    np.testing.assert_allclose(found.numpy(), batch.numpy() @ SINES_JACOBIAN)
    assert nothing is None


def test_batch_keeps_the_graph_only_if_asked() -> None:
    x = tensor(X, requires_grad=True)
    y = sines(x)
    for keep in (True, False):
        torch.autograd.grad(y, x, torch.eye(2, dtype=torch.float64), retain_graph=keep, is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)


def test_batch_that_does_not_fit() -> None:
    x = tensor(X, requires_grad=True)
    sizes = r"gradwright.Size\(\[3\]\) and output\[0\] has a shape of gradwright.Size\(\[2\]\)"
    message = rf"grad_output\[0\] has a shape of {sizes}"
    with pytest.raises(RuntimeError, match=message):
        torch.autograd.grad(sines(x), x, tensor(np.eye(3)), is_grads_batched=True)
    with pytest.raises(ValueError, match=r"got sizes \[2, 3\]"):
        torch.autograd.grad((sines(x), x * x), x, (tensor(np.eye(2)), tensor(np.eye(3))), is_grads_batched=True)
    with pytest.raises(ValueError, match=r"grad_outputs\[1\] is None"):
        torch.autograd.grad((sines(x), x.sum()), x, (tensor(np.eye(2)), None), is_grads_batched=True)


def test_repeated_backward() -> None:
    """Leaves met several times, Nodes with several outputs, inputs that are no leaves, sums of gradients."""
    x, unused = tensor(X, requires_grad=True), tensor(X, requires_grad=True)
    middle = x * x
    first, second, third = (middle * x + x).unbind(0)
    out = torch.stack([first * second, second, second * third + x[0]])
    wanted = (x, middle, unused)
    again = engine.Repeated([out], wanted, create_graph=False)
    for values in ([1.0, 0.0, 0.0], [0.5, -2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]):
        start = tensor(values)
        expected = torch.autograd.grad(out, wanted, start, retain_graph=True, allow_unused=True)
        found = again([start])
        assert found[2] is None
        for a, b in zip(found[:2], expected[:2], strict=True):
            assert a is not None
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_repeated_backward_writes_to_no_gradient_that_it_was_given() -> None:
    """What one run may write, the sums it made itself, the next may not."""
    x = tensor(X, requires_grad=True)
    first = x.unbind(0)[0]
    again = engine.Repeated([first + first], [x], create_graph=False)
    for _ in range(3):
        start = tensor(1.0)
        (found,) = again([start])
        assert found is not None
        assert found.tolist() == [2.0, 0.0, 0.0]
        assert start.item() == 1.0


def test_repeated_backward_runs_hooks_in_the_same_order() -> None:
    """A leaf is finished with its last use, before Nodes that it has no part in: in every run."""
    x, late = tensor(X, requires_grad=True), tensor(X, requires_grad=True)
    log: list[str] = []
    early = x * x
    assert early.grad_fn is not None
    early.grad_fn.register_hook(lambda grads, starts: log.append("early"))
    late.register_hook(lambda grad: log.append("late"))
    again = engine.Repeated([early * late], [x, late], create_graph=False)
    for _ in range(3):
        log.clear()
        again([tensor(X)])
        assert log == ["late", "early"]
