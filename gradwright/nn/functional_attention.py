"""Attention of several heads in `nn.functional`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.operators.helpers.attention import softmax_or_zeros

__all__ = ["multi_head_attention_forward"]

Masks = tuple[Tensor | None, Tensor | None]


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def added_mask(mask: Tensor | None, name: str, dtype: DType, other: Tensor | None = None) -> Tensor | None:
    """A mask that is added to scores; one of bools says what is not seen. `other` is one that it is used with."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype != other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both instead.", stacklevel=3
        )
    if mask.is_floating_point():
        return mask
    return ops.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)


def _check_dims(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the first dimensions are times and batch, and not times alone."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    _expect(
        key.dim() == value.dim() == dims,
        f"{kind} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if padding is not None:
        found = f"but found {padding.dim()}-D tensor instead"
        _expect(padding.dim() == dims - 1, f"{kind} `key_padding_mask` to be `None` or {dims - 1}-D {found}")
    if mask is not None:
        found = f"but found {mask.dim()}-D tensor instead"
        _expect(mask.dim() in (2, 3), f"{kind} `attn_mask` to be `None`, 2-D or 3-D {found}")
        if dims == 2 and mask.dim() == 3:
            wanted = (num_heads, query.shape[0], key.shape[0])
            _expect(
                tuple(mask.shape) == wanted,
                f"Expected `attn_mask` shape to be {wanted} but got {tuple(mask.shape)}",
            )
    return dims == 3


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Three linear maps whose weights lie in one Tensor: one product where all are of one Tensor."""
    if query is key and key is value:
        first, second, third = ops.chunk(ops.linear(query, weight, bias), 3, -1)
        return first, second, third
    return _projected_each((query, key, value), ops.chunk(weight, 3, 0), bias)


def _projected_each(
    inputs: Sequence[Tensor], weights: Sequence[Tensor], bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    shifts = (None, None, None) if bias is None else ops.chunk(bias, 3, 0)
    first, second, third = map(ops.linear, inputs, weights, shifts)
    return first, second, third


def _separately(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    _expect(
        tuple(key.shape[:2]) == tuple(value.shape[:2]),
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    size = query.shape[-1]
    checked = []
    for name, weight, given in zip("qkv", weights, (query, key, value), strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        wanted = (size, given.shape[-1])
        _expect(
            tuple(weight.shape) == wanted,
            f"expecting {name} weights shape of {wanted}, but got {tuple(weight.shape)}",
        )
        checked.append(weight)
    return _projected_each((query, key, value), checked, bias)


def _check_mask(mask: Tensor, queries: int, keys: int, rows: int) -> Tensor:
    """The mask for each head of each element of the batch, or for all of them at once."""
    wanted = (queries, keys) if mask.dim() == 2 else (rows, queries, keys)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {tuple(mask.shape)}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _one_more(masks: Masks) -> Masks:
    """Masks that let everybody see one more key."""
    first, second = (None if mask is None else ops.constant_pad_nd(mask, [0, 1], 0) for mask in masks)
    return first, second


def _in_heads(x: Tensor, given: Tensor | None, name: str, rows: int, size: int) -> Tensor:
    """Of shape (rows, times, size) with a row for each head of each element of the batch."""
    if given is None:
        return x.reshape([x.shape[0], rows, size]).transpose(0, 1)
    _expect(given.shape[0] == rows, f"expecting {name}.size(0) of {rows}, but got {given.shape[0]}")
    _expect(given.shape[2] == size, f"expecting {name}.size(2) of {size}, but got {given.shape[2]}")
    return given


def _with_padding(mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, keys: int) -> Tensor | None:
    """One mask of both."""
    if padding is None:
        return mask
    _expect(padding.shape[0] == batch, f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding.shape[0]}")
    _expect(padding.shape[1] == keys, f"Expected key_padded_mask.shape[1] to be {keys}, but got {padding.shape[1]}")
    rows = padding.reshape([batch, 1, 1, keys]).expand([-1, heads, -1, -1]).reshape([batch * heads, 1, keys])
    return rows if mask is None else mask + rows


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, of Tensors with the times first, and the weights where they are needed."""
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, embedding = query.shape
    padding = added_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    causal = is_causal and padding is None and not need_weights  # the hint stands for the mask
    mask = None if causal else added_mask(attn_mask, "attn_mask", query.dtype)
    _expect(
        embedding == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embedding}",
    )
    size = embedding // num_heads
    _expect(size * num_heads == embedding, f"embed_dim {embedding} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        weights = q_proj_weight, k_proj_weight, v_proj_weight
        q, k, v = _separately(query, key, value, weights, in_proj_bias)
    else:
        shapes = f"key shape {key.shape} does not match value shape {value.shape}"
        _expect(tuple(key.shape) == tuple(value.shape), shapes)
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    rows = batch * num_heads
    if mask is not None:
        mask = _check_mask(mask, queries, key.shape[0], rows)
    if bias_k is not None and bias_v is not None:
        _expect(static_k is None, "bias cannot be added to static key.")
        _expect(static_v is None, "bias cannot be added to static value.")
        k = ops.cat([k, bias_k.repeat([1, batch, 1])])
        v = ops.cat([v, bias_v.repeat([1, batch, 1])])
        mask, padding = _one_more((mask, padding))
    else:
        _expect(bias_k is None, "bias_k is set but bias_v is None")
        _expect(bias_v is None, "bias_v is set but bias_k is None")
    q = _in_heads(q, None, "query", rows, size)
    k = _in_heads(k, static_k, "static_k", rows, size)
    v = _in_heads(v, static_v, "static_v", rows, size)
    if add_zero_attn:
        zeros = k.new_zeros([rows, 1, size])
        k, v = ops.cat([k, zeros], 1), ops.cat([v, zeros], 1)
        mask, padding = _one_more((mask, padding))
    keys = k.shape[1]
    mask = _with_padding(mask, padding, batch, num_heads, keys)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        return _with_weights(
            (q, k, v), mask, dropout_p, (out_proj_weight, out_proj_bias), num_heads, batched, average_attn_weights
        )
    if mask is not None:
        each = [batch, num_heads] if mask.shape[0] == rows else [1, 1]
        mask = mask.reshape([*each, *mask.shape[1:]])
    q, k, v = (x.reshape([batch, num_heads, x.shape[1], size]) for x in (q, k, v))
    out = ops.scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    out = out.permute([2, 0, 1, 3]).reshape([queries, batch, embedding])
    out = ops.linear(out, out_proj_weight, out_proj_bias)
    return (out if batched else out.squeeze(1)), None


def _with_weights(
    heads: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None,
    dropout_p: float,
    projection: tuple[Tensor, Tensor | None],
    num_heads: int,
    batched: bool,
    average: bool,
) -> tuple[Tensor, Tensor]:
    """The output, and how much each query sees of each key."""
    q, k, v = heads
    rows, queries, size = q.shape
    batch = rows // num_heads
    scores = ops.bmm(q * math.sqrt(1 / size), k.transpose(-2, -1))
    weights = ops._softmax(scores, -1, False) if mask is None else softmax_or_zeros(scores + mask)
    if dropout_p > 0:
        weights = ops.dropout(weights, dropout_p, True)
    out = ops.bmm(weights, v).transpose(0, 1).reshape([queries, batch, num_heads * size])
    out = ops.linear(out, *projection)
    weights = weights.reshape([batch, num_heads, queries, k.shape[1]])
    if average:
        weights = weights.mean([1])
    return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
