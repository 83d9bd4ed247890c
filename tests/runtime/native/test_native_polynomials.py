"""Orthogonal polynomials in the core: as the kernels in Python have them, orders of all kinds beside each other."""

from __future__ import annotations

import numpy as np
import pytest

import gradwright as torch
from runtime.operators.kernels import polynomials
from support.native_core import needs_core

pytestmark = needs_core

NAMES = sorted(name for name in vars(polynomials) if name.startswith("special_"))


@np.errstate(all="ignore")  # as kernels are called
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_orders_beside_each_other(name: str, dtype: str) -> None:
    random = np.random.default_rng(0)
    x = random.uniform(-1.2, 1.2, 1000).astype(dtype)
    x[:7] = [-1, 1, 0, np.nan, np.inf, 0.5, -np.inf]
    n = random.integers(-2, 5, 1000).astype(dtype)
    n[500:] = random.integers(0, 80, 500)
    n[:10] = [7, 80, 600, 3, 4, np.nan, np.inf, -0.5, 2.9, 1e20]
    wanted = getattr(polynomials, name)(x, n)
    found = getattr(torch.special, name.removeprefix("special_"))(torch.from_numpy(x), torch.from_numpy(n)).numpy()
    tolerance = 1e-6 if dtype == "f4" else 1e-12  # angles are of different libraries, and are multiplied by the order
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_number_beside_an_array(name: str) -> None:
    function = getattr(torch.special, name.removeprefix("special_"))
    x, n = torch.linspace(-1, 1, 300), torch.arange(300.0)
    assert torch.equal(function(x, 4), function(x, torch.full_like(x, 4)))
    assert torch.equal(function(x[::2].expand(2, 150), 3), function(x[::2], 3).expand(2, 150))
    torch.testing.assert_close(function(0.5, n), function(torch.full_like(x, 0.5), n), equal_nan=True)
