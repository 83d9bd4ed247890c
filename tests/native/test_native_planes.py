"""Depthwise convolutions and the gradients of batch normalization as native loops, against the Python kernels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from runtime import native, ops
from runtime.base.tensor import wrap
from runtime.kernels import batch_norm, convolution

pytestmark = pytest.mark.skipif(not native.is_available(), reason="the native core is not built, or switched off")

GEOMETRIES = [
    (sizes, kernel, stride, padding, dilation, each)
    for sizes, kernel in (((7,), (3,)), ((6, 9), (3, 3)), ((5, 20), (1, 4)), ((8, 3), (5, 3)))
    for stride, padding, dilation, each in ((1, 0, 1, 1), (1, 2, 1, 2), (2, 1, 1, 1), (1, 3, 2, 1), (3, 2, 1, 3))
    if all(size + 2 * padding > dilation * (width - 1) for size, width in zip(sizes, kernel, strict=True))
]


def close(found: Any, expected: Any, dtype: str) -> None:
    for one, other in zip(found, expected, strict=True):
        if other is None:
            assert one is None
            continue
        assert (one._array.dtype, one._array.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one._array, other, *((1e-5, 1e-5) if dtype == "f4" else (1e-12, 1e-12)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_depthwise_convolution(geometry: tuple[Any, ...], dtype: str) -> None:
    sizes, kernel, stride, padding, dilation, each = geometry
    rng = np.random.default_rng(0)
    dims, channels = len(sizes), 4
    x = rng.normal(size=(3, channels, *sizes)).astype(dtype)
    w = rng.normal(size=(channels * each, 1, *kernel)).astype(dtype)
    b = rng.normal(size=channels * each).astype(dtype)
    lists = [[number] * dims for number in (stride, padding, dilation)]
    rest = (False, [0] * dims, channels)
    for bias in (b, None):
        expected = convolution.convolution(x, w, bias, *lists, *rest)
        made = ops.convolution(wrap(x), wrap(w), None if bias is None else wrap(bias), *lists, *rest)
        close([made], [expected], dtype)
    grad = rng.normal(size=expected.shape).astype(dtype)
    for mask in itertools.product([True, False], repeat=3):
        arguments = ([len(b)], *lists, *rest, list(mask))
        close(
            ops.convolution_backward(wrap(grad), wrap(x), wrap(w), *arguments),
            convolution.convolution_backward(grad, x, w, *arguments),
            dtype,
        )


def test_what_is_not_finite_stays_in_its_windows() -> None:
    x = np.zeros((1, 2, 5, 5), np.float32)
    x[0, 0, 0, 4] = np.nan
    w = np.ones((2, 1, 3, 3), np.float32)
    arguments = ([1, 1], [1, 1], [1, 1], False, [0, 0], 2)
    missing = np.isnan(ops.convolution(wrap(x), wrap(w), None, *arguments)._array)
    assert missing.sum() == 4
    assert missing[0, 0, :2, 3:].all()
    # In a corner it meets four taps, and the gradients of the others are numbers.
    grad, mask = np.ones((1, 2, 5, 5), np.float32), [False, True, False]
    _, of_weight, _ = ops.convolution_backward(wrap(grad), wrap(x), wrap(w), None, *arguments, mask)
    assert np.isnan(of_weight._array[0, 0]).tolist() == [[False, True, True], [False, True, True], [False] * 3]
    assert np.isfinite(of_weight._array[1]).all()


def test_they_are_native() -> None:
    x, w = wrap(np.ones((1, 2, 5, 5), np.float32)), wrap(np.ones((2, 1, 3, 3), np.float32))
    explained = native.explain(lambda: ops.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2))
    assert [(call.name, call.kernel) for call in explained.records] == [("convolution", "native loop")]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("shape", [(3, 2, 17), (2, 3, 5, 7), (1, 40, 4, 4), (2, 2, 2, 3, 50)])
def test_gradients_of_batch_norm(shape: tuple[int, ...], train: bool, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, grad = (rng.normal(2, 1, size=shape).astype(dtype) for _ in range(2))
    numbers = [rng.uniform(0.5, 2, shape[1]).astype(dtype) for _ in range(3)]
    weight, mean, spread = numbers
    for factor, mask in itertools.product((weight, None), ([True] * 3, [True, False, False], [False, True, True])):
        running, saved = ((None, None), (mean, spread)) if train else ((mean, spread), (None, None))
        arrays = (grad, x, factor, *running, *saved)
        close(
            ops.native_batch_norm_backward(*(None if a is None else wrap(a) for a in arrays), train, 1e-5, mask),
            batch_norm.native_batch_norm_backward(*arrays, train, 1e-5, mask),
            dtype,
        )
