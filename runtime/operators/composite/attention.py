"""Attention: scores, their softmax, and the values by it."""

from __future__ import annotations

import math

from runtime import ops
from runtime.base import dtypes
from runtime.base.array_proxies import DeviceArrayProxy
from runtime.base.tensor import Tensor
from runtime.graph import forward
from runtime.operators import attention_kernels
from runtime.operators.helpers.attention import softmax_or_zeros


def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, enable_gqa: bool
) -> None:
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.scalar_name} key.dtype: {key.dtype.scalar_name} and value.dtype: "
            f"{value.dtype.scalar_name} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if attn_mask is not None and attn_mask.dtype not in (dtypes.bool, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype.scalar_name} and  query.dtype: {query.dtype.scalar_name} instead."
        )
    if enable_gqa:
        with_heads = min(query.dim(), key.dim(), value.dim()) >= 3
        if not with_heads or any(not x.shape[-3] or query.shape[-3] % x.shape[-3] for x in (key, value)):
            raise RuntimeError("Number of heads in key and value must divide the number of heads in query")


def _is_one_kernel(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float) -> bool:
    """Whether the kernel that computes all at once takes this: four dimensions, and a mask without gradient; it is one
    of main memory.
    """
    if type(query._array) is DeviceArrayProxy or dropout_p or not attention_kernels.enabled["flash"]:
        return False
    if query.dtype is not dtypes.float32 and query.dtype is not dtypes.float64:
        return False
    batch, heads, length, size = query.shape if query.dim() == 4 else (0, 0, 0, 0)
    keys = key.shape[2] if key.dim() == 4 else 0
    if not batch * heads * length * size * keys:
        return False
    if key.shape != (batch, heads, keys, size) or value.shape != key.shape:
        return False
    if attn_mask is None:
        return True
    if attn_mask.requires_grad or forward.active():
        return False
    lead = {2: (), 4: (batch, heads)}.get(attn_mask.dim())
    if lead is None:
        return False
    scores = (*lead, length, keys)
    return all(given in (1, wanted) for given, wanted in zip(attn_mask.shape, scores, strict=True))


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key^T * scale + mask) @ value`; a mask of bools says which keys a query may see."""
    _check_attention(query, key, value, attn_mask, is_causal, enable_gqa)
    if enable_gqa:
        heads = query.shape[-3]
        key = ops.repeat_interleave(key, heads // key.shape[-3], -3)
        value = ops.repeat_interleave(value, heads // value.shape[-3], -3)
    if _is_one_kernel(query, key, value, attn_mask, dropout_p):
        if attn_mask is not None and attn_mask.dtype is dtypes.bool:
            attn_mask = query.new_zeros(attn_mask.shape).masked_fill(attn_mask.logical_not(), -math.inf)
        out: Tensor = ops._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
        return out
    if not attention_kernels.enabled["math"]:
        attention_kernels.refuse()
    scores = ops.matmul(query * attention_kernels.factor_of(query.shape[-1], scale), key.transpose(-2, -1))
    if is_causal:
        attn_mask = ops.tril(query.new_ones([query.shape[-2], key.shape[-2]], dtype=dtypes.bool))
    if attn_mask is None:
        weights = ops._softmax(scores, -1, False)
    elif attn_mask.dtype is dtypes.bool:
        weights = softmax_or_zeros(scores.masked_fill(attn_mask.logical_not(), -math.inf))
    else:
        weights = softmax_or_zeros(scores + attn_mask)
    if dropout_p:
        weights = ops.dropout(weights, dropout_p, True)
    return ops.matmul(weights, value)
