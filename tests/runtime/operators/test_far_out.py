"""Values and derivatives far out, where what a formula is made of overflows or is nearly 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from gradwright import distributions as d
from gradwright.nn import functional as F

ZERO = torch.zeros((), dtype=torch.float64)


def derivatives(function: Callable[[Any], Any], at: float, dtype: Any = torch.float64) -> list[float]:
    """The first three, and the second as forward and reverse mode have it."""
    x = torch.tensor(at, dtype=dtype, requires_grad=True)
    found, value = [], function(x)
    for _ in range(3):
        (value,) = torch.autograd.grad(value, x, create_graph=True)
        found.append(value.item())
    for outer, inner in ((torch.func.jacfwd, torch.func.jacrev), (torch.func.jacrev, torch.func.jacfwd)):
        found.append(outer(inner(function))(x.detach()).item())
    return found


@pytest.mark.parametrize("far", [40.0, 300.0])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(
    ("function", "sign"),
    [
        (lambda x: torch.logaddexp(x, ZERO), 1),
        (lambda x: torch.logaddexp(ZERO, x), 1),
        (lambda x: torch.logaddexp2(x / math.log(2), ZERO) * math.log(2), 1),
        (F.logsigmoid, -1),
        (lambda x: F.binary_cross_entropy_with_logits(x, ZERO), 1),
    ],
    ids=["logaddexp", "logaddexp of the second", "logaddexp2", "logsigmoid", "binary_cross_entropy_with_logits"],
)
def test_second_derivatives_of_smooth_steps(function: Callable[[Any], Any], sign: int, side: int, far: float) -> None:
    _, second, third, forward, backward = derivatives(function, side * far)
    np.testing.assert_allclose([second, forward, backward], sign * math.exp(-far), rtol=1e-12)
    assert third == pytest.approx(-side * sign * math.exp(-far))


def test_second_derivative_of_softplus_below_its_threshold() -> None:
    _, second, _, forward, backward = derivatives(lambda x: F.softplus(x, 2.0, 90.0), 40.0)
    np.testing.assert_allclose([second, forward, backward], 2 * math.exp(-80), rtol=1e-12)
    assert derivatives(F.softplus, 21.0)[1:] == [0, 0, 0, 0]


@pytest.mark.parametrize("at", [5.0, 13.0, 20.0, 37.0])
def test_derivatives_of_log_ndtr_on_the_right(at: float) -> None:
    density = math.exp(-at * at / 2) / math.sqrt(2 * math.pi)
    first, second, _, forward, backward = derivatives(torch.special.log_ndtr, at)
    np.testing.assert_allclose(first, density, rtol=1e-6)
    np.testing.assert_allclose([second, forward, backward], -at * density, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_derivatives_of_log_ndtr_vanish_in_the_end(dtype: Any) -> None:
    for at in (20.0, 100.0, 1e8):
        assert all(abs(value) < 1e-80 for value in derivatives(torch.special.log_ndtr, at, dtype))
    first, second, *_ = derivatives(torch.special.log_ndtr, -1e3, dtype)
    assert first == pytest.approx(1000.001)
    assert math.isfinite(second)


@pytest.mark.parametrize(("dtype", "far"), [(torch.float32, (-100, 17, 100)), (torch.float64, (-100, 37, 100))])
def test_continuous_bernoulli_of_large_logits(dtype: Any, far: tuple[float, ...]) -> None:
    half = torch.tensor(0.5, dtype=dtype)
    for at in far:
        logits = torch.tensor(float(at), dtype=dtype, requires_grad=True)
        given = d.ContinuousBernoulli(logits=logits)
        values = [given.rsample(), given.log_prob(half), given.entropy(), given.mean, given.icdf(half)]
        values.append(torch.autograd.grad(given.log_prob(half), logits)[0])
        assert all(bool(torch.isfinite(value).all()) for value in values)
        assert 0 < given.probs.item() < 1


def test_a_query_that_sees_nothing_has_no_weights_and_no_influence() -> None:
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(2, 3, 4)
    hidden = torch.tensor([[True, True, True], [False, True, True], [False, False, True]])
    gradients = []
    for need_weights in (False, True):
        attention.zero_grad()
        out, weights = attention(x, x, x, attn_mask=hidden, need_weights=need_weights)
        out.sum().backward()
        assert bool(torch.isfinite(out).all())
        gradients.append(attention.in_proj_weight.grad.clone())
    assert weights[:, 0].tolist() == [[0, 0, 0]] * 2
    torch.testing.assert_close(weights[:, 1:].sum(-1), torch.ones(2, 2))
    torch.testing.assert_close(gradients[0], gradients[1])


def running_products(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The gradient of `cumprod`, from the products of all but one."""
    total = np.zeros(len(x))
    for k in range(len(x)):
        others = x.copy()
        others[k] = 1
        total[k] = (grad[k:] * np.cumprod(others)[k:]).sum()
    return total


@pytest.mark.parametrize("zeros", [[], [0], [3], [39], [3, 4], [0, 20, 39]])
@pytest.mark.parametrize("scale", [1.0, 1e-20])
def test_gradients_of_running_products(scale: float, zeros: list[int]) -> None:
    random = np.random.default_rng(len(zeros))
    x, grad = random.uniform(0.5, 1.5, 40), random.standard_normal(40)
    x[5:30] *= scale  # whose products are out of range
    x[zeros] = 0
    wanted = running_products(x, grad)
    given = torch.tensor(x, requires_grad=True)
    out = given.cumprod(0)
    (found,) = torch.autograd.grad(out, given, torch.tensor(grad), create_graph=True)
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-9, atol=0)
    direction = torch.tensor(random.standard_normal(40))
    moved = torch.func.jvp(lambda x: x.cumprod(0), (given.detach(),), (direction,))[1]
    np.testing.assert_allclose((moved * torch.tensor(grad)).sum().item(), (direction.numpy() * wanted).sum())


def test_products_between_zeros_may_overflow() -> None:
    x = torch.tensor([2.0, 0.0, 1e200, 1e200, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(x.cumprod(0).sum(), x)
    assert found.tolist()[0] == 1
    assert found.tolist()[1] > 1e300
    assert found.tolist()[2:] == [0, 0, 0, 0]


def test_running_products_with_zeros_are_differentiated_again() -> None:
    for values in ([0.0, 2.0, 3.0], [2.0, 0.0, 0.0, 3.0], [1e-200, 1e-200, 2.0]):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradgradcheck(lambda x: x.cumprod(0), (x,), atol=1e-4)
