"""Derivatives of softmax, normalization and dropout."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def softmax_backward_of_output(grad: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """B(g, y) = y * (g - sum(g * y)), differentiated in y."""
    along = (grad * output).sum([dim], True)
    total = (grad_output * output).sum([dim], True)
    return grad_output * (grad - along) - grad * total


def softmax_backward_jvp(
    grad_output_t: Tensor, output_t: Tensor, grad_output: Tensor, output: Tensor, dim: int
) -> Tensor:
    total = (grad_output * output).sum([dim], True)
    change = (grad_output_t * output + grad_output * output_t).sum([dim], True)
    return output_t * (grad_output - total) + output * (grad_output_t - change)


def log_softmax_jvp(self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    return self_t - (self_t * result.exp()).sum([dim], True)


def log_softmax_backward_jvp(
    grad_output_t: Tensor, output_t: Tensor, grad_output: Tensor, output: Tensor, dim: int
) -> Tensor:
    """L(g, y) = g - exp(y) * sum(g)."""
    change = grad_output_t.sum([dim], True) + output_t * grad_output.sum([dim], True)
    return grad_output_t - output.exp() * change


def _normalized_dims(normalized_shape: Sequence[int]) -> list[int]:
    return list(range(-len(normalized_shape), 0))


def _outer_sum(x: Tensor, normalized_shape: Sequence[int]) -> Tensor:
    """Summed over all dimensions but the normalized ones."""
    outer = x.dim() - len(normalized_shape)
    return x.sum(list(range(outer))) if outer else x


def layer_norm_backward(
    grad_out: Tensor | None,
    grad_mean: Tensor | None,
    grad_rstd: Tensor | None,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and bias; mean and 1 / deviation are outputs with gradients of their own."""
    of_input = of_weight = of_bias = None
    if grad_out is not None:
        of_input, of_weight, of_bias = ops.native_layer_norm_backward(
            grad_out, input, normalized_shape, mean, rstd, weight, bias, grad_input_mask
        )
    if grad_input_mask[0] and (grad_mean is not None or grad_rstd is not None):
        count = max(input.numel() // max(mean.numel(), 1), 1)
        moments = ops.zeros_like(mean) if grad_mean is None else grad_mean
        if grad_rstd is not None:
            moments = moments - grad_rstd * rstd.pow(3) * (input - mean)
        moments = (moments / count).expand_as(input)
        of_input = moments if of_input is None else of_input + moments
    return of_input, of_weight, of_bias


def layer_norm_jvp(
    input_t: Tensor,
    weight_t: Tensor | None,
    bias_t: Tensor | None,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of result, mean and 1 / deviation."""
    dims = _normalized_dims(normalized_shape)
    normal = (input - mean) * rstd
    mean_t = input_t.mean(dims, True)
    rstd_t = -(rstd * rstd) * (normal * input_t).mean(dims, True)
    out_t = (input_t - mean_t) * rstd + (input - mean) * rstd_t
    if weight is not None:
        out_t = out_t * weight
    if weight_t is not None:
        out_t = out_t + normal * weight_t
    if bias_t is not None:
        out_t = out_t + bias_t
    return out_t, mean_t, rstd_t


def layer_norm_double_backward(
    grad_of_input: Tensor | None,
    grad_of_weight: Tensor | None,
    grad_of_bias: Tensor | None,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of grad_out, input, mean, rstd and weight.

    With n = (x - mean) * rstd and g = grad_out * weight, the three outputs are rstd * (g - M(g) - n * M(g * n)),
    S(grad_out * n) and S(grad_out), where M is the mean over the normalized dimensions and S the sum over the others.
    Here mean and rstd are inputs like any other: what they do to x is added by the Node that made them.
    """
    dims = _normalized_dims(normalized_shape)
    normal = (input - mean) * rstd
    moved = grad_out if weight is None else grad_out * weight
    of_grad_out = of_weight = of_normal = of_rstd = None
    if grad_of_input is not None and output_mask[0]:
        along, along_grad = (moved * normal).mean(dims, True), (grad_of_input * normal).mean(dims, True)
        across = grad_of_input - grad_of_input.mean(dims, True) - normal * along_grad
        of_moved = rstd * across
        of_grad_out = of_moved if weight is None else of_moved * weight
        if weight is not None:
            of_weight = _outer_sum(of_moved * grad_out, normalized_shape)
        of_normal = -rstd * (grad_of_input * along + moved * along_grad)
        of_rstd = (across * moved).sum(dims, True)
    if grad_of_weight is not None and output_mask[1]:
        of_grad_out = _plus(of_grad_out, grad_of_weight * normal)
        of_normal = _plus(of_normal, grad_of_weight * grad_out)
    if grad_of_bias is not None and output_mask[2]:
        of_grad_out = _plus(of_grad_out, grad_of_bias.expand_as(grad_out))
    of_input = of_mean = None
    if of_normal is not None:
        of_input = of_normal * rstd
        of_mean = -of_input.sum(dims, True)
        of_rstd = _plus(of_rstd, (of_normal * (input - mean)).sum(dims, True))
    gradients = (of_grad_out, of_input, of_mean, of_rstd, of_weight)
    first, second, third, fourth, fifth = (
        gradient if wanted else None for gradient, wanted in zip(gradients, grad_input_mask, strict=True)
    )
    return first, second, third, fourth, fifth


def _plus(left: Tensor | None, right: Tensor) -> Tensor:
    return right if left is None else left + right


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
    """The tangents of the gradients of input, weight and bias, in the notation of `layer_norm_double_backward`."""
    dims = _normalized_dims(normalized_shape)
    normal = (input - mean) * rstd
    normal_t = (input_t - mean_t) * rstd + (input - mean) * rstd_t
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        moved = grad_out if weight is None else grad_out * weight
        moved_t = grad_out_t if weight is None else grad_out_t * weight
        if weight_t is not None:
            moved_t = moved_t + grad_out * weight_t
        along = (moved * normal).mean(dims, True)
        along_t = (moved_t * normal + moved * normal_t).mean(dims, True)
        across = moved - moved.mean(dims, True) - normal * along
        across_t = moved_t - moved_t.mean(dims, True) - normal_t * along - normal * along_t
        of_input = rstd_t * across + rstd * across_t
    if output_mask[1]:
        of_weight = _outer_sum(grad_out_t * normal + grad_out * normal_t, normalized_shape)
    if output_mask[2]:
        of_bias = _outer_sum(grad_out_t, normalized_shape)
    return of_input, of_weight, of_bias


def group_norm_backward(
    grad_out: Tensor | None,
    grad_mean: Tensor | None,
    grad_rstd: Tensor | None,
    input: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    N: int,
    C: int,
    HxW: int,
    group: int,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and bias; mean and 1 / deviation are outputs with gradients of their own."""
    of_input = of_weight = of_bias = None
    if grad_out is not None:
        of_input, of_weight, of_bias = ops.native_group_norm_backward(
            grad_out, input, mean, rstd, weight, N, C, HxW, group, grad_input_mask
        )
    if grad_input_mask[0] and (grad_mean is not None or grad_rstd is not None):
        rows, column = [N * group, C // group * HxW], [N * group, 1]
        of_moments = layer_norm_backward(
            None,
            None if grad_mean is None else grad_mean.reshape(column),
            None if grad_rstd is None else grad_rstd.reshape(column),
            input.reshape(rows),
            rows[1:],
            None,
            None,
            mean.reshape(column),
            rstd.reshape(column),
            grad_input_mask,
        )[0]
        if of_moments is not None:
            of_input = _plus(of_input, of_moments.reshape(input.shape))
    return of_input, of_weight, of_bias


def group_norm_jvp(
    input_t: Tensor,
    weight_t: Tensor | None,
    bias_t: Tensor | None,
    input: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    N: int,
    C: int,
    HxW: int,
    group: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of result, mean and 1 / deviation."""
    rows, column = [N * group, C // group * HxW], [N * group, 1]
    x, middle, scale = input.reshape(rows), mean.reshape(column), rstd.reshape(column)
    normal_t, mean_t, rstd_t = layer_norm_jvp(input_t.reshape(rows), None, None, x, rows[1:], None, middle, scale)
    channels = [C] + [1] * (input.dim() - 2)
    out_t = normal_t.reshape(input.shape)
    if weight is not None:
        out_t = out_t * weight.reshape(channels)
    if weight_t is not None:
        out_t = out_t + ((x - middle) * scale).reshape(input.shape) * weight_t.reshape(channels)
    if bias_t is not None:
        out_t = out_t + bias_t.reshape(channels)
    return out_t, mean_t.reshape(mean.shape), rstd_t.reshape(rstd.shape)


def dropout_scale(p: float, train: bool | None) -> float:
    """What native_dropout multiplies the elements that it keeps with."""
    if train is False:
        return 1.0
    return 0.0 if p == 1 else 1 / (1 - p)


def glu_backward(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = ops.chunk(self, 2, dim)
    gate = second.sigmoid()
    return ops.cat([grad * gate, grad * first * gate * (1 - gate)], dim)


def glu_jvp(self_t: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = ops.chunk(self, 2, dim)
    first_t, second_t = ops.chunk(self_t, 2, dim)
    gate = second.sigmoid()
    return gate * (first_t + second_t * first * (1 - gate))
