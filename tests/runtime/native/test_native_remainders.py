"""Remainders and whole quotients as native loops, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import arithmetic
from support.native_core import needs_core

pytestmark = needs_core

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 1e-45, 1e30, -1e30, np.inf, -np.inf, np.nan, 2.0**24, 2.0**53)


def pairs(dtype: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Special numbers with each other; quotients near whole numbers, and of few to very many digits."""
    rng = np.random.default_rng(0)
    grid = np.array([(a, b) for a in SPECIAL for b in SPECIAL]).astype(dtype)
    divisors = np.exp(rng.uniform(-20, 20, 4000)).astype(dtype) * rng.choice([-1, 1], 4000).astype(dtype)
    whole = rng.integers(-1000, 1000, 4000).astype(dtype)
    near = np.nextafter(divisors * whole, rng.normal(size=4000).astype(dtype) * np.inf, dtype=dtype)
    far = (np.exp(rng.uniform(-60, 60, 4000)) * rng.choice([-1, 1], 4000)).astype(dtype)
    above, below = np.concatenate([grid[:, 0], divisors * whole, near, far]), [grid[:, 1], divisors, divisors, divisors]
    return above, np.concatenate(below)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
@pytest.mark.filterwarnings("ignore")
def test_they_are_numpys(name: str, dtype: str) -> None:
    kernel: Callable[..., npt.NDArray[Any]] = getattr(arithmetic, name)
    a, b = pairs(dtype)
    cases = [(a, b), (a[::3], b[::3]), (np.broadcast_to(a[:50, None], (50, 40)), b[:40]), (a, b[7:8])]
    for one, other in cases:
        found, expected = getattr(ops, name)(wrap(one), wrap(other))._array, kernel(one, other)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_they_are_native(name: str) -> None:
    x = wrap(np.array([1.5, -2.5], np.float32))
    for other in (x, 0.5):
        explained = native.explain(lambda other=other: getattr(ops, name)(x, other))
        assert [record.kernel for record in explained.records] == ["native loop"]
    if name != "floor_divide":
        whole = wrap(np.array([7, -7]))
        assert getattr(ops, name)(whole, 4).tolist() == ([3, -3] if name == "fmod" else [3, 1])
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            getattr(ops, name)(whole, 0)
