"""Attention of several heads as one kernel, whose weights are not kept: they are computed again for the gradients.

The softmax over the keys is that of Dao et al., "FlashAttention" (2022), section 3.1: what is kept of it is the
logarithm of the sum of its exponentials.
"""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, is_half, type_name
from runtime.operators.attention_kernels import factor_of

_NAME = "scaled_dot_product_attention_flash_attention"


def _check(query: Array, key: Array, value: Array, dropout_p: float, mask: Array | None) -> None:
    if not query.ndim == key.ndim == value.ndim == 4:
        raise RuntimeError(f"{_NAME}: Accept only 4 dims inputs shape of {{B, H, T, K}}")
    if dropout_p:
        raise RuntimeError(f"{_NAME}: Currently do not support dropout > 0")
    for other in (key, value):
        if other.dtype != query.dtype:
            raise RuntimeError(f"expected scalar type {type_name(query.dtype)} but found {type_name(other.dtype)}")
    if not query.shape[3] == key.shape[3] == value.shape[3]:
        raise RuntimeError(f"{_NAME}: Q/K/V should have the same head size")
    if key.shape != value.shape or query.shape[:2] != key.shape[:2]:
        raise RuntimeError(f"{_NAME}: Q/K/V should have the same batch size and number of heads")
    if mask is None:
        return
    if mask.dtype not in (query.dtype, np.float32):
        raise RuntimeError(f"{_NAME}: Attention mask is the same data type as query")
    if mask.ndim not in (2, 4):
        raise RuntimeError(f"{_NAME}: Attention mask dim in {{2, 4}}")
    scores = (*query.shape[:3], key.shape[2])
    if any(size not in (1, wanted) for size, wanted in zip(mask.shape[::-1], scores[::-1], strict=False)):
        raise RuntimeError(f"{_NAME}: Attention mask of shape {list(mask.shape)} does not fit scores of {list(scores)}")


def _computed(array: Array) -> Array:
    """Half precision in float32."""
    return array.astype(np.float32) if is_half(array.dtype) else array


def _scores(query: Array, key: Array, is_causal: bool, mask: Array | None, factor: float) -> Array:
    scores: Array = np.matmul(query, key.swapaxes(2, 3))
    scores *= scores.dtype.type(factor)
    if mask is not None:
        scores += mask.astype(scores.dtype, copy=False)
    if is_causal:
        seen: Array = np.tri(*scores.shape[2:]) > 0
        np.copyto(scores, -np.inf, where=~seen)
    return scores


def flash_attention(
    query: Array,
    key: Array,
    value: Array,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Array | None,
    scale: float | None,
) -> tuple[Array, Array]:
    """The values, weighted by the softmax of the scores, and the logarithm of the sum of their exponentials.

    A query that may see nothing gets zeros, and 0 for the logarithm.

    Args:
        query: (batch, heads, length, size)
        key: (batch, heads, keys, size)
        value: (batch, heads, keys, size)
        dropout_p: 0
        is_causal: whether a query sees the keys up to its own place only.
        attn_mask: what is added to the scores, (batch, heads, length, keys) or what broadcasts to it.
        scale: the scores are multiplied by it; 1 / sqrt(size) for None.

    Returns:
        (batch, heads, length, size), which lies in memory as `query` does; (batch, heads, length), of which the heads
        of a query lie together.
    """
    _check(query, key, value, dropout_p, attn_mask)
    scores = _scores(_computed(query), _computed(key), is_causal, attn_mask, factor_of(query.shape[3], scale))
    largest = scores.max(3, keepdims=True, initial=-np.inf)
    largest[largest == -np.inf] = 0
    scores -= largest
    np.exp(scores, out=scores)
    total = scores.sum(3, keepdims=True)
    total[total == 0] = 1
    out = np.empty_like(query)
    np.divide(np.matmul(scores, _computed(value)), total, out=out, casting="same_kind")
    logarithm = (largest + np.log(total))[..., 0]
    return out, np.ascontiguousarray(logarithm.swapaxes(1, 2)).swapaxes(1, 2)


def flash_attention_backward(
    grad_out: Array,
    query: Array,
    key: Array,
    value: Array,
    out: Array,
    logsumexp: Array,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Array | None,
    scale: float | None,
) -> tuple[Array, Array, Array]:
    """The gradients of query, key and value, which lie by (batch, length, heads, size) in memory.

    With scores S, weights P = softmax(S) and dP = grad V^T they are, but for the scale, dS K, dS^T Q and P^T grad,
    where dS = P (dP - sum(grad out)). `logsumexp` keeps the exponentials small, and they are divided by their sum as
    always: the result does not depend on it.
    """
    _check(query, key, value, dropout_p, attn_mask)
    grad, q, k, v = (_computed(array) for array in (grad_out, query, key, value))
    factor = factor_of(query.shape[3], scale)
    weights = _scores(q, k, is_causal, attn_mask, factor)
    weights -= logsumexp[..., None].astype(weights.dtype, copy=False)
    np.exp(weights, out=weights)
    total = weights.sum(3, keepdims=True)
    total[total == 0] = 1
    weights /= total
    changes = np.matmul(grad, v.swapaxes(2, 3))
    changes -= np.einsum("...k,...k->...", grad, _computed(out))[..., None]
    changes *= weights
    changes *= changes.dtype.type(factor)
    products = (
        np.matmul(changes, k),
        np.matmul(changes.swapaxes(2, 3), q),
        np.matmul(weights.swapaxes(2, 3), grad),
    )
    of_query, of_key, of_value = (
        np.ascontiguousarray(product.swapaxes(1, 2), query.dtype).swapaxes(1, 2) for product in products
    )
    return of_query, of_key, of_value
