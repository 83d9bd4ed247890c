"""Sums, means and maxima over bags of rows as native loops, against the Python kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gradwright
from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels.embedding_bag import embedding_bag_of_rows
from support.native_core import needs_core

pytestmark = needs_core

OFFSETS = [[0], [0, 3, 3, 9], [0, 0, 12], [0, 1, 2, 3, 4]]


def kernels_of(*arguments: Any) -> list[str | None]:
    return [call.kernel for call in native.explain(ops._embedding_bag, *arguments).records]


def compare(weight: npt.NDArray[Any], indices: Any, offsets: Any, *rest: Any, own: bool = True) -> None:
    at, starts = np.array(indices, np.int64), np.array(offsets, np.int64)
    factors = rest[3] if len(rest) > 3 else None
    expected = embedding_bag_of_rows(weight, at, starts, *rest)
    given = [*rest[:3], None if factors is None else wrap(factors), *rest[4:]] if len(rest) > 3 else rest
    arguments = (wrap(weight), wrap(at), wrap(starts), *given)
    for found, other in zip(ops._embedding_bag(*arguments), expected, strict=True):
        assert (found._array.dtype, found._array.shape) == (other.dtype, other.shape)
        if other.dtype.kind == "i" or rest[1] == 2:
            np.testing.assert_array_equal(found._array, other)
        else:
            tolerance = 20 * float(np.finfo(other.dtype).eps)
            np.testing.assert_allclose(found._array, other, tolerance, tolerance)
    assert (kernels_of(*arguments) == ["native loop"]) == own


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_modes(mode: int, padding: int, offsets: list[int], dtype: str) -> None:
    rng = np.random.default_rng(0)
    weight = rng.integers(-3, 4, (5, 37)).astype(dtype)  # many maxima are there twice
    indices = rng.integers(0, 5, 12)
    compare(weight, indices, offsets, False, mode, False, None, False, padding)
    if len(offsets) > 1:
        compare(weight, indices, offsets, False, mode, False, None, True, padding)
    if mode == 0:
        compare(weight, indices, offsets, False, mode, False, rng.normal(size=12).astype(dtype), False, padding)


def test_bags_of_nothing() -> None:
    weight = np.ones((5, 3), np.float32)
    for mode in (0, 1, 2):
        compare(weight, [], [], False, mode)
        compare(weight, [], [0], False, mode, False, None, True)
        compare(weight, [], [0, 0], False, mode)
        compare(weight, [2, 2], [0, 1], False, mode, False, None, False, 2)


def test_what_is_not_finite() -> None:
    weight = np.array([[1.0, -np.inf], [np.inf, 2.0], [3.0, -np.inf]], np.float32)
    compare(weight, [0, 1, 2, 0, 2], [0, 3], False, 2)
    weight[1, 1] = np.nan  # the Python kernel knows where it is
    compare(weight, [0, 1, 2, 0, 2], [0, 3], False, 2, own=False)


def test_what_is_wrong_is_said() -> None:
    weight = wrap(np.ones((5, 3), np.float32))
    for indices, offsets in (([0, 7], [0]), ([0, -1], [0]), ([0, 1], [1]), ([0, 1], [0, 3]), ([0, 1, 2], [0, 2, 1])):
        with pytest.raises(RuntimeError, match=r"offsets|indices"):
            ops._embedding_bag(weight, wrap(np.array(indices)), wrap(np.array(offsets)))
    for offsets, has_end in (([], False), ([0], True)):
        with pytest.raises(RuntimeError, match="2 indices, but no bag"):
            ops._embedding_bag(
                weight, wrap(np.array([0, 1])), wrap(np.array(offsets, np.int64)), include_last_offset=has_end
            )


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    weight = gradwright.tensor(rng.normal(size=(100, 64)).astype("f4"))
    indices, offsets = gradwright.tensor(rng.integers(0, 100, 20000)), gradwright.arange(0, 20000, 37)
    before = gradwright.get_num_threads()
    found = []
    try:
        for threads in (1, 4):
            gradwright.set_num_threads(threads)
            found.append([ops._embedding_bag(weight, indices, offsets, False, mode)[0].numpy() for mode in range(3)])
    finally:
        gradwright.set_num_threads(before)
    np.testing.assert_array_equal(*found)
