"""Makers of samples."""

from __future__ import annotations

import numpy as np
import pytest

from generated.registry import OPERATORS
from gradwright.testing import make_sample
from runtime.base import dtypes


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "complex64"])
def test_definite_matrices_are_of_the_dtype_that_is_asked_for(name: str) -> None:
    sample = make_sample(OPERATORS["linalg_det"], "P(3, 3)", getattr(dtypes, name), True)
    (matrix,) = sample.args
    assert matrix.dtype is getattr(dtypes, name)
    assert matrix.requires_grad
    wide = matrix.detach().to(dtypes.complex64 if matrix.is_complex() else dtypes.float32).numpy()
    assert np.allclose(wide, wide.conj().T, atol=1e-2)
    assert (np.linalg.eigvalsh(wide) > 0.5).all()
