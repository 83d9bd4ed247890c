"""Decompositions of matrices that are not finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime

INFINITE = ([[float("inf"), 1.0], [1.0, 1.0]], [[-float("inf"), float("inf"), 0.0], [1.0, 2.0, 3.0]])


@pytest.mark.parametrize("dtype", [runtime.float32, runtime.float64, runtime.complex64, runtime.complex128])
@pytest.mark.parametrize("rows", INFINITE, ids=["square", "wide"])
@pytest.mark.parametrize(
    "function", [runtime.linalg.svd, runtime.linalg.svdvals, runtime.linalg.pinv], ids=["svd", "svdvals", "pinv"]
)
def test_decompositions_of_infinities_are_refused(
    function: Callable[[Any], Any], rows: list[list[float]], dtype: runtime.dtype
) -> None:
    with pytest.raises(runtime.linalg.LinAlgError, match="non-finite"):
        function(runtime.tensor(rows, dtype=dtype))


@pytest.mark.parametrize("rows", INFINITE, ids=["square", "wide"])
def test_ranks_of_infinities_are_zero(rows: list[list[float]]) -> None:
    several = runtime.stack([runtime.ones(len(rows), len(rows[0])), runtime.tensor(rows)])
    assert runtime.linalg.matrix_rank(several).tolist() == [1, 0]
