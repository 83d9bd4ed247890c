"""Complex numbers: gradients of complex arguments, and values where digits are easily lost."""

from __future__ import annotations

import cmath
import math

import mpmath
import numpy as np
import pytest

import gradwright
from gradwright.autograd import gradcheck, gradgradcheck

Z = gradwright.complex128


def complex_tensor(*values: complex, requires_grad: bool = False) -> gradwright.Tensor:
    return gradwright.tensor(values, dtype=Z, requires_grad=requires_grad)


def test_gradients_of_ldexp_are_conjugated() -> None:
    x = complex_tensor(1 + 2j, -0.5j, requires_grad=True)
    y = complex_tensor(0.3 - 1j, 2 + 0.5j, requires_grad=True)
    assert gradcheck(gradwright.ldexp, (x, y))
    assert gradgradcheck(gradwright.ldexp, (x, y))


def test_powers_of_a_negative_number_with_a_complex_exponent() -> None:
    exponent = complex_tensor(1 + 1j, -0.5j, 2, requires_grad=True)
    for base in (
        gradwright.tensor([-2.0, -0.5, -3.0], dtype=gradwright.float64, requires_grad=True),
        -2.0,
        -2,
        -1 + 0.5j,
    ):
        powers = gradwright.pow(base, exponent)
        bases = base.tolist() if isinstance(base, gradwright.Tensor) else [base] * 3
        wanted = [cmath.exp(e * cmath.log(b)) for b, e in zip(bases, exponent.tolist(), strict=True)]
        np.testing.assert_allclose(powers.tolist(), wanted, rtol=1e-13)
        assert gradcheck(lambda e, base=base: gradwright.pow(base, e), (exponent,))
        if isinstance(base, gradwright.Tensor):
            assert gradcheck(gradwright.pow, (base, exponent))
            assert gradgradcheck(gradwright.pow, (base, exponent))


def test_powers_of_a_negative_number_have_tangents_for_a_complex_exponent() -> None:
    base = gradwright.tensor([-2.0], dtype=gradwright.float64)
    exponent = complex_tensor(0.5 + 1j)
    one = gradwright.ones_like(exponent)
    value, tangent = gradwright.func.jvp(lambda e: gradwright.pow(base, e), (exponent,), (one,))
    np.testing.assert_allclose(tangent.tolist(), [value.item() * cmath.log(-2.0)], rtol=1e-13)


@pytest.mark.parametrize(
    "z",
    [
        1e-19 + 1e-18j,
        -1e-12 + 3e-12j,
        1e-200j,
        -0.5 + math.sqrt(0.75) * 1j,
        -2 + 1e-9j,
        -1 + 1j,
        1e300 + 1e300j,
        3 - 4j,
    ],
)
@pytest.mark.parametrize("dtype", [gradwright.complex64, gradwright.complex128])
def test_log1p_keeps_both_parts(z: complex, dtype: gradwright.dtype) -> None:
    given = gradwright.tensor(z, dtype=dtype)
    with mpmath.workdps(60):
        wanted = mpmath.log(1 + mpmath.mpc(given.item()))
    found = given.log1p().item()
    close = 1e-5 if dtype is gradwright.complex64 else 1e-13
    for part, exact in ((found.real, wanted.real), (found.imag, wanted.imag)):
        if abs(exact) > gradwright.finfo(dtype).tiny and abs(exact) < gradwright.finfo(dtype).max:
            assert part == pytest.approx(float(exact), rel=close)


def test_log1p_of_infinities() -> None:
    inf = math.inf
    values = complex_tensor(complex(inf, 0), complex(-inf, 0), complex(0, inf), complex(math.nan, 1)).log1p().tolist()
    assert values[:3] == [complex(inf, 0), complex(inf, math.pi), complex(inf, math.pi / 2)]
    assert cmath.isnan(values[3])


def test_logaddexp_of_complex_numbers() -> None:
    x = complex_tensor(1 + 2j, -3, 700 + 1j, -40 + 3j, requires_grad=True)
    y = complex_tensor(0.3 - 1j, 2j, 701 - 1j, 1e-3, requires_grad=True)
    found = gradwright.logaddexp(x, y)
    wanted = [cmath.log(cmath.exp(a) + cmath.exp(b)) for a, b in zip(x.tolist()[:2], y.tolist()[:2], strict=True)]
    np.testing.assert_allclose(found.tolist()[:2], wanted, rtol=1e-13)
    np.testing.assert_allclose(found[2].item(), 701 - 1j + cmath.log(1 + cmath.exp(-1 + 2j)), rtol=1e-13)
    assert gradcheck(gradwright.logaddexp, (x, y))
    assert gradgradcheck(gradwright.logaddexp, (x, y))


def test_logaddexp_of_infinite_complex_numbers() -> None:
    inf = math.inf
    x = complex_tensor(complex(-inf, 1), complex(-inf, 0), complex(inf, 0), complex(inf, 0))
    y = complex_tensor(complex(-inf, 2), 5, 3j, complex(0, math.nan))
    first, second, third, fourth = gradwright.logaddexp(x, y).tolist()
    assert first.real == -inf
    assert second == 5
    assert third.real == inf
    assert cmath.isnan(fourth)


def test_logcumsumexp_of_complex_numbers() -> None:
    x = complex_tensor(1 + 2j, -3, 0.5 - 1j, 2j, requires_grad=True)
    found = gradwright.logcumsumexp(x, 0)
    np.testing.assert_allclose(np.exp(found.detach().numpy()), np.cumsum(np.exp(x.detach().numpy())), rtol=1e-13)
    assert gradcheck(lambda x: gradwright.logcumsumexp(x, 0), (x,))
    large = gradwright.tensor([[800 + 1j, 800.0], [801, 799j]], dtype=Z)
    assert gradwright.isfinite(gradwright.logcumsumexp(large, 1)).all()


def test_dropout_of_complex_numbers_keeps_both_parts() -> None:
    z = gradwright.ones(200, dtype=Z) * (1 + 2j)
    kept = gradwright.nn.functional.dropout(z, 0.5)
    assert set(kept.tolist()) == {0j, 2 + 4j}
