"""Pooling as native loops, against the Python kernels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import pooling
from support.native_core import needs_core

pytestmark = needs_core

# kernel, stride, padding, dilation
WINDOWS: list[tuple[Any, ...]] = [
    ([2, 2], [], [0, 0], [1, 1]),
    ([3, 2], [1, 1], [1, 1], [1, 1]),
    ([3, 3], [2, 2], [1, 1], [1, 1]),
    ([2, 3], [3, 1], [0, 1], [2, 2]),
    ([3, 3], [2, 3], [2, 3], [2, 3]),
    ([1, 4], [2, 3], [0, 2], [1, 1]),
    ([5, 4], [1, 2], [2, 2], [1, 1]),
]
SHAPES = [(2, 3, 9, 11), (3, 7, 10), (1, 2, 8, 40)]


def same(found: Any, expected: Any) -> None:
    """To the last bit."""
    for one, other in zip(found, expected, strict=True):
        array = one._array
        assert (array.dtype, array.shape, array.flags.c_contiguous) == (other.dtype, other.shape, True)
        np.testing.assert_array_equal(array, other)
        if other.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(array[array == 0]), np.signbit(other[other == 0]))


def odd_numbers(shape: tuple[int, ...], dtype: str) -> Any:
    """With ties, zeros of both signs, infinities and NaN, and whole windows of the lowest number."""
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=shape) * 2).astype(dtype)
    for value in (np.nan, np.inf, -np.inf, -0.0):
        x[rng.random(shape) < 0.06] = value
    x[..., :5, :6] = -np.inf
    x[..., 1, -3:] = np.nan
    return x


def kernels_of(call: Any) -> list[str | None]:
    return [record.kernel for record in native.explain(call).records]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_maxima(window: tuple[Any, ...], shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    for x, up in itertools.product((odd_numbers(shape, dtype), rng.normal(size=shape).astype(dtype)), (False, True)):
        expected = pooling.max_pool_with_indices(x, *window, up)
        same(ops.max_pool2d_with_indices(wrap(x), *window, up), expected)
        # The images in another layout.
        turned = np.ascontiguousarray(x.swapaxes(-1, -3)).swapaxes(-1, -3)
        same(ops.max_pool2d_with_indices(wrap(turned), *window, up), expected)
        grad = rng.normal(size=expected[0].shape).astype(dtype)
        for given in (grad, np.asfortranarray(grad)):
            arguments = (*window[:1], window[1] or window[0], *window[2:], up)
            found = ops.max_pool2d_with_indices_backward(wrap(given), wrap(x), *arguments, wrap(expected[1]))
            same([found], [pooling.max_pool_with_indices_backward(grad, x, *arguments, expected[1])])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@np.errstate(invalid="ignore")
@pytest.mark.parametrize("window", [window for window in WINDOWS if window[3] == [1, 1]], ids=str)
def test_means(window: tuple[Any, ...], shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    kernel, stride, padding, _ = window
    for x in (odd_numbers(shape, dtype), rng.normal(size=shape).astype(dtype)):
        for up, with_padding, divisor in itertools.product((False, True), (False, True), (None, 3, -2)):
            arguments = (kernel, stride or kernel, padding, up, with_padding, divisor)
            expected = pooling.avg_pool(x, *arguments)
            turned = np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
            for images in (x, turned):
                same([ops.avg_pool2d(wrap(images), *arguments)], [expected])
            grad = rng.normal(size=expected.shape).astype(dtype)
            for given in (grad, np.asfortranarray(grad)):
                found = ops.avg_pool2d_backward(wrap(given), wrap(x), *arguments)
                same([found], [pooling.avg_pool_backward(grad, x, *arguments)])


def test_they_are_native() -> None:
    x, grad = wrap(np.ones((1, 2, 5, 5), np.float32)), wrap(np.ones((1, 2, 2, 2), np.float32))
    places = wrap(np.zeros((1, 2, 2, 2), np.int64))
    window = ([2, 2], [2, 2], [0, 0])
    for call in (
        lambda: ops.max_pool2d_with_indices(x, *window),
        lambda: ops.max_pool2d_with_indices_backward(grad, x, *window, [1, 1], False, places),
        lambda: ops.adaptive_max_pool2d_backward(grad, x, places),
        lambda: ops.avg_pool2d(x, *window),
        lambda: ops.avg_pool2d_backward(grad, x, *window, False, True, None),
        lambda: ops._adaptive_avg_pool2d(x, [2, 2]),
        lambda: ops._adaptive_avg_pool2d_backward(grad, x),
    ):
        assert kernels_of(call) == ["native loop"]


def test_what_the_loops_do_not_take() -> None:
    x, window = np.arange(50).reshape(1, 2, 5, 5), ([2, 2], [2, 2], [0, 0])
    same(ops.max_pool2d_with_indices(wrap(x), *window), pooling.max_pool_with_indices(x, *window, [1, 1]))
    same([ops.avg_pool2d(wrap(x), *window)], [pooling.avg_pool(x, *window)])
    nothing = np.zeros((0, 2, 5, 5), np.float32)
    same(ops.max_pool2d_with_indices(wrap(nothing), *window), pooling.max_pool_with_indices(nothing, *window, [1, 1]))
    same([ops.avg_pool2d(wrap(nothing), *window)], [pooling.avg_pool(nothing, *window)])
    cube = np.arange(54, dtype=np.float32).reshape(2, 3, 3, 3)
    threes = ([2, 2, 2], [1, 1, 1], [0, 0, 0])
    same(ops.max_pool3d_with_indices(wrap(cube), *threes), pooling.max_pool_with_indices(cube, *threes, [1, 1, 1]))
    same([ops.avg_pool3d(wrap(cube), *threes)], [pooling.avg_pool(cube, *threes)])


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (([2, 2], [0, 1], [0, 0]), "stride should be greater than zero"),
        (([0, 2], [1, 1], [0, 0]), "kernel size should be greater than zero"),
        (([2, 2], [1, 1], [2, 0]), "pad should be at most half"),
        (([2, 2], [1, 1], [-1, 0]), "pad must be non-negative"),
        (([6, 2], [1, 1], [0, 0]), "Output size is too small"),
        (([2**62, 2], [1, 1], [0, 0]), "Output size is too small"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(window: tuple[Any, ...], message: str) -> None:
    x = wrap(np.ones((1, 2, 5, 5), np.float32))
    for call in (ops.max_pool2d_with_indices, ops.avg_pool2d):
        with pytest.raises(RuntimeError, match=message):
            call(x, *window)


def test_wrong_arguments_of_the_gradients() -> None:
    x, grad = wrap(np.ones((1, 2, 5, 5), np.float32)), wrap(np.ones((1, 2, 2, 2), np.float32))
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        ops.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 0)
    with pytest.raises(RuntimeError, match="expected a gradient of shape"):
        ops.avg_pool2d_backward(grad, x, [3, 3], [1, 1], [0, 0], False, True, None)
    with pytest.raises(RuntimeError, match="int64 indices of the same shape"):
        ops.adaptive_max_pool2d_backward(grad, x, wrap(np.zeros((1, 2, 2, 3), np.int64)))
    with pytest.raises(IndexError):
        ops.adaptive_max_pool2d_backward(grad, x, wrap(np.full((1, 2, 2, 2), 60)))


PARTS = [[4, 4], [3, 5], [1, 2], [9, 11], [12, 30], [1, 1]]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [*SHAPES, (1, 2, 40, 100)], ids=str)
@pytest.mark.parametrize("count", PARTS, ids=str)
def test_means_of_parts(count: list[int], shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape).astype(dtype)
    tolerance = 1e-6 if dtype == "f4" else 1e-14
    expected = pooling.adaptive_avg_pool(x, count)
    for images in (x, np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)):
        found = ops._adaptive_avg_pool2d(wrap(images), count)._array
        assert (found.dtype, found.shape, found.flags.c_contiguous) == (expected.dtype, expected.shape, True)
        np.testing.assert_allclose(found, expected, tolerance, tolerance)
    grad = rng.normal(size=expected.shape).astype(dtype)
    expected = pooling.adaptive_avg_pool2d_backward(grad, x)
    for given in (grad, np.asfortranarray(grad)):
        found = ops._adaptive_avg_pool2d_backward(wrap(given), wrap(x))._array
        assert (found.dtype, found.shape, found.flags.c_contiguous) == (expected.dtype, expected.shape, True)
        np.testing.assert_allclose(found, expected, tolerance, tolerance)


def test_what_is_not_finite_stays_in_its_parts() -> None:
    x = np.ones((1, 1, 6, 6), np.float32)
    x[0, 0, 0, 5] = np.nan
    x[0, 0, 5, 0] = np.inf
    found = ops._adaptive_avg_pool2d(wrap(x), [2, 2])._array[0, 0]
    np.testing.assert_array_equal(found, [[1, np.nan], [np.inf, 1]])
    back = ops._adaptive_avg_pool2d_backward(wrap(found[None, None]), wrap(x))._array[0, 0]
    assert np.isnan(back).sum() == np.isinf(back).sum() == 9
    assert np.isnan(back[:3, 3:]).all()


def test_parts_of_nothing_and_wrong_parts() -> None:
    x, empty = wrap(np.ones((1, 2, 3, 4), np.float32)), wrap(np.ones((0, 2, 3, 4), np.float32))
    assert ops._adaptive_avg_pool2d(x, [0, 3]).shape == (1, 2, 0, 3)
    assert ops._adaptive_avg_pool2d(empty, [2, 2]).shape == (0, 2, 2, 2)
    nothing = ops._adaptive_avg_pool2d_backward(wrap(np.ones((1, 2, 0, 3), np.float32)), x)
    np.testing.assert_array_equal(nothing._array, np.zeros((1, 2, 3, 4)))
    assert ops._adaptive_avg_pool3d(x, [1, 2, 2]).shape == (1, 1, 2, 2)
    with pytest.raises(RuntimeError, match="greater than or equal to 0"):
        ops._adaptive_avg_pool2d(x, [-1, 3])
    with pytest.raises(RuntimeError, match="expected a gradient for"):
        ops._adaptive_avg_pool2d_backward(wrap(np.ones((1, 3, 2, 2), np.float32)), x)
