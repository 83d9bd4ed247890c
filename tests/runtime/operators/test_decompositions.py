"""Decompositions of matrices that are not finite."""

from __future__ import annotations

import pytest

import runtime

INFINITE = ([[float("inf"), 1.0], [1.0, 1.0]], [[-float("inf"), float("inf"), 0.0], [1.0, 2.0, 3.0]])


@pytest.mark.parametrize("dtype", [runtime.float32, runtime.float64, runtime.complex64, runtime.complex128])
@pytest.mark.parametrize("rows", INFINITE, ids=["square", "wide"])
def test_decompositions_of_infinities_are_nan(rows: list[list[float]], dtype: runtime.dtype) -> None:
    finite = runtime.ones(len(rows), len(rows[0]), dtype=dtype)
    several = runtime.stack([finite, runtime.tensor(rows, dtype=dtype)])
    for found, known in zip(runtime.linalg.svd(several), runtime.linalg.svd(finite), strict=True):
        runtime.testing.assert_close(found[0], known)
        assert found[1].isnan().all()
    assert runtime.linalg.svdvals(several)[1].isnan().all()
    assert runtime.linalg.matrix_norm(several, "nuc").isnan().tolist() == [False, True]
    assert runtime.linalg.matrix_rank(several).tolist() == [1, 0]


def test_nan_is_refused() -> None:
    with pytest.raises(runtime.linalg.LinAlgError):
        runtime.linalg.svd(runtime.full((2, 2), float("nan")))
