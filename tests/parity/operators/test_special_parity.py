"""The functions of `torch.special`, and where PyTorch's are wrong, the mathematics."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import gradwright
from support.operator_comparison import OF_OUR_FORMULAS, ON_PYTORCHS_FORMULAS

inf, nan = math.inf, math.nan


def float64(*numbers: float) -> gradwright.Tensor:
    return gradwright.tensor(list(numbers), dtype=gradwright.float64)


def test_the_tails_of_the_normal_distribution() -> None:
    at = (-7.0, -10.0, -37.0)
    wanted = [math.erfc(-x / math.sqrt(2)) / 2 for x in at]
    np.testing.assert_allclose(gradwright.special.ndtr(float64(*at)).numpy(), wanted, rtol=1e-12)
    assert torch.special.ndtr(torch.tensor(-10.0, dtype=torch.float64)).item() == 0


@OF_OUR_FORMULAS
def test_the_slope_of_the_logarithm_of_a_tail() -> None:
    x = float64(-1e3, -1e6).requires_grad_()
    gradwright.special.log_ndtr(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [1e3 + 1e-3 - 2e-9, 1e6 + 1e-6], rtol=1e-14)


def test_nan_is_no_order() -> None:
    a, x = float64(nan, nan, inf), float64(0, inf, nan)
    for function in (gradwright.igamma, gradwright.igammac, gradwright.special.gammainc, gradwright.special.gammaincc):
        assert function(a, x).isnan().all()


def test_zeta_goes_to_zero() -> None:
    q = [1e2, 1e5, 1e8]
    found = gradwright.special.zeta(2.0, float64(*q, inf)).numpy()
    assert all(1 / each < value < 2 / each for each, value in zip(q, found, strict=False))
    assert found[-1] == 0


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
def test_second_derivatives_of_bessel_functions_near_zero(name: str) -> None:
    """PyTorch divides what is left of 1/2 - 1/2 by x; the second derivatives are even or odd series in x."""
    x = float64(1e-8, -1e-8, 1e-3).requires_grad_()
    function = getattr(gradwright.special, name)
    (first,) = gradwright.autograd.grad(function(x).sum(), x, create_graph=True)
    (second,) = gradwright.autograd.grad(first.sum(), x)
    t = x.detach().numpy()
    size, sign = np.abs(t), np.sign(t)
    wanted = {
        "i0": 1 / 2 + 3 * t**2 / 16,
        "i1": 3 * t / 8 + 5 * t**3 / 96,
        "i0e": 3 / 2 - 5 * size / 2 + 35 * t**2 / 16,
        "i1e": -sign + 15 * t / 8 - 7 * sign * t**2 / 4,
    }[name]
    np.testing.assert_allclose(second.numpy(), wanted, rtol=1e-6, atol=1e-12)


def test_frexp_takes_powers_apart() -> None:
    numbers = [0.0, -0.0, 1.0, -3.0, 1e300, 5e-324, inf, nan]
    mantissa, exponent = gradwright.frexp(float64(*numbers))
    theirs = torch.frexp(torch.tensor(numbers, dtype=torch.float64))
    np.testing.assert_array_equal(mantissa.numpy(), theirs.mantissa.numpy())
    np.testing.assert_array_equal(exponent.numpy()[:6], theirs.exponent.numpy()[:6])  # the last two have none
    assert exponent.dtype == gradwright.int32


@OF_OUR_FORMULAS
def test_frexp_has_a_gradient_where_powers_of_two_overflow() -> None:
    x = float64(3e300, 3e-300).requires_grad_()
    gradwright.frexp(x).mantissa.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [2.0**-999, 2.0**994])


@pytest.mark.parametrize("p", [0, -1])
def test_a_gamma_function_has_dimensions(p: int) -> None:
    for library in (torch, gradwright):
        with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
            library.mvlgamma(library.ones(2), p)


def test_the_namespace_is_pytorchs() -> None:
    theirs = set(torch.special.__all__)
    assert theirs <= set(dir(gradwright.special))


def bessel(order: int, x: float) -> float:
    """J of an order, by its integral: the trapezoidal rule for a periodic function has all digits at once."""
    angles = np.linspace(0, 2 * math.pi, 200, endpoint=False)
    return float(np.cos(order * angles - x * np.sin(angles)).mean())


def test_bessel_functions_have_all_digits() -> None:
    at = np.linspace(0.25, 20, 80)
    x = gradwright.from_numpy(at)
    j0, j1 = gradwright.special.bessel_j0(x).numpy(), gradwright.special.bessel_j1(x).numpy()
    np.testing.assert_allclose(j0, [bessel(0, each) for each in at], rtol=0, atol=2e-15)
    np.testing.assert_allclose(j1, [bessel(1, each) for each in at], rtol=0, atol=2e-15)
    assert abs(torch.special.bessel_j0(torch.tensor(5.5, dtype=torch.float64)).item() - bessel(0, 5.5)) > 1e-7
    y0, y1 = gradwright.special.bessel_y0(x).numpy(), gradwright.special.bessel_y1(x).numpy()
    np.testing.assert_allclose(j1 * y0 - j0 * y1, 2 / (math.pi * at), rtol=1e-13)  # their Wronskian


@pytest.mark.parametrize("name", ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"])
def test_bessel_functions_are_near_those_of_pytorch(name: str) -> None:
    numbers = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, -2.5, 4.0, -8.0, 30.0, 1e3, -1e3, -2e5, 2e5]
    found = getattr(gradwright.special, name)(float64(*numbers)).numpy()
    wanted = getattr(torch.special, name)(torch.tensor(numbers, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-7)


def test_airys_function_solves_its_equation() -> None:
    """Ai'' = x Ai, by differences; also where two ways to compute it meet."""
    h = 1e-3
    for start in (-8.0, -2.1, -0.5, 1.0):
        low, middle, high = gradwright.special.airy_ai(float64(start - h, start, start + h)).tolist()
        assert (low - 2 * middle + high) / h**2 == pytest.approx(start * middle, rel=1e-5)
    beside = gradwright.special.airy_ai(float64(-1e5 * (1 - 1e-15), -1e5 * (1 + 1e-15))).tolist()
    assert beside[0] == pytest.approx(beside[1], abs=1e-8)
    assert gradwright.special.airy_ai(float64(1e10)).item() == 0


POLYNOMIALS = [name for name in dir(torch.special) if "_polynomial_" in name]
ORDERS = [-1.0, -0.5, 0.0, 1.0, 2.0, 3.0, 5.9, 7.0, 8.0, 13.0, 40.0, 100.0, 600.0, nan, inf]
PLACES = [0.0, -0.0, 0.25, 0.5, -0.7, 0.999, 1.0, -1.0, 1.5, -3.0, 1e10, inf, -inf]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_all_orders(name: str) -> None:
    x, n = (each.ravel() for each in np.meshgrid(PLACES, ORDERS))
    ours, theirs = getattr(gradwright.special, name), getattr(torch.special, name)
    found = ours(gradwright.from_numpy(x), gradwright.from_numpy(n)).numpy()
    wanted = theirs(torch.from_numpy(x), torch.from_numpy(n)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    for number in (0.25, 1.5):
        found = ours(number, gradwright.from_numpy(n)).numpy()
        np.testing.assert_allclose(found, theirs(number, torch.from_numpy(n)).numpy(), rtol=1e-9, atol=1e-9)
    for order in (3, 8):
        found = ours(gradwright.from_numpy(x), order).numpy()
        np.testing.assert_allclose(found, theirs(torch.from_numpy(x), order).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_nan_are_nan(name: str) -> None:
    function = getattr(gradwright.special, name)
    assert function(float64(nan, 2.0, nan), 3).isnan().tolist() == [True, False, True]
    assert function(float64(nan), 0).tolist() == [1.0]


@pytest.mark.parametrize("name", [*POLYNOMIALS, "airy_ai", "bessel_j0", "modified_bessel_k1", "spherical_bessel_j0"])
def test_they_have_no_gradient(name: str) -> None:
    more = [2] if "polynomial" in name else []
    for library in (torch, gradwright):
        x = library.tensor([0.5], requires_grad=True)
        assert not getattr(library.special, name)(x, *more).requires_grad


@pytest.mark.skipif(ON_PYTORCHS_FORMULAS, reason="its Node keeps what was written there, a known fault")
def test_polygamma_in_place() -> None:
    for library in (torch, gradwright):
        x = library.tensor([0.5, 2.0], dtype=library.float64, requires_grad=True)
        y = x.clone()
        assert y.polygamma_(1) is y
        y.sum().backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), [-16.8287966442344, -0.4041138063191886], rtol=1e-7)
        with pytest.raises((RuntimeError, NotImplementedError)):
            library.tensor([1, 2]).polygamma_(1)
