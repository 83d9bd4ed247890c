"""Convolutions and the gradients of batch normalization as native loops, against the Python kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import batch_norm, convolution
from support.native_core import needs_core

pytestmark = needs_core

GEOMETRIES = [
    (sizes, kernel, stride, padding, dilation, each)
    for sizes, kernel in (((7,), (3,)), ((6, 9), (3, 3)), ((5, 20), (1, 4)), ((8, 3), (5, 3)), ((4, 5, 3), (2, 3, 3)))
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


def compare_convolutions(
    x: np.ndarray,
    w: np.ndarray,
    lists: list[list[int]],
    groups: int,
    masks: Iterable[tuple[bool, ...]],
    transposed: bool = False,
    more: int = 0,
) -> None:
    """Both directions in the core and in Python, of arrays of one type."""
    rng = np.random.default_rng(1)
    b = rng.normal(size=w.shape[1] * groups if transposed else len(w)).astype(x.dtype)
    rest = (transposed, [more] * (x.ndim - 2), groups)
    for bias in (b, None):
        expected = convolution.convolution(x, w, bias, *lists, *rest)
        given = wrap(x), wrap(w), None if bias is None else wrap(bias), *lists, *rest
        made = ops.convolution(*given)
        close([made], [expected], x.dtype.str[1:])
        assert [call.kernel for call in native.explain(ops.convolution, *given).records] == ["native loop"]
    grad = rng.normal(size=expected.shape).astype(x.dtype)
    for mask in masks:
        arguments = ([len(b)], *lists, *rest, list(mask))
        close(
            ops.convolution_backward(wrap(grad), wrap(x), wrap(w), *arguments),
            convolution.convolution_backward(grad, x, w, *arguments),
            x.dtype.str[1:],
        )


MASKS = list(itertools.product([True, False], repeat=3))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize(("channels", "groups"), [(4, 4), (4, 1), (6, 2), (1, 1)])
def test_convolution(geometry: tuple[Any, ...], dtype: str, channels: int, groups: int) -> None:
    sizes, kernel, stride, padding, dilation, each = geometry
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, channels, *sizes)).astype(dtype)
    w = rng.normal(size=(groups * each, channels // groups, *kernel)).astype(dtype)
    lists = [[number] * len(sizes) for number in (stride, padding, dilation)]
    compare_convolutions(x, w, lists, groups, MASKS)


def leaves_something(geometry: tuple[Any, ...]) -> bool:
    """Whether a transposed convolution has a result."""
    sizes, kernel, stride, padding, dilation, _ = geometry
    widths = zip(sizes, kernel, strict=True)
    return all((size - 1) * stride + dilation * (width - 1) + 1 > 2 * padding for size, width in widths)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("geometry", list(filter(leaves_something, GEOMETRIES)), ids=str)
@pytest.mark.parametrize(("channels", "groups"), [(4, 4), (4, 1), (6, 2), (1, 1)])
def test_transposed_convolution(geometry: tuple[Any, ...], dtype: str, channels: int, groups: int) -> None:
    sizes, kernel, stride, padding, dilation, each = geometry
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, groups * each, *sizes)).astype(dtype)
    w = rng.normal(size=(groups * each, channels // groups, *kernel)).astype(dtype)
    lists = [[number] * len(sizes) for number in (stride, padding, dilation)]
    for more in {0, stride - 1}:
        compare_convolutions(x, w, lists, groups, MASKS, transposed=True, more=more)


@pytest.mark.parametrize(
    ("shape", "weight", "stride", "padding", "groups"),
    [
        ((2, 16, 60, 70), (5, 16, 3, 3), 1, 1, 1),  # a part is some rows of an image
        ((2, 16, 61, 71), (6, 8, 3, 3), 2, 1, 2),
        ((70, 8, 12, 12), (4, 8, 3, 3), 1, 0, 1),  # and here some images
        ((9, 8, 6, 5), (4, 8, 1, 1), 1, 0, 1),  # windows of one element
        ((9, 8, 6, 5), (4, 4, 1, 1), 1, 0, 2),
        ((9, 8, 6, 5), (4, 8, 1, 1), 2, 0, 1),
        ((9, 8, 6, 5), (4, 8, 1, 1), 1, 2, 1),
        ((2, 3, 300000), (2, 3, 3), 1, 1, 1),  # a row is more than a part
        ((2, 16, 9, 30, 20), (3, 16, 3, 3, 3), 1, 1, 1),  # and some rows of planes
        ((5, 4, 3, 6, 5), (4, 2, 1, 1, 1), 1, 0, 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("threads", [1, 3])
def test_parts_of_convolutions(
    shape: tuple[int, ...], weight: tuple[int, ...], stride: int, padding: int, groups: int, threads: int
) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape), rng.normal(size=weight)
    dims = len(shape) - 2
    before = gradwright.get_num_threads()
    gradwright.set_num_threads(threads)
    try:
        lists = [[stride] * dims, [padding] * dims, [1] * dims]
        compare_convolutions(x, w, lists, groups, [(True, True, True)])
        y = rng.normal(size=(shape[0], weight[0], *shape[2:]))
        compare_convolutions(y, w, lists, groups, [(True, True, True)], transposed=True)
    finally:
        gradwright.set_num_threads(before)


def test_images_that_do_not_lie_densely() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 6, 5, 3)).transpose(0, 3, 1, 2)
    compare_convolutions(x, rng.normal(size=(4, 3, 2, 2)), [[1, 1], [0, 1], [1, 1]], 1, MASKS)


def test_padding_times_what_is_not_finite() -> None:
    x, w = np.ones((1, 2, 3, 3), np.float32), np.full((2, 2, 3, 3), np.inf, np.float32)
    arguments = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    with np.errstate(invalid="ignore"):
        expected = convolution.convolution(x, w, None, *arguments)
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(ops.convolution(wrap(x), wrap(w), None, *arguments)._array, expected)


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


# Channels of many elements, of few, and of one.
SHAPES = [
    (3, 2, 17),
    (2, 3, 5, 7),
    (4, 8, 3, 3),
    (3, 5, 2),
    (1, 40, 4, 4),
    (2, 2, 2, 3, 50),
    (4, 3),
    (5, 1),
    (1, 70),
    (6, 3000),
    (3, 5, 1, 1),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm(shape: tuple[int, ...], train: bool, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(2, 1, size=shape).astype(dtype)
    weight, bias, mean, spread = (rng.uniform(0.5, 2, shape[1]).astype(dtype) for _ in range(4))
    running = () if train else (mean, spread)
    function, kernel = (
        (ops._native_batch_norm_legit.no_stats, batch_norm.batch_norm_of_batch)
        if train
        else (ops._native_batch_norm_legit_no_training, batch_norm.batch_norm_of_running)
    )
    rest = (True, 0.1, 1e-5) if train else (0.1, 1e-5)
    for arrays in ((x, weight, bias), (x, weight, None), (x, None, bias), (x, None, None)):
        given = [None if array is None else wrap(array) for array in (*arrays, *running)]
        explained = native.explain(lambda given=given: function(*given, *rest))
        assert [call.kernel for call in explained.records] == ["native loop"]
        close(explained.result, kernel(*arrays, *running, *rest), dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
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


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5)], ids=str)
def test_the_gradient_of_running_statistics_does_not_read_the_input(shape: tuple[int, ...]) -> None:
    grad, values = (np.random.default_rng(seed).normal(size=shape) for seed in range(2))
    values.reshape(-1)[:2] = (np.nan, np.inf)
    weight, mean, var = np.array([0.5, 2.0, -1.0]), np.zeros(3), np.array([1.0, 2.0, 3.0])
    arrays = [grad, values, weight, mean, var, None, None]
    found = ops.native_batch_norm_backward(
        *(None if array is None else wrap(array) for array in arrays), False, 1e-5, [True, False, False]
    )[0]
    expected = batch_norm.native_batch_norm_backward(*arrays, False, 1e-5, [True, False, False])[0]
    assert np.isfinite(found._array).all()
    np.testing.assert_allclose(found._array, expected, rtol=1e-12)
