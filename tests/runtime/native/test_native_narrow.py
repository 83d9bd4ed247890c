"""Element-wise loops over rows of a few elements, of which the core takes many at once, against NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gradwright

Array = npt.NDArray[Any]
ROWS = (15, 16, 17, 400, 40_000)
WIDTHS = (1, 2, 3, 7, 16, 17)


def array(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype in ("c8", "c16"):
        return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
    return (random.normal(size=shape) * 50).astype(dtype)


def pairs(rows: int, width: int, dtype: str) -> Iterator[tuple[Array, Array]]:
    """Operands whose rows are short: of one that is broadcast, of parts, of what lies in another order."""
    x, wide = array((rows, width), dtype), array((rows, width + 2), dtype, 1)
    yield x, array((width,), dtype, 2)
    yield array((width,), dtype, 2), x
    yield x, array((rows, 1), dtype, 3)
    yield wide[:, :width], x
    yield wide[:, 2:], array((width,), dtype, 2)
    yield wide[:, width - 1 :: -1] if width > 1 else wide[:, :1], x
    yield wide[:, :1], array((1, width), dtype, 4)
    if rows < 1000:
        deep = array((3, rows, width), dtype, 5)
        yield deep, array((3, 1, width), dtype, 6)
        yield deep, array((rows, 1), dtype, 7)
        yield deep.swapaxes(0, 1), array((rows, 1, width), dtype, 8)
        yield deep[:, :, : width // 2 + 1], array((width // 2 + 1,), dtype, 9)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4", "i2", "u1", "c8", "c16"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", ROWS)
def test_products(rows: int, width: int, dtype: str) -> None:
    for one, other in pairs(rows, width, dtype):
        a, b = gradwright.from_numpy(one.copy() if one.strides[-1] < 0 else one), gradwright.from_numpy(other)
        for found, expected in ((a + b, one + other), (a * b, one * other), (a - 1, one - one.dtype.type(1))):
            assert found.numpy().dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("width", WIDTHS)
def test_comparisons_and_choices(width: int, dtype: str) -> None:
    for rows in ROWS[:4]:
        for one, other in pairs(rows, width, dtype):
            a, b = gradwright.from_numpy(one.copy() if one.strides[-1] < 0 else one), gradwright.from_numpy(other)
            np.testing.assert_array_equal((a > b).numpy(), one > other)
            np.testing.assert_array_equal(gradwright.where(a > b, a, b).numpy(), np.where(one > other, one, other))
            np.testing.assert_array_equal(a.clamp(-3, 5).numpy(), one.clip(-3, 5))


def test_results_lie_as_their_operands() -> None:
    deep = array((3, 40, 5), "f4")
    for one in (deep.swapaxes(0, 1), deep.transpose(2, 0, 1), deep.transpose(1, 2, 0)):
        found = gradwright.from_numpy(one) + gradwright.ones(one.shape[-1])
        np.testing.assert_array_equal(found.numpy(), one + 1)
        assert found.stride() == tuple(step // 4 for step in (one + np.ones(one.shape[-1], "f4")).strides)
