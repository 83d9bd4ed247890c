"""Neural-network operators that are made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType

# Softmax.


def softmax_int(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    converted = self if dtype is None else self.to(dtype)
    return ops._softmax(converted, dim, False)


def log_softmax_int(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    converted = self if dtype is None else self.to(dtype)
    return ops._log_softmax(converted, dim, False)


# Normalization.


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    return ops.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divided by the root of the mean square over the last dimensions."""
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
    added = dtypes.finfo(input.dtype).eps if eps is None else eps
    square = (input * input).mean(list(range(-count, 0)), True)
    out = input * (square + added).rsqrt()
    return (out if weight is None else out * weight).contiguous()


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
    batch, channels = input.shape[0], input.shape[1]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and list(parameter.shape) != [channels]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )
    width = input.numel() // max(batch * num_groups, 1)
    rows = input.reshape([batch * num_groups, width])
    out = ops.native_layer_norm(rows, [width], None, None, eps)[0].reshape(input.shape)
    channel = [channels] + [1] * (input.dim() - 2)
    if weight is not None:
        out = out * weight.reshape(channel)
    return out if bias is None else out + bias.reshape(channel)


# Dropout.


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each element 0 with probability `p`, the others larger, so that the mean stays."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * input.new_zeros([])
    kept = ops.bernoulli(ops.empty_like(input, dtype=input.dtype.to_real()), 1 - p)
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
    shape = [*input.shape[:2], *[1] * (input.dim() - 2)] if channels else list(input.shape)
    kept = ops.bernoulli(input.new_empty(shape, dtype=dtype), 1 - p)
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
    kept = ops.bernoulli(ops.empty_like(input, dtype=dtypes.bool), 1 - p)
    if not input.is_contiguous():  # the mask lies as the input does
        kept = ops.copy(ops.empty_like(input, dtype=dtypes.bool), kept)
    return ops.native_dropout_backward(input, kept, 1 / (1 - p)), kept


# Similarity.


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along `dim`; lengths count as at least `eps`."""
    x1, x2 = ops.broadcast_tensors([x1, x2])
    lengths = [ops.linalg_vector_norm(x, 2, [dim], True) for x in (x1, x2)]
    first, second = (x / length.clamp_min(eps) for x, length in zip((x1, x2), lengths, strict=True))
    return (first * second).sum([dim])
