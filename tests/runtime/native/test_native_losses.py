"""Losses, gated halves and what takes NaN for zero as native loops, against the Python kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import comparison, loss, nn, reduction
from support.native_core import needs_core

pytestmark = needs_core

SHAPES = [(), (1,), (7,), (3, 5), (2, 0, 5), (300, 70)]


def array(shape: tuple[int, ...], dtype: str, seed: int = 0, *, special: bool = True) -> npt.NDArray[Any]:
    x = np.asarray(np.random.default_rng(seed).normal(size=shape) * 3)
    if special and x.size > 3:
        x.reshape(-1)[:4] = (np.inf, -np.inf, np.nan, -0.0)
    return np.asarray(x, dtype)


def check(found: Any, expected: npt.NDArray[Any], dtype: str) -> None:
    assert (found._array.dtype, found._array.shape) == (expected.dtype, expected.shape)
    tolerance = 16 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(found._array, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("name", "more"),
    [("smooth_l1_loss", (0.7,)), ("huber_loss", (0.7,)), ("soft_margin_loss", ())],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.filterwarnings("ignore")
def test_losses(name: str, more: tuple[float, ...], shape: tuple[int, ...], dtype: str) -> None:
    x, target = array(shape, dtype), array(shape, dtype, 1)
    for how in (0, 1, 2):
        for one, other in ((x, target), (x.T, target.T), (x[..., ::-1] if shape else x, target)):
            expected = getattr(loss, name)(one, other, how, *more)
            check(getattr(ops, name)(wrap(one), wrap(other), how, *more), expected, dtype)
            grad = array(one.shape if how == 0 else (), dtype, 2, special=False)
            slope = f"{name}_backward"
            found = getattr(ops, slope)(wrap(grad), wrap(one), wrap(other), how, *more)
            check(found, getattr(loss, slope)(grad, one, other, how, *more), dtype)


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss", "soft_margin_loss"])
def test_which_losses_are_native(name: str) -> None:
    x, grad = wrap(np.ones((2, 3), np.float32)), wrap(np.ones((), np.float32))
    more = () if name == "soft_margin_loss" else (0.5,)
    for call in (
        lambda: getattr(ops, name)(x, x, 1, *more),
        lambda: getattr(ops, f"{name}_backward")(grad, x, x, 1, *more),
    ):
        assert [record.kernel for record in native.explain(call).records] == ["native loop"]


@pytest.mark.parametrize("number", [0.0, -1.0])
def test_numbers_that_python_looks_at(number: float) -> None:
    x, y = wrap(np.array([1.0, -2.0])), wrap(np.array([0.5, 2.0]))
    with pytest.raises(RuntimeError, match="non-positive values for delta"):
        ops.huber_loss(x, y, 1, number)
    if number:
        with pytest.raises(RuntimeError, match="negative values for beta"):
            ops.smooth_l1_loss(x, y, 1, number)
    else:
        assert ops.smooth_l1_loss(x, y, 2, number).item() == 4.5
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        ops.soft_margin_loss(x, wrap(np.ones((3, 2))))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(2,), (6, 4), (3, 2, 8), (0, 4), (2, 40_000), (400, 2, 50)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_glu(shape: tuple[int, ...], dtype: str) -> None:
    x = array(shape, dtype)
    for dim in range(-len(shape), len(shape)):
        if shape[dim] % 2:
            with pytest.raises(RuntimeError, match="Halving dimension must be even"):
                ops.glu(wrap(x), dim)
        else:
            check(ops.glu(wrap(x), dim), nn.glu(x, dim), dtype)
            check(ops.glu(wrap(np.asfortranarray(x)), dim), nn.glu(x, dim), dtype)
    assert [r.kernel for r in native.explain(lambda: ops.glu(wrap(array((4,), dtype)))).records] == ["native loop"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nan_and_infinities(shape: tuple[int, ...], dtype: str) -> None:
    x = array(shape, dtype)
    numbers: list[tuple[float | None, ...]] = [(None, None, None), (1.5, None, -2.0), (np.inf, 7.0, np.nan)]
    for each in numbers:
        found, expected = ops.nan_to_num(wrap(x), *each), comparison.nan_to_num(x, *each)
        assert found._array.dtype == expected.dtype
        np.testing.assert_array_equal(found._array, expected)
    x = np.asarray(np.where(np.isinf(x), 0, x), dtype)
    for dim in (None, [0], [-1]) if shape else (None,):
        for keepdim in (False, True):
            axes = None if dim is None else tuple(dim)
            check(ops.nansum(wrap(x), dim, keepdim), np.asarray(np.nansum(x, axes, keepdims=keepdim)), dtype)
            check(ops.nansum(wrap(x), dim, keepdim), reduction.nansum(x, axes, keepdim), dtype)
