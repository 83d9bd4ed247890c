"""Gradients of distances, and how drawn numbers move, in the core: as the kernels in Python have them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from runtime.operators.kernels import distances, implicit
from support.native_core import needs_core

pytestmark = needs_core


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize(("rows", "size"), [(0, 3), (1, 3), (2, 1), (7, 3), (30, 65)])
def test_distances(rows: int, size: int, p: float, dtype: str) -> None:
    random = np.random.default_rng(rows)
    x, y = random.standard_normal((2, rows, size)).round(1).astype(dtype)
    of_one, of_two = distances.pdist_forward(x, p), distances.cdist_forward(x, y, p, None)
    grads = [random.standard_normal(each.shape).astype(dtype) for each in (of_one, of_two)]
    tensors: list[Any] = [torch.tensor(each) for each in (x, y, of_one, of_two, *grads)]
    found = torch.ops._pdist_backward(tensors[4], tensors[0], p, tensors[2])
    other = torch.ops._cdist_backward(tensors[5], tensors[0], tensors[1], p, tensors[3])
    tolerance = 100 * float(np.finfo(dtype).eps)
    wanted = distances.pdist_backward(grads[0], x, p, of_one), distances.cdist_backward(grads[1], x, y, p, of_two)
    np.testing.assert_allclose(found.numpy(), wanted[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(other.numpy(), wanted[1], rtol=tolerance, atol=tolerance)


@np.errstate(all="ignore")  # as kernels are called
@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 1e-6), ("f8", 1e-10)])
def test_numbers_that_are_drawn(dtype: str, tolerance: float) -> None:
    random = np.random.default_rng(0)
    shape = (10.0 ** random.uniform(-2, 3.5, 700)).astype(dtype)
    drawn = np.maximum(random.standard_gamma(shape), 1e-30).astype(dtype)
    found = torch.ops._standard_gamma_grad(torch.tensor(shape), torch.tensor(drawn))
    np.testing.assert_allclose(found.numpy(), implicit.standard_gamma_grad(shape, drawn), rtol=tolerance)
    others = (10.0 ** random.uniform(-2, 3.5, 700)).astype(dtype)
    part = np.clip(random.beta(shape, others), 1e-6, 1 - 1e-6).astype(dtype)
    moved = torch.ops._dirichlet_grad(*map(torch.tensor, (part, shape, shape + others)))
    np.testing.assert_allclose(moved.numpy(), implicit.dirichlet_grad(part, shape, shape + others), rtol=tolerance)
