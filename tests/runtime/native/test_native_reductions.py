"""Reductions, softmax and layer normalization as native loops: values, dtypes, shapes and layouts of Python's kernels.

Every test runs with and without the core; without it, it compares the kernels with themselves.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import gradwright
from gradwright import ops
from runtime import native
from runtime.base.tensor import wrap
from runtime.operators.kernels import loss, nn, ordering, reduction

Array = NDArray[Any]

DTYPES = ("float32", "float64")
SHAPES: list[tuple[int, ...]] = [
    (), (1,), (7,), (130,), (1000,), (3, 4), (40, 300), (1, 7), (7, 1), (5, 6, 7), (2, 1100, 3), (4, 3, 1030),
    (2, 3, 4, 5), (60, 3), (4, 50, 7), (0,), (0, 3), (3, 0),
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def silent() -> Iterator[None]:
    """Python's kernels meet zero and infinity without a word, too, where they are called by operators."""
    with np.errstate(all="ignore"):
        yield


def random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def layouts(array: Array) -> Iterator[Array]:
    """The array, and views that are laid out otherwise in memory."""
    yield array
    if array.ndim > 1:
        yield array.T
        yield array[..., ::2]
        yield array[:, ::2]
        yield np.asfortranarray(array)
        yield array.swapaxes(0, -1)
    if array.ndim > 2:
        yield array.transpose(1, 0, 2, *range(3, array.ndim))
        yield array.transpose(2, 0, 1, *range(3, array.ndim))


def tensor(array: Array) -> Any:
    return gradwright.from_numpy(array)


def check(found: Any, expected: Array, scale: float = 0.0, exact: bool = False, places: int = 2) -> None:
    """Equal but for some ulp, of the result or of a number `scale` that it was computed from."""
    values = found.numpy()
    assert values.dtype == expected.dtype
    assert values.shape == expected.shape
    assert values.flags.c_contiguous
    ulp = 0 if exact else np.finfo(expected.dtype).eps
    np.testing.assert_allclose(values, expected, rtol=places * ulp, atol=places * ulp * scale)


def check_softmax(array: Array, dim: int) -> None:
    """Near those of Python of longer numbers: NumPy's exponentials of single precision are 2 places off themselves."""
    with np.errstate(invalid="ignore"):  # of infinities
        shifted = array - array.max(dim, keepdims=True, initial=-np.inf) if array.ndim else array - array
    longer = shifted.astype(np.float64)  # what is less the maximum is rounded in both
    places = 4 + math.isqrt(array.shape[dim] if array.ndim else 1)  # of sums one by one, where rows lie side by side
    check(tensor(array).softmax(dim), nn.softmax_kernel(longer, dim, False).astype(array.dtype), places=places)
    logarithms = nn.log_softmax_kernel(longer, dim, False).astype(array.dtype)
    check(tensor(array).log_softmax(dim), logarithms, scale=1.0, places=places)


def some_dims(ndim: int) -> Iterator[tuple[int, ...]]:
    for count in range(ndim + 1):
        for dims in itertools.combinations(range(ndim), count):
            yield dims
            yield tuple(dim - ndim for dim in reversed(dims))


# -- sums


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(shape: tuple[int, ...], dtype: str) -> None:
    for array in layouts(random(shape, dtype)):
        scale = float(np.abs(array).sum())
        check(tensor(array).sum(), np.asarray(np.add.reduce(array, None)), scale)
        check(tensor(array).mean(), reduction.mean_all(array), scale / max(array.size, 1))
        for dims, keepdim in itertools.product(some_dims(array.ndim), (False, True)):
            check(tensor(array).sum(dims, keepdim), reduction.sum_dim(array, dims, keepdim), scale)
            check(tensor(array).mean(dims, keepdim), reduction.mean_dim(array, dims, keepdim), scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 127, 128, 129, 136, 300, 1000, 8193, 100_001])
def test_sums_are_numpys_to_the_last_bit(size: int, dtype: str) -> None:
    """Python's own kernel sums small arrays by a product with ones; otherwise both are `np.add.reduce`."""
    if not native.is_available() and size <= 512:
        pytest.skip("a product with ones")
    array = random((size,), dtype)
    for values in (array, np.repeat(array, 2)[::2], array.reshape(1, -1).T):
        check(tensor(values).sum(), np.asarray(np.add.reduce(values, None)), exact=True)
    if size and size % 8 == 0:
        rows = array.reshape(8, -1)
        for axis in (0, 1):
            check(tensor(rows).sum(axis), np.add.reduce(rows, axis), exact=True)
            check(tensor(rows.T).sum(axis), np.add.reduce(rows.T, axis), exact=True)


def test_sums_of_zeros_and_of_nothing() -> None:
    for values in ([0.0], [-0.0, 0.0], [-0.0] * 600, []):
        array = np.array(values)
        assert np.signbit(tensor(array).sum().numpy()) == np.signbit(np.add.reduce(array))
    assert gradwright.zeros(0).mean().isnan().item()
    assert gradwright.zeros(2, 0).sum(1).tolist() == [0, 0]
    assert gradwright.zeros(2, 0).prod(1).tolist() == [1, 1]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_logsumexp(shape: tuple[int, ...], dtype: str) -> None:
    for array in layouts(np.asarray(10 * random(shape, dtype))):
        for special in (None, -np.inf, np.inf, np.nan):
            if special is not None and array.size < 4:
                continue
            if special is not None:
                array = array.copy()
                array[..., 0] = special
            for dims, keepdim in itertools.product(some_dims(array.ndim), (False, True)):
                if not dims and array.ndim:
                    continue
                expected = reduction.logsumexp(array.astype(np.float64), dims, keepdim).astype(dtype)
                check(tensor(array).logsumexp(dims, keepdim), expected, scale=4.0, places=16)


def test_what_is_not_finite() -> None:
    for special in (np.nan, np.inf, -np.inf):
        for size, place in ((3, 1), (64, 40), (300, 299)):
            array = np.ones((2, size))
            array[1, place] = special
            for name in ("sum", "mean", "amax", "amin", "prod"):
                found = getattr(tensor(array), name)(1).tolist()
                function = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min, "prod": np.prod}[name]
                np.testing.assert_array_equal(found, function(array, 1))
            array[0, place] = -special
            assert np.isnan(tensor(array).sum().item())


# -- products, extrema, variance


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_and_extrema(shape: tuple[int, ...], dtype: str) -> None:
    for array in layouts(random(shape, dtype)):
        # In parts, whose products may be too small for all of a number's digits later than those of all before.
        places, least = max(2, array.size), 1 / float(np.finfo(dtype).max)
        scale = least / float(np.finfo(dtype).eps)
        check(tensor(array).prod(), reduction.prod_all(array), scale, places=places)
        for dim, keepdim in itertools.product(range(-array.ndim, array.ndim), (False, True)):
            check(tensor(array).prod(dim, keepdim), reduction.prod_dim(array, dim, keepdim), scale, places=places)
        if array.size == 0:
            continue
        check(tensor(array).max(), reduction.max_all(array))
        check(tensor(array).min(), reduction.min_all(array))
        for dims, keepdim in itertools.product(some_dims(array.ndim), (False, True)):
            check(tensor(array).amax(dims, keepdim), reduction.amax(array, dims, keepdim))
            check(tensor(array).amin(dims, keepdim), reduction.amin(array, dims, keepdim))
        for dim, keepdim in itertools.product(range(-array.ndim, array.ndim), (False, True)):
            for method, kernel in (("max", reduction.max_dim), ("min", reduction.min_dim)):
                values, places = getattr(tensor(array), method)(dim, keepdim)
                expected, expected_places = kernel(array, dim, keepdim)
                check(values, expected)
                np.testing.assert_array_equal(places.numpy(), expected_places, strict=True)


def test_the_place_of_an_extremum_is_the_first() -> None:
    array = np.array([[1.0, 3, 3, 2], [np.nan, 5, np.nan, 1], [-np.inf, -np.inf, -np.inf, -np.inf]])
    for values in (array, np.asfortranarray(array)):
        assert tensor(values).max(1).indices.tolist() == [1, 0, 0]
        assert tensor(values).min(1).indices.tolist() == [0, 0, 0]
        np.testing.assert_array_equal(tensor(values).max(1).values.numpy(), [3, np.nan, -np.inf])


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if np.prod(shape)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_variance(shape: tuple[int, ...], dtype: str) -> None:
    for array in layouts(random(shape, dtype)):
        for dims, keepdim in itertools.product(some_dims(array.ndim), (False, True)):
            for correction in (None, 0, 1, 2, 0.5):
                found = ops.var(tensor(array), dims, correction=correction, keepdim=keepdim)
                check(found, reduction.var(array, dims, correction, keepdim), 8)
                found = ops.std(tensor(array), dims, correction=correction, keepdim=keepdim)
                check(found, reduction.std(array, dims, correction, keepdim), 8)


def test_the_variance_of_equal_elements_is_zero() -> None:
    values = np.full((7, 300), 1e6 + 0.1, np.float32)
    assert tensor(values).var().item() == 0
    assert not tensor(values).var(0).any().item()
    assert not tensor(values).var(1).any().item()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(shape: tuple[int, ...], dtype: str) -> None:
    for array in layouts(random(shape, dtype)):
        check(tensor(array).norm(), reduction.linalg_vector_norm(array))
        for order, dims, keepdim in itertools.product((2, 2.0, None), some_dims(array.ndim), (False, True)):
            expected = reduction.linalg_vector_norm(array, 2, dims, keepdim)
            check(tensor(array).norm(order, dims, keepdim), expected)
            check(ops.linalg_vector_norm(tensor(array), order or 2, dims, keepdim), expected)
        for other in (0, 1, 3, 2.5, np.inf, -np.inf, 2**70):
            if array.size:
                check(tensor(array).norm(other), reduction.linalg_vector_norm(array, other), exact=True)


def test_norms_of_what_is_not_finite() -> None:
    for special, expected in ((np.nan, np.nan), (np.inf, np.inf), (-np.inf, np.inf), (1e30, np.inf)):
        for size, place in ((3, 1), (300, 299)):
            array = np.ones((2, size), np.float32)
            array[1, place] = special
            np.testing.assert_array_equal(tensor(array).norm(dim=1).numpy(), np.float32([np.sqrt(size), expected]))
            np.testing.assert_array_equal(tensor(array).norm().numpy(), np.float32(expected))


# -- scans


@pytest.mark.parametrize("shape", [*SHAPES, (70_001,), (2, 40_000), (40_000, 2), (30, 50, 40)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_are_numpys_to_the_last_bit(shape: tuple[int, ...], dtype: str) -> None:
    array = random(shape, dtype)
    if array.size > 4:
        array.flat[:2], array.flat[array.size // 2], array.flat[-1] = -0.0, np.inf, np.nan
    for values in layouts(array):
        for dim in range(-max(array.ndim, 1), max(array.ndim, 1)):
            for found, kernel in (
                (tensor(values).cumsum(dim), reduction.cumsum),
                (tensor(values).cumprod(dim), reduction.cumprod),
            ):
                expected = kernel(values, dim)
                check(found, expected, exact=True)
                numbers = ~np.isnan(expected)  # the sign of NaN is up to the compiler
                assert np.array_equal(np.signbit(found.numpy())[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_extrema(shape: tuple[int, ...], dtype: str) -> None:
    """Values and places are NumPy's, of equal elements the last one, and lie in memory as Python's kernels'."""
    array = np.asarray(np.round(random(shape, dtype) * 3))  # many are equal, and zeros have both signs
    if array.size > 4:
        array.flat[:2], array.flat[array.size // 2], array.flat[-1] = -0.0, np.inf, np.nan
    for values in layouts(array):
        for dim in range(-max(array.ndim, 1), max(array.ndim, 1)):
            for name in ("cummax", "cummin"):
                found, expected = getattr(tensor(values), name)(dim), getattr(ordering, name)(values, dim)
                np.testing.assert_array_equal(found[0].numpy(), expected[0], strict=True)
                np.testing.assert_array_equal(found[1].numpy(), expected[1], strict=True)
                numbers = ~np.isnan(expected[0])
                assert np.array_equal(np.signbit(found[0].numpy())[numbers], np.signbit(expected[0])[numbers])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_sums_of_exponentials(shape: tuple[int, ...], dtype: str) -> None:
    array = np.asarray(random(shape, dtype) * 5)
    if array.size > 4:
        array.flat[:2], array.flat[array.size // 2], array.flat[-1] = -np.inf, np.inf, np.nan
    for values in layouts(array):
        for dim in range(-max(array.ndim, 1), max(array.ndim, 1)):
            found, expected = tensor(values).logcumsumexp(dim), reduction.logcumsumexp(values, dim)
            size = values.shape[dim] if values.ndim else 1
            check(found, expected, places=4 + math.isqrt(size), scale=1.0)


def test_scans_on_several_threads() -> None:
    array = random((37, 3000), "float32")
    before = gradwright.get_num_threads()
    try:
        for threads in (1, 3):
            gradwright.set_num_threads(threads)
            for values, dim in itertools.product((array, array.T), (0, 1)):
                check(tensor(values).cumsum(dim), reduction.cumsum(values, dim), exact=True)
                found, expected = tensor(values).cummax(dim), ordering.cummax(values, dim)
                np.testing.assert_array_equal(found[0].numpy(), expected[0])
                np.testing.assert_array_equal(found[1].numpy(), expected[1])
    finally:
        gradwright.set_num_threads(before)


def test_other_scans_are_left_to_python() -> None:
    for array in (np.arange(6).reshape(2, 3), np.ones((2, 3), np.float16), np.ones((2, 3), ">f4")):
        np.testing.assert_array_equal(ops.cumsum(wrap(array), 1)._array, reduction.cumsum(array, 1), strict=True)
    found = gradwright.ones(3).cumsum(0, dtype=gradwright.float64)
    assert found.dtype is gradwright.float64
    with pytest.raises(IndexError):
        gradwright.ones(2, 3).cumsum(2)


# -- any layout, any values

FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, 3e38])


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    """Arrays of up to four dimensions in any order in memory, with gaps."""
    shape = draw(st.lists(st.integers(1, 9), max_size=4))
    values = draw(st.lists(FLOATS, min_size=1, max_size=12))
    order = draw(st.permutations(range(len(shape))))
    steps = draw(st.lists(st.integers(1, 2), min_size=len(shape), max_size=len(shape)))
    whole = np.resize(
        np.array(values, draw(st.sampled_from(DTYPES))), [n * k for n, k in zip(shape, steps, strict=True)]
    )
    return np.asarray(whole[tuple(slice(None, None, step) for step in steps)].transpose(order))


@settings(deadline=None)
@given(arrays(), st.data())
def test_any_array(array: Array, data: st.DataObject) -> None:
    dims = tuple(data.draw(st.lists(st.integers(0, max(array.ndim - 1, 0)), unique=True, max_size=array.ndim)))
    keepdim = data.draw(st.booleans())
    scale = np.abs(array)
    for kernel, method in ((reduction.sum_dim, "sum"), (reduction.mean_dim, "mean")):
        expected = kernel(array, dims, keepdim)
        slack = 4 * np.finfo(array.dtype).eps * kernel(scale, dims, keepdim)
        found = getattr(tensor(array), method)(dims, keepdim).numpy()
        assert found.shape == expected.shape
        # Sums that overflow on the way may do so in another order.
        same = np.where(np.isfinite(slack), np.abs(found - expected) <= slack, True)
        assert np.all(same | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    for kernel, method in ((reduction.amax, "amax"), (reduction.amin, "amin")):
        check(getattr(tensor(array), method)(dims, keepdim), kernel(array, dims, keepdim), exact=True)


@settings(deadline=None)
@given(arrays(), st.data())
def test_scans_of_any_array(array: Array, data: st.DataObject) -> None:
    turned = np.asarray(array[tuple(slice(None, None, data.draw(st.sampled_from([1, -1]))) for _ in array.shape)])
    for dim in range(array.ndim):
        check(wrap(turned).cumsum(dim), reduction.cumsum(turned, dim), exact=True)


@settings(deadline=None)
@given(arrays(), st.data())
def test_softmax_of_any_array(array: Array, data: st.DataObject) -> None:
    dim = data.draw(st.integers(-max(array.ndim, 1), max(array.ndim, 1) - 1))
    check_softmax(array, dim)


# -- rows


@pytest.mark.parametrize("shape", [*SHAPES, (7, 5000), (2, 600, 9), (3, 20, 2100)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax(shape: tuple[int, ...], dtype: str) -> None:
    array, gradient = np.asarray(3 * random(shape, dtype)), random(shape, dtype, 1)
    with_nan = array.copy()
    if array.size > 4:
        with_nan.flat[0], with_nan.flat[array.size // 2], with_nan.flat[-1] = np.nan, np.inf, -np.inf
    scalar = getattr(gradwright, dtype)
    for dim in range(-max(array.ndim, 1), max(array.ndim, 1)):
        for values in (array, with_nan):
            check_softmax(values, dim)
        for kernel, backward, operator in (
            (nn.softmax_kernel, nn.softmax_backward_data, ops._softmax_backward_data),
            (nn.log_softmax_kernel, nn.log_softmax_backward_data, ops._log_softmax_backward_data),
        ):
            output = kernel(array, dim, False)
            for grad in (gradient, np.broadcast_to(gradient.ravel()[:1].sum(), array.shape)):
                found = operator(tensor(grad.copy()), tensor(output), dim, scalar)
                check(found, backward(grad, output, dim, np.dtype(dtype)), float(np.abs(grad).sum()))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (32, 130), (200, 7), (2, 3, 4), (3, 3000)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm(shape: tuple[int, ...], dtype: str) -> None:
    array, gradient = random(shape, dtype), random(shape, dtype, 1)
    for count in range(1, array.ndim + 1):
        sizes = shape[-count:]
        for weighted, biased in itertools.product((False, True), repeat=2):
            weight = random(sizes, dtype, 2) if weighted else None
            bias = random(sizes, dtype, 3) if biased else None
            given = [None if part is None else tensor(part) for part in (weight, bias)]
            expected = nn.native_layer_norm(array, sizes, weight, bias, 1e-5)
            scale = float(np.max(np.abs(expected[2]))) + float(np.max(np.abs(expected[0]))) + array.size**0.5
            for result, wanted in zip(ops.native_layer_norm(tensor(array), sizes, *given, 1e-5), expected, strict=True):
                check(result, wanted, scale)
            for mask in ((True, True, True), (True, False, False), (False, True, False), (False, False, True)):
                stats = [tensor(part) for part in expected[1:]]
                found = ops.native_layer_norm_backward(tensor(gradient), tensor(array), sizes, *stats, *given, mask)
                right = nn.native_layer_norm_backward(gradient, array, sizes, *expected[1:], weight, bias, mask)
                for result, wanted in zip(found, right, strict=True):
                    if wanted is None:
                        assert result is None
                    else:
                        check(result, wanted, scale * float(np.abs(gradient).sum()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction_", [0, 1, 2])
def test_nll_loss(reduction_: int, weighted: bool, dtype: str) -> None:
    for rows, classes in ((1, 1), (5, 3), (32, 10), (700, 5)):
        scores = random((rows, classes), dtype)
        weight = np.abs(random((classes,), dtype, 1)) if weighted else None
        target = np.random.default_rng(2).integers(0, classes, rows)
        ignoring = target.copy()
        ignoring[1::3] = -100
        for classes_ in (target, ignoring):
            given = None if weight is None else tensor(weight)
            found = ops.nll_loss_forward(tensor(scores), tensor(classes_), given, reduction_, -100)
            expected = loss.nll_loss_forward(scores, classes_, weight, reduction_, -100)
            check(found[0], expected[0], rows)
            check(found[1], expected[1], rows)
            gradient = random((rows,) if reduction_ == 0 else (), dtype, 3)
            back = ops.nll_loss_backward(
                tensor(gradient), tensor(scores), tensor(classes_), given, reduction_, -100, tensor(expected[1])
            )
            check(back, loss.nll_loss_backward(gradient, scores, classes_, weight, reduction_, -100, expected[1]))


def test_a_target_that_is_no_class() -> None:
    scores = gradwright.zeros(3, 4)
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        ops.nll_loss_forward(scores, gradwright.tensor([0, 4, 1]), None, 1, -100)
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        ops.nll_loss_forward(scores, gradwright.tensor([0, -1, 1]), None, 1, -100)


# -- threads

WORK: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum of all dims": lambda x: x.t()[:, ::2].sum(),
    "rows": lambda x: x.sum(1),
    "columns": lambda x: x.sum(0),
    "strided": lambda x: x[:, ::2].mean(0),
    "cube": lambda x: x.reshape(30, -1, 70).sum((0, 2)),
    "mean": lambda x: x.mean(),
    "prod": lambda x: x.prod(1),
    "extremum": lambda x: x.amax(0) + x.amin(),
    "place": lambda x: x.max(1).indices,
    "variance": lambda x: ops.var(x, (0,)).sum() + ops.var(x, (1,)).sum(),
    "softmax": lambda x: x.softmax(1),
    "softmax of columns": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: ops.native_layer_norm(x, (x.shape[1],), None, None, 1e-5)[0],
}


def gradients(x: Any) -> list[Any]:
    leaf = x.detach().clone().requires_grad_()
    weight, bias = (gradwright.ones(x.shape[1], dtype=x.dtype).requires_grad_() for _ in range(2))
    out = gradwright.nn.functional.layer_norm(leaf.softmax(1).log_softmax(0), (x.shape[1],), weight, bias)
    (out * x).sum().backward()
    return [leaf.grad, weight.grad, bias.grad]


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_do_not_depend_on_the_number_of_threads(dtype: str) -> None:
    x = tensor(random((600, 700), dtype))
    before = gradwright.get_num_threads()
    try:
        outcomes = []
        for count in (1, 2, 5):
            gradwright.set_num_threads(count)
            outcomes.append([work(x).numpy() for work in WORK.values()] + [part.numpy() for part in gradients(x)])
    finally:
        gradwright.set_num_threads(before)
    for several in outcomes[1:]:
        for one, other in zip(outcomes[0], several, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


# -- what native loops leave to Python


def test_other_dtypes() -> None:
    for dtype in (gradwright.int64, gradwright.bool, gradwright.float16, gradwright.bfloat16, gradwright.complex64):
        x = gradwright.ones(3, 4).to(dtype)
        assert x.sum().item() == 12
        assert x.sum(1).tolist() == [4, 4, 4]
    assert gradwright.ones(3).sum(dtype=gradwright.float64).dtype is gradwright.float64
    assert gradwright.ones(3).to(gradwright.int64).sum().dtype is gradwright.int64
    assert gradwright.ones(3, dtype=gradwright.float64).softmax(0, dtype=gradwright.float32).dtype is gradwright.float32


def test_errors() -> None:
    x = gradwright.ones(2, 3)
    for call in (lambda: x.sum(2), lambda: x.sum((0, -3)), lambda: x.softmax(2), lambda: x.amax(5), lambda: x.max(-3)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            call()
    with pytest.raises(RuntimeError, match="appears multiple times"):
        x.mean((0, -2))
    for name in ("amax", "amin", "max"):
        with pytest.raises((IndexError, RuntimeError), match="Expected reduction dim"):
            getattr(gradwright.zeros(2, 0), name)(1)
    with pytest.raises(TypeError):
        x.sum("rows")


def test_calls_in_every_form() -> None:
    x = tensor(random((3, 4), "float32"))
    expected = reduction.sum_dim(x.numpy(), (1,), True)
    for _ in range(3):  # the overload is chosen by Python first, and natively then
        for found in (
            x.sum(1, True), x.sum(1, keepdim=True), x.sum([1], True), x.sum((-1,), keepdim=True),
            x.sum(dim=1, keepdim=True), x.sum(keepdim=True, dim=(1,)), gradwright.sum(x, 1, True),
            gradwright.sum(input=x, dim=1, keepdim=True), x.sum(axis=1, keepdims=True),
        ):  # fmt: skip
            check(found, expected)
        assert x.sum(dim=None).shape == ()
        assert x.sum(1, dtype=gradwright.float64).dtype is gradwright.float64
        out = gradwright.empty(3, 1)
        assert gradwright.sum(x, 1, True, out=out) is out
        check(out, expected)
        with pytest.raises(TypeError):
            x.sum(1, True, 3)
        with pytest.raises(TypeError):
            x.sum(1.5)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "max", "norm", "mean"])
def test_doubles_are_computed_in_vectors_too(name: str) -> None:
    """Half as many fit into a vector; one after the other they took ten times as long."""

    def least(dtype: str) -> float:
        x = gradwright.ones(50_000, dtype=getattr(gradwright, dtype))
        function = getattr(gradwright, name)
        times = []
        for _ in range(100):
            begin = time.perf_counter()
            function(x)
            times.append(time.perf_counter() - begin)
        return min(times)

    assert least("float64") < 5 * least("float32")
