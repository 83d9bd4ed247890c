"""Derivatives of activation functions."""

from __future__ import annotations

import math

from runtime.base.half import in_float32
from runtime.base.tensor import Tensor

_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715


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
