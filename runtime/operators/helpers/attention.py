"""Derivatives of attention: of the values by softmax(query key^T * scale + mask), and of its gradients.

In all of them S are the scores and P the weights; sums are over the keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.operators.attention_kernels import factor_of


def softmax_or_zeros(scores: Tensor) -> Tensor:
    """The softmax of each row, and zeros where all of it is minus infinity: a query that may see nothing.

    These rows are replaced before, and not only after: the derivative of their softmax is NaN.
    """
    if scores.numel() == 0:
        return ops._softmax(scores, -1, False)
    empty = (scores == -math.inf).all(-1, True)
    return ops._softmax(scores.masked_fill(empty, 0), -1, False).masked_fill(empty, 0)


def _weights(query: Tensor, key: Tensor, is_causal: bool, attn_mask: Tensor | None, factor: float) -> Tensor:
    scores = ops.matmul(query, key.transpose(-2, -1)) * factor
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        hidden = ops.tril(query.new_ones([query.size(-2), key.size(-2)], dtype=dtypes.bool)).logical_not()
        scores = scores.masked_fill(hidden, -math.inf)
    return softmax_or_zeros(scores)


def _along(weights: Tensor, changes: Tensor) -> Tensor:
    """The derivative of the softmax, along changes of the scores or for a gradient of the weights: it is symmetric."""
    return weights * (changes - (weights * changes).sum([-1], True))


def _product_jvp(left_t: Tensor, right_t: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The tangent of left right^T."""
    return ops.matmul(left_t, right.transpose(-2, -1)) + ops.matmul(left, right_t.transpose(-2, -1))


def _centred(grad_out: Tensor, value: Tensor, out: Tensor) -> Tensor:
    """The gradient of the weights less its mean by them: dP - D."""
    return ops.matmul(grad_out, value.transpose(-2, -1)) - (grad_out * out).sum([-1], True)


def attention_jvp(
    query_t: Tensor,
    key_t: Tensor,
    value_t: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> Tensor:
    """The tangent of the result."""
    factor = factor_of(query.size(-1), scale)
    weights = _weights(query, key, is_causal, attn_mask, factor)
    scores_t = _product_jvp(query_t, key_t, query, key) * factor
    return ops.matmul(_along(weights, scores_t), value) + ops.matmul(weights, value_t)


def attention_double_backward(
    grad_of_query: Tensor | None,
    grad_of_key: Tensor | None,
    grad_of_value: Tensor | None,
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of grad_out, query, key, value and out.

    With a, b and c for the gradients of dQ = s dS K, dK = s dS^T Q and dV = P^T g, where s is the scale, g is
    `grad_out`, dP = g V^T, D = sum(g out) and dS = P (dP - D): of dS it is G = s (a K^T + Q b^T), of dP then P G, of D
    -sum(P G), and of P G (dP - D) + g c^T, which goes through the softmax to the scores.
    """
    factor = factor_of(query.size(-1), scale)
    weights = _weights(query, key, is_causal, attn_mask, factor)
    centred = _centred(grad_out, value, out)
    of_weights = of_grad_out = of_query = of_key = of_value = of_out = None
    of_changes = _sum(
        None if grad_of_query is None else ops.matmul(grad_of_query, key.transpose(-2, -1)),
        None if grad_of_key is None else ops.matmul(query, grad_of_key.transpose(-2, -1)),
    )
    if of_changes is not None:
        of_changes = of_changes * factor
        of_products = weights * of_changes
        along = of_products.sum([-1], True)
        of_weights = of_changes * centred
        of_grad_out = ops.matmul(of_products, value) - along * out
        of_out = -along * grad_out
        of_value = ops.matmul(of_products.transpose(-2, -1), grad_out)
        scores = weights * centred * factor
        if grad_of_key is not None:
            of_query = ops.matmul(scores, grad_of_key)
        if grad_of_query is not None:
            of_key = ops.matmul(scores.transpose(-2, -1), grad_of_query)
    if grad_of_value is not None:
        of_grad_out = _sum(of_grad_out, ops.matmul(weights, grad_of_value))
        of_weights = _sum(of_weights, ops.matmul(grad_out, grad_of_value.transpose(-2, -1)))
    if of_weights is not None:
        of_scores = _along(weights, of_weights) * factor
        of_query = _sum(of_query, ops.matmul(of_scores, key))
        of_key = _sum(of_key, ops.matmul(of_scores.transpose(-2, -1), query))
    gradients = (of_grad_out, of_query, of_key, of_value, of_out)
    first, second, third, fourth, fifth = (
        gradient if wanted else None for gradient, wanted in zip(gradients, grad_input_mask, strict=True)
    )
    return first, second, third, fourth, fifth


def _sum(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    return right if left is None else left if right is None else left + right


def attention_backward_jvp(
    grad_out_t: Tensor,
    query_t: Tensor,
    key_t: Tensor,
    value_t: Tensor,
    out_t: Tensor,
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of the gradients of query, key and value, in the notation of `attention_double_backward`."""
    factor = factor_of(query.size(-1), scale)
    weights = _weights(query, key, is_causal, attn_mask, factor)
    centred = _centred(grad_out, value, out)
    scores_t = _product_jvp(query_t, key_t, query, key) * factor
    weights_t = _along(weights, scores_t)
    changes_t = _product_jvp(grad_out_t, value_t, grad_out, value)
    centred_t = changes_t - (grad_out_t * out + grad_out * out_t).sum([-1], True)
    scores = weights * centred * factor
    moved = (weights_t * centred + weights * centred_t) * factor
    return (
        ops.matmul(moved, key) + ops.matmul(scores, key_t),
        ops.matmul(moved.transpose(-2, -1), query) + ops.matmul(scores.transpose(-2, -1), query_t),
        ops.matmul(weights_t.transpose(-2, -1), grad_out) + ops.matmul(weights.transpose(-2, -1), grad_out_t),
    )
