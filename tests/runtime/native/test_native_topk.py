"""topk as a native loop: values, places and layouts of the Python kernel, with its order of equal elements and NaN."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gradwright
from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import ordering
from support.native_core import needs_core

pytestmark = needs_core

Array = NDArray[Any]
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0)


def few_values(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Array:
    """Many equal elements, and what has no order."""
    count = int(np.prod(shape))
    if np.dtype(dtype).kind in "iub":
        return np.array([rng.choice([0, 1, 1, 2, 100]) for _ in range(count)], dtype).reshape(shape)
    return np.array([rng.choice([*SPECIAL, rng.random()]) for _ in range(count)], dtype).reshape(shape)


def check(array: Array, k: int, dim: int, largest: bool) -> None:
    values, places = ops.topk(wrap(array), k, dim, largest)
    for found, expected in zip((values, places), ordering.topk(array, k, dim, largest), strict=True):
        assert (found._array.dtype, found._array.shape) == (expected.dtype, expected.shape)
        assert found.stride() == wrap(expected).stride()
        assert found._array.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4", "u1", "f2", ">f4"])
def test_as_the_python_kernel(dtype: str) -> None:
    rng = random.Random(dtype)
    for shape in [(1,), (9,), (40,), (300,), (3, 7), (1, 5), (5, 1), (2, 9, 3), (0, 4), (2, 0), (2, 3, 4, 5)]:
        for dim, largest in itertools.product(range(-len(shape), len(shape)), (True, False)):
            array = few_values(rng, shape, dtype)
            for form in (array, array.T, np.repeat(array, 2, -1)[..., ::2]):
                size = form.shape[dim]
                for k in {0, 1, 2, 5, 31, 32, 33, size - 1, size} & set(range(size + 1)):
                    check(form, k, dim, largest)


@pytest.mark.parametrize("threads", [1, 3])
def test_large(threads: int) -> None:
    rng = random.Random(threads)
    before = gradwright.get_num_threads()
    gradwright.set_num_threads(threads)
    try:
        for shape, dim in [((300, 400), 1), ((300, 400), 0), ((60_001,), 0), ((2, 9000, 5), 1)]:
            check(few_values(rng, shape, "f4"), 7, dim, True)
            check(np.random.default_rng(0).normal(size=shape), 20, dim, False)
    finally:
        gradwright.set_num_threads(before)


def test_errors_are_pythons() -> None:
    x = gradwright.ones(2, 3)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(4)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(-1)
    with pytest.raises(IndexError):
        x.topk(1, 2)
    assert gradwright.tensor(3.0).topk(1).indices.item() == 0


def test_it_is_native_with_a_gradient() -> None:
    x = gradwright.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
    explained = native.explain(lambda: x.topk(2))
    assert [(call.name, call.kernel) for call in explained.records] == [("topk", "native loop")]
    assert explained.result.indices.tolist() == [[0, 2]]
    explained.result.values.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 1.0]]
