"""Orthogonal polynomials of many places and orders, against NumPy's series of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import polynomial

import gradwright as torch

SERIES: dict[str, Callable[..., Any]] = {
    "chebyshev_polynomial_t": polynomial.chebyshev.chebval,
    "hermite_polynomial_h": polynomial.hermite.hermval,
    "hermite_polynomial_he": polynomial.hermite_e.hermeval,
    "laguerre_polynomial_l": polynomial.laguerre.lagval,
    "legendre_polynomial_p": polynomial.legendre.legval,
}


def one(order: int) -> list[float]:
    return [0.0] * order + [1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SERIES)
def test_polynomials_of_many_places(name: str, dtype: Any) -> None:
    function, series = getattr(torch.special, name), SERIES[name]
    x = torch.linspace(-1.5, 1.5, 20001, dtype=dtype)
    tolerance = 1e3 * torch.finfo(dtype).eps
    for order in (0, 1, 2, 5, 12):
        wanted = series(x.double().numpy(), one(order))
        np.testing.assert_allclose(
            function(x, order).numpy(), wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max()
        )
        np.testing.assert_array_equal(
            function(x[:400].reshape(20, 20).T, order), function(x[:400], order).reshape(20, 20).T
        )
    orders = torch.arange(20001) % 9 - 1
    found = function(x, orders.to(dtype))
    for order in range(9):
        np.testing.assert_array_equal(found[orders == order], function(x[orders == order], order))
    assert not bool(found[orders == -1].any())


@pytest.mark.parametrize("name", [*SERIES, "chebyshev_polynomial_u", "shifted_chebyshev_polynomial_w"])
def test_polynomials_of_what_is_no_number(name: str) -> None:
    function = getattr(torch.special, name)
    x = torch.tensor([torch.nan, 0.5, 3.0])
    assert function(x, 10**6)[0].isnan().item()
    assert function(x, torch.tensor([3.0, torch.nan, -2.0])).tolist()[1:] == [0, 0]
    assert function(x[:0], 3).tolist() == []
