"""Upsampling as native loops, against the Python kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import upsampling
from support.native_core import needs_core

pytestmark = needs_core

# Whether corners may be aligned.
METHODS = {
    "upsample_nearest1d": False,
    "_upsample_nearest_exact1d": False,
    "upsample_linear1d": True,
    "upsample_nearest2d": False,
    "_upsample_nearest_exact2d": False,
    "upsample_bilinear2d": True,
    "upsample_bicubic2d": True,
}
# Sizes of the input and of the result, and factors.
RESIZED: list[tuple[Any, ...]] = [
    ((4, 5), (8, 10), (None, None)),
    ((4, 5), (8, 10), (2.0, 2.0)),
    ((4, 5), (8, 10), (2, 2)),
    ((6, 9), (7, 4), (None, 0.5)),
    ((6, 9), (8, 6), (1.4, 0.7)),
    ((1, 7), (5, 1), (None, None)),
    ((5, 3), (5, 3), (None, None)),
    ((7, 8), (3, 50), (-1.0, 6.3)),
]


def calls(name: str) -> list[tuple[Any, ...]]:
    """The sizes and what comes after them, for each operator."""
    found = []
    for size, count, scales in RESIZED:
        dims = 1 if name.endswith("1d") else 2
        for align in (False, True) if METHODS[name] else (None,):
            rest = (*(() if align is None else (align,)), *scales[-dims:])
            found.append((size[-dims:], count[-dims:], rest))
    return found


def equal(found: Any, expected: Any) -> None:
    array = found._array
    assert (array.dtype, array.shape, array.flags.c_contiguous) == (expected.dtype, expected.shape, True)
    np.testing.assert_array_equal(array, expected)


@np.errstate(invalid="ignore")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", METHODS)
def test_elements(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for size, count, rest in calls(name):
        x = rng.normal(size=(2, 3, *size)).astype(dtype)
        odd = x.copy()
        odd[rng.random(x.shape) < 0.1] = np.nan
        odd[rng.random(x.shape) < 0.1] = np.inf
        for images in (x, odd, np.asfortranarray(x), np.repeat(x, 2, 0)[::2]):
            expected = getattr(upsampling, name)(images, list(count), *rest)
            equal(getattr(ops, name)(wrap(images), list(count), *rest), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [f"{name}_backward" for name in METHODS])
def test_gradients(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for size, count, rest in calls(name.removesuffix("_backward")):
        shape = (2, 3, *size)
        grad = rng.normal(size=(2, 3, *count)).astype(dtype)
        for given in (grad, np.asfortranarray(grad)):
            expected = getattr(upsampling, name)(given, list(count), list(shape), *rest)
            found = getattr(ops, name)(wrap(given), list(count), list(shape), *rest)
            if max(c / s for s, c in zip(size, count, strict=True)) < 4:
                equal(found, expected)  # to the last bit
            else:  # sums of many elements, which NumPy adds in pairs
                tolerance = 1e-6 if dtype == "f4" else 1e-14
                np.testing.assert_allclose(found._array, expected, tolerance, tolerance * 10)


@pytest.mark.parametrize("name", METHODS)
def test_they_are_native(name: str) -> None:
    size, count, rest = calls(name)[0]
    x, grad = wrap(np.ones((2, 3, *size), np.float32)), wrap(np.ones((2, 3, *count), np.float32))
    up, back = getattr(ops, name), getattr(ops, f"{name}_backward")
    for call in (lambda: up(x, list(count), *rest), lambda: back(grad, list(count), [2, 3, *size], *rest)):
        assert [record.kernel for record in native.explain(call).records] == ["native loop"]


def test_many_planes_and_wide_rows() -> None:
    rng = np.random.default_rng(0)
    for shape, count in (((4, 50, 20, 20), [40, 41]), ((1, 2, 3, 5000), [2, 7000])):
        x = rng.normal(size=shape).astype(np.float32)
        expected = upsampling.upsample_bilinear2d(x, count, False, None, None)
        equal(ops.upsample_bilinear2d(wrap(x), count, False), expected)
        grad = rng.normal(size=expected.shape).astype(np.float32)
        arguments = (count, list(shape), False)
        found = ops.upsample_bilinear2d_backward(wrap(grad), *arguments)
        equal(found, upsampling.upsample_bilinear2d_backward(grad, *arguments, None, None))


def test_what_the_loops_do_not_take() -> None:
    nothing = np.zeros((0, 2, 5, 5), np.float32)
    equal(ops.upsample_nearest2d(wrap(nothing), [8, 8]), upsampling.upsample_nearest2d(nothing, [8, 8], None, None))
    numbers = np.arange(18, dtype=np.uint8).reshape(1, 2, 3, 3)
    equal(ops.upsample_nearest2d(wrap(numbers), [8, 8]), upsampling.upsample_nearest2d(numbers, [8, 8], None, None))
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32)
    for factor in (1e-9, 1e9, float("inf")):
        arguments = ([4, 4], False, factor, 2.0)
        equal(ops.upsample_bilinear2d(wrap(x), *arguments), upsampling.upsample_bilinear2d(x, *arguments))


def test_what_is_wrong_is_said() -> None:
    x = wrap(np.ones((1, 2, 3, 4), np.float32))
    for count in ([0, 4], [4, -1]):
        with pytest.raises(RuntimeError, match="expected a non-empty 4D input and sizes greater than 0"):
            ops.upsample_bilinear2d(x, count, False)
    with pytest.raises(RuntimeError, match="expected a non-empty 4D input"):
        ops.upsample_nearest2d(wrap(np.ones((2, 3, 4), np.float32)), [4, 4])
    with pytest.raises(RuntimeError, match="Expected grad_output to have the shape"):
        ops.upsample_nearest2d_backward(x, [4, 4], [1, 2, 3, 4])
