"""Small calls in the core: comparisons of whole arrays, products of all elements, bins, QR factors, transforms."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradwright import autograd, native, ops
from runtime.base.tensor import Tensor, wrap
from runtime.native import core
from runtime.operators.composite import fourier
from runtime.operators.kernels import reduction, statistics
from runtime.operators.kernels.orthogonal import linalg_qr
from support.native_core import needs_core

pytestmark = needs_core


def kernel_of(operator: Any, *arguments: Any) -> str | None:
    return str(native.explain(operator, *arguments).records[0].kernel)


# -- equal

DTYPES = "?bBhHiIqQefdFD"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7), (3000,)], ids=str)
def test_equal(shape: tuple[int, ...], dtype: str) -> None:
    one = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    assert ops.equal(wrap(one), wrap(one.copy())) is True
    if one.size:
        other = one.copy()
        other[(-1,) * one.ndim] = not other[(-1,) * one.ndim]
        assert ops.equal(wrap(one), wrap(other)) is False
    assert ops.equal(wrap(one), wrap(one[None])) is False
    if dtype != "e":
        assert kernel_of(ops.equal, wrap(one), wrap(one)) == "native loop"


def test_equal_numbers_of_other_bits() -> None:
    for dtype in "fdFD":
        zeros = np.zeros(5, dtype)
        assert ops.equal(wrap(zeros), wrap(-zeros)) is True
        assert ops.equal(wrap(zeros * np.nan), wrap(zeros * np.nan)) is False
    array = np.arange(6.0).reshape(2, 3)
    assert ops.equal(wrap(array), wrap(array.T.copy().T)) is True  # NumPy's
    assert ops.equal(wrap(array), wrap(array.astype("f4"))) == np.array_equal(array, array.astype("f4"))


# -- products


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [0, 1, 7, 63, 64, 65, 1000, 70001])
def test_products(size: int, dtype: str) -> None:
    array = np.random.default_rng(0).uniform(0.99, 1.01, size).astype(dtype)
    expected = reduction.prod_all(array)
    tolerance = max(size, 1) * float(np.finfo(dtype).eps)
    for given in (array, np.repeat(array, 2)[::2], array[::-1]):
        for found in (ops.prod(wrap(given)), ops.prod(wrap(given), 0)):
            np.testing.assert_allclose(found._array, expected, tolerance)


def test_products_of_large_and_small_factors_in_turn() -> None:
    array = np.tile(np.array([1e30, 1e-30], np.float32), 500)
    np.testing.assert_allclose(ops.prod(wrap(array))._array, 1, 1e-3)


# -- bins


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "edges",
    [[0.0, 1.0], [-1.0, 0.0, 0.0, 0.5, 2.0], list(np.geomspace(1e-6, 3, 40)), list(np.linspace(-2, 2, 51)), [1, 1]],
)
def test_bins(edges: list[float], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.array(edges, dtype)
    values = np.concatenate(
        [np.random.default_rng(0).normal(size=200).astype(dtype), ends, np.nextafter(ends, -9), np.nextafter(ends, 9)]
    )
    values = np.append(values, np.array([np.nan, np.inf, -np.inf], dtype))
    found = statistics._places(values, ends)
    monkeypatch.setattr(statistics, "core", None)
    np.testing.assert_array_equal(found, statistics._places(values, ends))


def test_bins_between_edges_without_order_are_some_bins() -> None:
    values, edges = np.random.default_rng(0).normal(size=100), np.array([-3.0, 2.0, -1.0, 0.5, 3.0])
    found = statistics._places(values, edges)
    assert found.min() >= -1
    assert found.max() < 4


def test_bins_refuse_what_does_not_belong_together() -> None:
    values, places = np.zeros(3), np.zeros(3, np.int64)
    for arguments in ((values, np.zeros(2, np.float32), places), (values, np.zeros(2), places.astype(np.int32))):
        with pytest.raises(TypeError, match="dense vector"):
            core.find_bins(*arguments)
    for arguments in ((values, np.zeros(1), places), (values, np.zeros(2), places[:2])):
        with pytest.raises(ValueError, match="two edges"):
            core.find_bins(*arguments)


# -- QR

SHAPES = [(1, 1), (3, 3), (2, 5, 3), (3, 5), (2, 3, 4, 4), (32, 32), (100, 4), (4, 100), (300, 3, 3)]


def qr(A: npt.NDArray[Any], mode: str) -> list[npt.NDArray[Any]]:
    return [found._array for found in ops.linalg_qr(wrap(A), mode)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_factors(mode: str, shape: tuple[int, ...], dtype: str) -> None:
    A = np.random.default_rng(0).normal(size=shape).astype(dtype)
    tolerance = 500 * float(np.finfo(dtype).eps)
    for given in (A, A.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
        assert kernel_of(ops.linalg_qr, wrap(given), mode) == "native loop"
        for found, expected in zip(qr(given, mode), linalg_qr(A, mode), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found.ndim < 2 or found.swapaxes(-1, -2).flags.c_contiguous
            np.testing.assert_allclose(found, expected, tolerance, tolerance)


def test_columns_that_depend_on_each_other() -> None:
    for A in (np.zeros((3, 3)), np.ones((4, 3)), np.diag([1.0, 0.0, 2.0]), np.array([[0.0, 1.0], [0.0, 0.0]])):
        Q, R = qr(A, "complete")
        np.testing.assert_allclose(Q @ R, A, atol=1e-14)
        np.testing.assert_allclose(Q.T @ Q, np.eye(len(A)), atol=1e-14)


def test_large_and_small_elements() -> None:
    rng = np.random.default_rng(0)
    for scale, dtype in itertools.product((1e-30, 1e30), ("f4", "f8")):
        A = (rng.normal(size=(5, 4)) * scale).astype(dtype)
        assert kernel_of(ops.linalg_qr, wrap(A)) == "native loop"
        Q, R = qr(A, "reduced")
        np.testing.assert_allclose((Q @ (R / scale)) * scale, A, atol=scale * 1e2 * float(np.finfo(dtype).eps))
    for odd in (np.full((3, 3), 1e-310), np.array([[np.nan, 1.0], [2.0, 3.0]]), np.array([[1.0, np.inf], [2.0, 3.0]])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for found, expected in zip(qr(odd, "reduced"), linalg_qr(odd), strict=True):
                np.testing.assert_array_equal(found, expected)


# -- Fourier transforms

TRANSFORMS = ("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft")


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, 4, 5))
    x = wrap((parts[0] + 1j * parts[1] if dtype in "FD" else parts[0]).astype(dtype))
    if dtype in "FD" and name in ("fft_rfft", "fft_ihfft"):
        with pytest.raises((RuntimeError, NotImplementedError)):
            getattr(ops, name)(x)
        return
    for n, dim, norm in itertools.product((None, 5, 3, 8), (-1, 0, 1), (None, "ortho", "forward", "backward")):
        found, expected = getattr(ops, name)(x, n, dim, norm), getattr(fourier, name)(x, n, dim, norm)
        assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
        np.testing.assert_array_equal(found._array, expected._array)


def test_transforms_are_made_in_the_core() -> None:
    x = wrap(np.ones((3, 4)))
    for call in (lambda: ops.fft_fft(x), lambda: ops.fft_irfft(ops.fft_rfft(x))):
        assert {record.kernel for record in native.explain(call).records} == {"operators", "Python kernel"}
    for wrong in (lambda: ops.fft_fft(x, 0), lambda: ops.fft_fft(x, None, 2), lambda: ops.fft_fft(x, norm="none")):
        with pytest.raises((RuntimeError, IndexError), match=r"data points|out of range|normalization"):
            wrong()


def test_gradients_of_transforms() -> None:
    x = wrap(np.random.default_rng(0).normal(size=(3, 4))).requires_grad_()

    def both(library: Any) -> Tensor:
        spectrum = library.fft_ifft(library.fft_fft(x, None, 0))
        return library.fft_irfft(library.fft_rfft(x)) * (spectrum * spectrum.conj()).real

    found, expected = (ops.sum(both(library)) for library in (ops, fourier))
    (one,), (other,) = (autograd.grad(total, x) for total in (found, expected))
    np.testing.assert_array_equal(one._array, other._array)
