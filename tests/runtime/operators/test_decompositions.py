"""Decompositions of matrices that are not finite."""

from __future__ import annotations

import pytest

import gradwright

INFINITE = ([[float("inf"), 1.0], [1.0, 1.0]], [[-float("inf"), float("inf"), 0.0], [1.0, 2.0, 3.0]])


@pytest.mark.parametrize("dtype", [gradwright.float32, gradwright.float64, gradwright.complex64, gradwright.complex128])
@pytest.mark.parametrize("rows", INFINITE, ids=["square", "wide"])
def test_decompositions_of_infinities_are_nan(rows: list[list[float]], dtype: gradwright.dtype) -> None:
    finite = gradwright.ones(len(rows), len(rows[0]), dtype=dtype)
    several = gradwright.stack([finite, gradwright.tensor(rows, dtype=dtype)])
    for found, known in zip(gradwright.linalg.svd(several), gradwright.linalg.svd(finite), strict=True):
        gradwright.testing.assert_close(found[0], known)
        assert found[1].isnan().all()
    assert gradwright.linalg.svdvals(several)[1].isnan().all()
    assert gradwright.linalg.matrix_norm(several, "nuc").isnan().tolist() == [False, True]
    assert gradwright.linalg.matrix_rank(several).tolist() == [1, 0]


def test_nan_is_refused() -> None:
    with pytest.raises(gradwright.linalg.LinAlgError):
        gradwright.linalg.svd(gradwright.full((2, 2), float("nan")))
