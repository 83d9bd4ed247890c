"""Normalization of groups of channels as native loops, against the Python kernel and the composite function."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.composite import nn as composite
from runtime.operators.kernels import nn as kernels
from support.native_core import needs_core

pytestmark = needs_core


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("parameters", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize(("shape", "group"), [((2, 4, 3), 2), ((3, 6, 5, 7), 3), ((2, 8), 4), ((1, 2, 3000), 1)])
def test_forward_and_backward(shape: tuple[int, ...], group: int, parameters: tuple[bool, bool], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, grad = (rng.standard_normal(shape).astype(dtype) + 1 for _ in range(2))
    w, b = (rng.standard_normal(shape[1]).astype(dtype) if given else None for given in parameters)
    sizes = shape[0], shape[1], int(np.prod(shape[2:])), group
    expected = kernels.native_group_norm(x, w, b, *sizes, 1e-3)
    weight, bias = (None if array is None else wrap(array) for array in (w, b))
    given = wrap(x), weight, bias, *sizes, 1e-3
    found = ops.native_group_norm(*given)
    assert [call.kernel for call in native.explain(ops.native_group_norm, *given).records] == ["native loop"]
    tolerance = 2e-5 if dtype == "f4" else 1e-12
    for one, other in zip(found, expected, strict=True):
        assert (one._array.dtype, one._array.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one._array, other, tolerance, tolerance)
    for mask in itertools.product([True, False], repeat=3):
        arguments: Any = (wrap(grad), wrap(x), *(wrap(each) for each in expected[1:]), weight, *sizes, mask)
        made = ops.native_group_norm_backward(*arguments)
        for one, other in zip(made, composite.native_group_norm_backward(*arguments), strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                assert one.shape == other.shape
                np.testing.assert_allclose(one._array, other._array, tolerance, tolerance * np.abs(other._array).max())


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    x = gradwright.tensor(rng.standard_normal((16, 32, 20, 20)).astype("f4"), requires_grad=True)
    w = gradwright.ones(32, requires_grad=True)
    before = gradwright.get_num_threads()
    found = []
    try:
        for threads in (1, 4):
            gradwright.set_num_threads(threads)
            out = gradwright.nn.functional.group_norm(x, 8, w, w)
            found.append([out, *gradwright.autograd.grad((out * out).sum(), (x, w))])
    finally:
        gradwright.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())


def test_what_is_recorded_is_composed() -> None:
    x = gradwright.randn(2, 4, 3, dtype=gradwright.float64, requires_grad=True)
    w = gradwright.randn(4, dtype=gradwright.float64, requires_grad=True)
    assert gradwright.autograd.gradgradcheck(lambda x, w: gradwright.nn.functional.group_norm(x, 2, w, w), (x, w))
