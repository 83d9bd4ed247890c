"""Neural-network operators that are made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.operators.composite.factory import drawn_in_order
from runtime.random import Generator

# Softmax.


def safe_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """As softmax, but 0 where all along `dim` is minus infinity."""
    out = ops.softmax(self, dim, dtype)
    return out.masked_fill((self == -math.inf).all(dim, True), 0)


# Random slopes.


def rrelu(
    self: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """X where it is positive; elsewhere x times a slope, drawn between the bounds in training, else their mean."""
    return ops.rrelu_with_noise(self, ops.empty_like(self), lower, upper, training, generator)


def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """As `rrelu`; in training, `noise` becomes the factor of each element."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if noise.shape != self.shape:
        raise RuntimeError(
            f"noise tensor shape must match self tensor shape. Got self.shape = {list(self.shape)} noise.shape = "
            f"{list(noise.shape)}"
        )
    x = self.contiguous()
    if not training:
        return ops.leaky_relu(x, (lower + upper) / 2)
    if noise.dtype is not self.dtype:
        raise RuntimeError(f"expected scalar type {self.dtype.scalar_name} but found {noise.dtype.scalar_name}")
    drawn = ops.uniform(x, lower, upper, generator=generator)
    factors = ops.where(x <= 0, drawn, 1)
    noise.copy_(factors)
    return x * factors


def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    """What comes in times the slopes: those of `noise` in training."""
    if training:
        return noise * grad_output
    return ops.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


# Normalization.


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """The input less its mean over its standard deviation, over the last dimensions; times a weight, plus a bias."""
    return ops.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divided by the root of the mean square over the last dimensions."""
    return fused_rms_norm(input, normalized_shape, weight, eps)[0]


def fused_rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """`rms_norm`, and 1 / the root, which half precision does not round."""
    count = len(normalized_shape)
    if count == 0:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    if list(input.shape[-count:]) != list(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[*, {', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    wide = input.float() if input.dtype in (dtypes.float16, dtypes.bfloat16) else input
    added = dtypes.finfo(wide.dtype).eps if eps is None else eps
    square = (wide * wide).mean(list(range(-count, 0)), True)
    factor = (square + added).rsqrt()
    out = wide * factor
    return (out if weight is None else out * weight).to(input.dtype).contiguous(), factor


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Each group of channels (dimension 1) of a sample normalized; weight and bias are one number for each channel."""
    if input.dim() < 2:
        raise RuntimeError("Expected at least 2 dimensions for input tensor but received " + str(input.dim()))
    batch, channels, *places = input.shape
    x = input.contiguous()
    return ops.native_group_norm(x, weight, bias, batch, channels, math.prod(places), num_groups, eps)[0]


def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and bias; None for those that `output_mask` leaves out.

    Those of the input are of rows that are groups, with the weight in what comes in.
    """
    width = C // group * HxW
    of_input = of_weight = of_bias = None
    grad = grad_out.reshape([N, C, HxW])
    if output_mask[0]:
        moved = grad if weight is None else grad * weight.reshape([C, 1])
        of_rows: Tensor = ops.native_layer_norm_backward(
            moved.reshape([N * group, width]),
            input.reshape([N * group, width]),
            [width],
            mean.reshape([N * group, 1]),
            rstd.reshape([N * group, 1]),
            None,
            None,
            [True, False, False],
        )[0]
        of_input = of_rows.reshape(input.shape)
    if output_mask[1]:
        centred = input.reshape([N, group, width]) - mean.unsqueeze(-1)
        products = ops.bmm(grad.reshape([N * C, 1, HxW]), centred.reshape([N * C, HxW, 1]))
        of_weight = (products.reshape([N, group, C // group]) * rstd.unsqueeze(-1)).reshape([N, C]).sum([0])
    if output_mask[2]:
        of_bias = grad.sum([0, 2])
    return of_input, of_weight, of_bias


# Dropout.


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each element 0 with probability `p`, the others larger, so that the mean stays."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * input.new_zeros([])
    kept = drawn_in_order(ops.empty_like(input, dtype=input.dtype.to_real()), 1 - p)
    return input * (kept * (1 / (1 - p)))


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each channel (dimension 1 of a sample) 0 with probability `p`, the others larger, so that the mean stays."""
    return _dropped(input, p, train, channels=True, keeps_variance=False)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Elements at the limit of SELU with probability `p`, all scaled so that mean and variance stay."""
    return _dropped(input, p, train, channels=False, keeps_variance=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As alpha_dropout, of whole channels."""
    return _dropped(input, p, train, channels=True, keeps_variance=True)


# Minus the limit of SELU on the left: the product of its alpha and scale (Klambauer et al., 2017).
_SELU_LIMIT = 1.7580993408473766


def _dropped(input: Tensor, p: float, train: bool, channels: bool, keeps_variance: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * input.new_zeros([])
    if channels and input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    dtype = input.dtype.to_real()
    if channels:
        like = input.new_empty([*input.shape[:2], *[1] * (input.dim() - 2)], dtype=dtype)
    else:
        like = ops.empty_like(input, dtype=dtype)
    kept = drawn_in_order(like, 1 - p)
    if not keeps_variance:
        return input * (kept * (1 / (1 - p)))
    scale = 1 / math.sqrt((_SELU_LIMIT**2 * p + 1) * (1 - p))
    return input * (kept * scale) + ((kept - 1) * (_SELU_LIMIT * scale) + _SELU_LIMIT * scale * p)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """As dropout, with the mask of the elements that were kept."""
    if train is False:
        return input.clone(), ops.ones_like(input, dtype=dtypes.bool)
    if p == 1:
        return ops.zeros_like(input), ops.zeros_like(input, dtype=dtypes.bool)
    kept = drawn_in_order(ops.empty_like(input, dtype=dtypes.bool), 1 - p)
    return ops.native_dropout_backward(input, kept, 1 / (1 - p)), kept


# Similarity.


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along `dim`; lengths count as at least `eps`."""
    x1, x2 = ops.broadcast_tensors([x1, x2])
    lengths = [ops.linalg_vector_norm(x, 2, [dim], True) for x in (x1, x2)]
    first, second = (x / length.clamp_min(eps) for x, length in zip((x1, x2), lengths, strict=True))
    return (first * second).sum([dim])
