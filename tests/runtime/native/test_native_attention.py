"""Attention as a native loop, forward and backward, against the Python kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import native, ops
from runtime.base.tensor import wrap
from runtime.operators.kernels import attention
from support.native_core import needs_core

pytestmark = needs_core

# batch, heads, length, keys, size: one block of queries and several, rows shorter and longer than a vector.
SIZES = [
    (1, 1, 1, 1, 1),
    (2, 3, 5, 7, 4),
    (2, 2, 70, 70, 8),
    (1, 2, 200, 150, 16),
    (1, 1, 130, 300, 3),
    (1, 1, 1, 300, 8),
    (1, 1, 10, 9000, 2),
]


def operands(sizes: tuple[int, ...], dtype: str, apart: bool) -> list[np.ndarray]:
    """Query, key, value and a gradient; heads apart in memory as they come out of one linear map."""
    rng = np.random.default_rng(0)
    batch, heads, length, keys, size = sizes

    def made(rows: int) -> np.ndarray:
        if apart:
            return (
                rng.standard_normal((batch, rows, heads, 3 * size)).astype(dtype)[..., size : 2 * size].swapaxes(1, 2)
            )
        return rng.standard_normal((batch, heads, rows, size)).astype(dtype)

    return [made(length), made(keys), made(keys), made(length)]


def masks(sizes: tuple[int, ...], dtype: str) -> list[np.ndarray | None]:
    """None, one for each query of which the first sees nothing, one for each head, and one for all queries."""
    rng = np.random.default_rng(1)
    batch, heads, length, keys, _ = sizes
    of_queries, of_all = rng.standard_normal((length, keys)), rng.standard_normal((batch, heads, length, keys))
    of_queries[0] = -np.inf
    of_all[of_all < -0.5] = -np.inf
    return [
        None,
        *(each.astype(dtype) for each in (of_queries, of_all, rng.standard_normal((1, 1, 1, keys)), of_queries[:1])),
    ]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_results(sizes: tuple[int, ...], apart: bool, dtype: str) -> None:
    query, key, value, grad = operands(sizes, dtype, apart)
    for mask in masks(sizes, dtype):
        for causal in (False, True):
            expected = attention.flash_attention(query, key, value, 0.0, causal, mask, 0.4)
            more = attention.flash_attention_backward(grad, query, key, value, *expected, 0.0, causal, mask, 0.4)
            q, k, v, g = (wrap(array) for array in (query, key, value, grad))
            m = None if mask is None else wrap(mask)
            found = ops._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=m, scale=0.4)
            gradients = ops._scaled_dot_product_flash_attention_for_cpu_backward(
                g, q, k, v, *found, 0.0, causal, attn_mask=m, scale=0.4
            )
            for one, other in zip((*found, *gradients), (*expected, *more), strict=True):
                assert (one._array.dtype, one._array.shape) == (other.dtype, other.shape)
                if 1 not in other.shape:
                    assert one._array.strides == other.strides
                tolerance = 3e-5 if dtype == "f4" else 1e-13
                np.testing.assert_allclose(one._array, other, tolerance, tolerance * max(1, np.abs(other).max()))


def test_the_core_computes_it() -> None:
    tensors = [wrap(array).requires_grad_() for array in operands((1, 2, 3, 3, 4), "f4", True)[:3]]
    explanation = native.explain(
        lambda: gradwright.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True).sum().backward()
    )
    kernels = {call.name: call.kernel for call in explanation.records}
    name = "_scaled_dot_product_flash_attention_for_cpu"
    assert kernels[name] == kernels[f"{name}_backward"] == "native loop"


def test_special_values() -> None:
    """NaN spreads over its row alone, and so does an infinite score."""
    query, key, value, _ = operands((1, 1, 4, 6, 3), "f4", False)
    query[0, 0, 1, 0], query[0, 0, 2, 1] = np.nan, np.inf
    with np.errstate(all="ignore"):
        expected = attention.flash_attention(query, key, value, 0.0, False, None, None)
    found = ops._scaled_dot_product_flash_attention_for_cpu(*(wrap(array) for array in (query, key, value)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one._array, other, 1e-5)
    assert np.isnan(found[0]._array[0, 0, 1:3]).all()
    assert np.isfinite(found[0]._array[0, 0, [0, 3]]).all()


def test_threads_change_nothing() -> None:
    query, key, value, grad = (wrap(array) for array in operands((2, 3, 70, 90, 8), "f4", True))
    before = gradwright.get_num_threads()

    def run(threads: int) -> list[Any]:
        gradwright.set_num_threads(threads)
        out = ops._scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, True)
        return [
            *out,
            *ops._scaled_dot_product_flash_attention_for_cpu_backward(grad, query, key, value, *out, 0.0, True),
        ]

    try:
        for one, other in zip(run(1), run(4), strict=True):
            np.testing.assert_array_equal(one._array, other._array)
    finally:
        gradwright.set_num_threads(before)
