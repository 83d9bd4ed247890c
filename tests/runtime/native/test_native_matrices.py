"""Small matrices in the core, against LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from runtime.native import core
from runtime.operators.kernels import _matrices as matrices
from support.native_core import needs_core

pytestmark = needs_core

SHAPES = [(1, 1), (3, 3), (2, 3, 3), (4, 3, 5), (2, 2, 6, 4), (40, 32, 32), (0, 3, 3), (3000, 3, 3)]


def array(shape: tuple[int, ...], dtype: str, seed: int = 0) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def by_lapack(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(matrices, "core", None)
        return call()


def check(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = 1e5 * float(np.finfo(found.dtype).eps)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors(shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = array(shape, dtype)
    for given in (matrix, matrix.swapaxes(-1, -2), matrix[..., ::-1]):
        before = given.copy()
        found = matrices.lu_factors(given)
        expected = by_lapack(monkeypatch, lambda given=given: matrices.lu_factors(given))
        for one, other in zip(found, expected, strict=True):
            check(one, other) if one.dtype.kind == "f" else np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(given, before)


def test_pivots_that_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    singular = np.array(
        [[[0.0, 1.0], [0.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]]]
    )
    factors, pivots, info = matrices.lu_factors(singular)
    expected = by_lapack(monkeypatch, lambda: matrices.lu_factors(singular))
    assert info.tolist() == expected[2].tolist() == [1, 2, 1, 0]
    np.testing.assert_array_equal(pivots, expected[1])
    np.testing.assert_allclose(factors, expected[0])
    tiny = np.full((2, 2), np.nextafter(0, 1)) * [[1, 2], [3, 1]]
    assert np.isfinite(matrices.lu_factors(tiny)[0]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_lapack_does_among_nan(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = array((2, 3, 3), "f8")
    matrix[0, 1, 1] = value
    expected = by_lapack(monkeypatch, lambda: matrices.lu_factors(matrix))
    for one, other in zip(matrices.lu_factors(matrix), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 5), (3000, 3, 3), (0, 2, 2), (2, 32, 32)], ids=str)
@pytest.mark.parametrize("width", [0, 1, 4])
def test_solutions(width: int, shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = array(shape, dtype) + (4 * np.eye(shape[-1])).astype(dtype)
    sides = array((*shape[:-1], width), dtype, 1)
    factors, pivots, _ = matrices.lu_factors(matrix)
    calls: list[Callable[[], npt.NDArray[Any]]] = [
        lambda transposed=transposed: matrices.lu_solved(factors, pivots, sides, transposed) for transposed in (0, 1, 2)
    ]
    calls += [
        lambda lower=lower, unit=unit: matrices.triangles_solved(factors, sides, lower=lower, unit=unit)
        for lower in (False, True)
        for unit in (False, True)
    ]
    for call in calls:
        found, expected = call(), by_lapack(monkeypatch, call)
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        check(found / np.asarray(scale, dtype), expected / np.asarray(scale, dtype))


def test_a_diagonal_of_zero_divides() -> None:
    found = matrices.triangles_solved(np.diag([2.0, 0.0]), np.array([[1.0, -2.0], [4.0, -4.0]]), lower=True)
    assert found.tolist() == [[0.5, -1.0], [np.inf, -np.inf]]


def test_what_the_core_refuses() -> None:
    good, info, pivots = np.ones((2, 3, 3)), np.zeros(2, np.int32), np.zeros((2, 3), np.int32)
    for arguments in (
        (good[:, ::-1], pivots, info),
        (good, pivots.astype(int), info),
        (good.astype("c8"), pivots, info),
    ):
        with pytest.raises(TypeError, match="a batch of matrices"):
            core.factor_matrices(*arguments)
    with pytest.raises(ValueError, match="do not belong together"):
        core.factor_matrices(good, pivots[:1], info)
    with pytest.raises(ValueError, match="do not belong together"):
        core.solve_triangles(good, np.ones((2, 2, 1)), True, False)
    for outside in (0, 4):
        with pytest.raises(ValueError, match="do not belong together"):
            core.solve_factors(good, np.full((2, 3), outside, np.int32), np.ones((2, 3, 1)), False)
    with pytest.raises(TypeError, match="expected 3 arguments"):
        core.factor_matrices(good)
