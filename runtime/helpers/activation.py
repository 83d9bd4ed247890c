"""Derivatives of activation functions."""

from __future__ import annotations

import math

from runtime import ops
from runtime.base.half import in_float32
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar

_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715


@in_float32
def elu_slope(self: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> Tensor:
    below = (self.clamp_max(0) * input_scale).exp() * (alpha * scale * input_scale)
    return ops.where(self <= 0, below, scale)


@in_float32
def gelu_bend(self: Tensor, approximate: str) -> Tensor:
    """The second derivative of `gelu`."""
    square = self * self
    if approximate == "none":
        density = (square * -0.5).exp() * (0.5 * _SQRT_2_OVER_PI)
        return density * (2 - square)
    tanh = (self * (square * _GELU_CUBIC + 1) * _SQRT_2_OVER_PI).tanh()
    slope = (square * (3 * _GELU_CUBIC) + 1) * _SQRT_2_OVER_PI
    bend = self * (3 * _GELU_CUBIC * _SQRT_2_OVER_PI) - tanh * slope * slope
    return (1 - tanh * tanh) * (slope + self * bend)


def logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """The gradient of `logit`: NaN outside [0, 1], and with `eps` 0 outside [eps, 1 - eps]."""
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    inside = (self >= low).logical_and(self <= 1 - low)
    inner = ops.where(inside, self, 0.5)
    return grad * ops.where(inside, 1 / (inner * (1 - inner)), outside)
