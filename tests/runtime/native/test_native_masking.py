"""Masks that write a number as native loops, against the Python kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import masking
from support.native_core import needs_core

pytestmark = needs_core


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("value", [0, -1, 2**60, 1.5, 1e-50, 3.4e38, -math.inf, math.nan])
@pytest.mark.parametrize("shape", [(), (1,), (4, 5), (3, 1, 5), (2, 0, 5)], ids=str)
def test_masked_fill(shape: tuple[int, ...], value: float, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    masks = [rng.random(shape) < 0.5, np.array(True)]
    if x.size:
        masks += [rng.random((4, 5)) < 0.5, rng.random((5, 4)).T < 0.5]
    for mask in masks:
        for array in (x, x.copy("F")):
            found, expected = (
                ops.masked_fill(wrap(array), wrap(mask), value)._array,
                masking.masked_fill(x, mask, value),
            )
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found, expected)


def test_it_is_native() -> None:
    x, mask = wrap(np.ones((2, 3), np.float32)), wrap(np.array([True, False, True]))
    for value, kernel in ((0, "native loop"), (-math.inf, "native loop"), (2**60, "Python kernel")):
        explained = native.explain(lambda value=value: ops.masked_fill(x, mask, value))
        assert [record.kernel for record in explained.records] == [kernel]


def test_what_the_loop_does_not_take() -> None:
    mask = wrap(np.array([True, False]))
    single = wrap(np.ones(2, np.float32))
    for value in (1e300, -3.5e38):
        with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
            ops.masked_fill(single, mask, value)
    assert ops.masked_fill(wrap(np.ones(2)), mask, 1e300).tolist() == [1e300, 1.0]
    assert ops.masked_fill(wrap(np.arange(2)), mask, 7).tolist() == [7, 1]
    with pytest.raises(RuntimeError, match="only supports boolean masks"):
        ops.masked_fill(single, wrap(np.ones(2, np.uint8)), 0)
