"""Cholesky factors of small matrices and of large ones, which go to LAPACK one by one."""

from __future__ import annotations

import numpy as np
import pytest

import gradwright


@pytest.mark.parametrize("size", [3, 47, 48, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_factors_and_the_triangle_that_is_read(size: int, dtype: str, upper: bool) -> None:
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, 2, size, size))
    root = parts[0] + 1j * parts[1] if dtype.startswith("complex") else parts[0]
    matrix = (root @ root.conj().swapaxes(-1, -2) + size * np.eye(size)).astype(dtype)
    spoilt = matrix.copy()
    spoilt[:, *(np.tril_indices(size, -1) if upper else np.triu_indices(size, 1))] = 99
    factor = gradwright.linalg.cholesky(gradwright.tensor(spoilt), upper=upper)
    other = (factor.tril(-1) if upper else factor.triu(1)).abs().max().item()
    product = factor.mH @ factor if upper else factor @ factor.mH
    assert other == 0
    np.testing.assert_allclose(product.numpy(), matrix, 1e-3, 1e-3)
    assert (gradwright.real(factor.diagonal(dim1=-2, dim2=-1)) > 0).all()


@pytest.mark.parametrize("size", [4, 60])
def test_the_minor_that_is_not_positive(size: int) -> None:
    matrices = gradwright.eye(size).repeat(3, 1, 1)
    matrices[1, 2, 2] = -1
    factor, info = gradwright.linalg.cholesky_ex(matrices)
    assert info.tolist() == [0, 3, 0]
    assert (factor[0] == gradwright.eye(size)).all()
    with pytest.raises(gradwright.linalg.LinAlgError, match="order 3"):
        gradwright.linalg.cholesky(matrices)
