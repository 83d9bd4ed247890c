"""Softmax, dropout, normalization of layers and groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.base.tensor import Tensor
from runtime.operators.helpers import nn
from runtime.operators.upstream._common import or_zeros


def softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Tensor:
    """The gradient that the backward of softmax has in its output."""
    return nn.softmax_backward_of_output(grad, grad_output, output, dim)


def infinitely_differentiable_native_dropout_backward(grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient where an element was kept, scaled as the element was."""
    return grad * (mask.to(grad.dtype) * scale)


def _fused_dropout_backward(grad: Tensor, mask: Tensor, p1m: float) -> Tensor:
    """The gradient where an element was kept, which was with probability `p1m`."""
    return grad * (mask.to(grad.dtype) * (1 / p1m))


def native_dropout_double_backward(ggI: Tensor, grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The same mask and factor again: dropout is linear."""
    return ggI.to(grad.dtype) * mask.to(grad.dtype) * scale


# -- layer normalization


def _moments(input: Tensor, mean: Tensor, rstd: Tensor, normalized_shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Mean and 1 / deviation as functions of the input, so that derivatives of what is made of them are whole.

    The Node that made the saved ones passes no gradient on from them.  The eps under the root is what lacks from
    1 / rstd^2 to the variance.
    """
    if not input.requires_grad:
        return mean, rstd
    dims = list(range(-len(normalized_shape), 0))
    own_mean = input.mean(dims, True)
    away = input - own_mean
    variance = (away * away).mean(dims, True)
    saved = rstd.detach()
    eps = (saved * saved).reciprocal() - variance.detach()
    return own_mean, (variance + eps).rsqrt()


def layer_norm_double_backward(
    input: Tensor,
    gamma: Tensor | None,
    ggI: Tensor | None,
    ggG: Tensor | None,
    ggB: Tensor | None,
    gO: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
    normalized_shape: Sequence[int],
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and `gO`; mean and deviation are functions of the input here."""
    mean, rstd = _moments(input, save_mean, save_invstd, normalized_shape)
    wanted = (output_mask[2], output_mask[0], output_mask[0], output_mask[0], output_mask[1])
    all_wanted = (True, True, True)
    of_grad, of_input, of_mean, of_rstd, of_gamma = nn.layer_norm_double_backward(
        ggI, ggG, ggB, gO, input, normalized_shape, mean, rstd, gamma, all_wanted, wanted
    )
    if of_rstd is not None:
        count = max(math.prod(normalized_shape), 1)
        through = -of_rstd * rstd.pow(3) * (input - mean)
        through = (through if of_mean is None else through + of_mean) / count
        of_input = through if of_input is None else of_input + through
    return of_input, of_gamma, of_grad


def layer_norm_jvp(
    input_p: Tensor,
    input_t: Tensor | None,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    normalized_shape: Sequence[int],
) -> Tensor:
    """The tangent of the normalized, weighted and shifted input."""
    mean, rstd = _moments(input_p, saved_mean, saved_invstd, normalized_shape)
    tangent = or_zeros(input_t, input_p)
    return nn.layer_norm_jvp(tangent, weight_t, bias_t, input_p, normalized_shape, weight_p, mean, rstd)[0]


def layer_norm_backward_jvp(
    grad_out_t: Tensor,
    input_t: Tensor,
    mean_t: Tensor,
    rstd_t: Tensor,
    weight_t: Tensor | None,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """As the helper of the project's own formula; mean and deviation have the tangents that the input gives them."""
    _, mean_t, rstd_t = nn.layer_norm_jvp(input_t, None, None, input, normalized_shape, None, mean, rstd)
    tangents = (grad_out_t, input_t, mean_t, rstd_t, weight_t)
    return nn.layer_norm_backward_jvp(*tangents, grad_out, input, normalized_shape, mean, rstd, weight, output_mask)


# -- group normalization


def _rows(input: Tensor, group: int) -> tuple[list[int], list[int]]:
    """The shapes of the input and of its statistics with a row for each group."""
    rows = input.shape[0] * group
    return [rows, input.numel() // max(rows, 1)], [rows, 1]


def infinitely_differentiable_native_group_norm_backward(
    dY: Tensor | None,
    dmean: Tensor | None,
    drstd: Tensor | None,
    X: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and bias; mean and deviation are functions of the input here."""
    rows, column = _rows(X, group)
    x = X.reshape(rows)
    own_mean, own_rstd = _moments(x, mean.reshape(column), rstd.reshape(column), rows[1:])
    statistics = own_mean.reshape(mean.shape), own_rstd.reshape(rstd.shape)
    through = nn.group_norm_backward(None, dmean, drstd, X, gamma, *statistics, N, C, HxW, group, grad_input_mask)
    if dY is None:
        return through
    normal = (x - own_mean) * own_rstd
    grad = dY.reshape([N, C, HxW])
    moved = (grad if gamma is None else grad * gamma.reshape([C, 1])).reshape(rows)
    across = moved - moved.mean([1], True) - normal * (moved * normal).mean([1], True)
    of_input = (own_rstd * across).reshape(X.shape)
    if through[0] is not None:
        of_input = of_input + through[0]
    of_gamma = (grad * normal.reshape([N, C, HxW])).sum([0, 2])
    of_all = (of_input, of_gamma, grad.sum([0, 2]))
    first, second, third = (
        gradient if wanted else None for gradient, wanted in zip(of_all, grad_input_mask, strict=True)
    )
    return first, second, third


def group_norm_jvp(
    input_p: Tensor,
    input_t: Tensor | None,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    groups: int,
) -> Tensor:
    """The tangent of the normalized, weighted and shifted input."""
    rows, column = _rows(input_p, groups)
    moments = _moments(input_p.reshape(rows), saved_mean.reshape(column), saved_invstd.reshape(column), rows[1:])
    mean, rstd = moments[0].reshape(saved_mean.shape), moments[1].reshape(saved_invstd.shape)
    batch, channels = input_p.shape[0], input_p.shape[1]
    places = input_p.numel() // max(batch * channels, 1)
    tangents = or_zeros(input_t, input_p), weight_t, bias_t
    return nn.group_norm_jvp(*tangents, input_p, weight_p, mean, rstd, batch, channels, places, groups)[0]


def group_norm_mean_jvp(input_t: Tensor, mean_p: Tensor, groups: int) -> Tensor:
    """The mean of the tangent."""
    return input_t.reshape(_rows(input_t, groups)[0]).mean([1]).reshape(mean_p.shape)


def group_norm_invstd_jvp(input_p: Tensor, input_t: Tensor, mean_p: Tensor, invstd_p: Tensor, groups: int) -> Tensor:
    """The tangent of 1 / deviation."""
    rows, column = _rows(input_p, groups)
    x, mean, rstd = input_p.reshape(rows), mean_p.reshape(column), invstd_p.reshape(column)
    tangent = nn.layer_norm_jvp(input_t.reshape(rows), None, None, x, rows[1:], None, mean, rstd)[2]
    return tangent.reshape(invstd_p.shape)


# -- normalization by the root of the mean square


def _product_mean(x: Tensor, y: Tensor, normalized_shape: Sequence[int]) -> Tensor:
    return (x * y).mean(list(range(-len(normalized_shape), 0)), True)


def rms_norm_rstd_jvp(
    input_p: Tensor, input_t: Tensor | None, saved_rstd: Tensor, normalized_shape: Sequence[int]
) -> Tensor:
    """Of r = (mean(x^2) + eps)^(-1/2): dr = -r^3 mean(x dx)."""
    tangent = or_zeros(input_t, input_p)
    return -saved_rstd.pow(3) * _product_mean(input_p, tangent, normalized_shape)


def rms_norm_jvp(
    input_p: Tensor,
    input_t: Tensor | None,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    saved_rstd: Tensor,
    normalized_shape: Sequence[int],
) -> Tensor:
    """Of y = x r w: dy = (dx r + x dr) w + x r dw."""
    tangent = or_zeros(input_t, input_p)
    out = tangent * saved_rstd + input_p * rms_norm_rstd_jvp(input_p, tangent, saved_rstd, normalized_shape)
    if weight_p is not None:
        out = out * weight_p
    if weight_t is not None:
        out = out + input_p * saved_rstd * weight_t
    return out.to(input_p.dtype)


def infinitely_differentiable_native_rms_norm_backward(
    dY: Tensor | None,
    drstd: Tensor | None,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight_opt: Tensor | None,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of input and weight, in which 1 / the root is a function of the input and a result of its own."""
    of_input = of_weight = None
    normal = input * rstd
    if dY is not None and grad_input_mask[0]:
        moved = dY if weight_opt is None else dY * weight_opt
        of_input = rstd * (moved - normal * _product_mean(moved, normal, normalized_shape))
    if drstd is not None and grad_input_mask[0]:
        through = -drstd * rstd.pow(3) * input / max(math.prod(normalized_shape), 1)
        of_input = through if of_input is None else of_input + through
    if dY is not None and weight_opt is not None and grad_input_mask[1]:
        outer = list(range(input.dim() - len(normalized_shape)))
        of_weight = dY * normal
        of_weight = (of_weight.sum(outer) if outer else of_weight).to(weight_opt.dtype)
    return None if of_input is None else of_input.to(input.dtype), of_weight
