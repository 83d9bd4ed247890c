"""Convolutions and linear layers that do what a batch norm behind them does."""

from __future__ import annotations

import copy
from typing import Any

from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check_modes(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("a batch norm without running statistics can not be fused")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what the two do, in evaluation.

    Args:
        conv: the convolution.
        bn: the batch norm behind it.
        transpose: whether it is a transposed convolution.
    """
    _check_modes(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution that does what a batch norm behind it does; None: zeros or ones."""
    scale = _scale(bn_rv, bn_eps, bn_w)
    shape = [1, -1, *[1] * (conv_w.dim() - 2)] if transpose else [-1, *[1] * (conv_w.dim() - 1)]
    return _fused(conv_w, conv_b, scale, shape, bn_rm, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what the two do, in evaluation.

    Raises:
        AssertionError: they are training, or of sizes that do not fit.
    """
    _check_modes(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer that does what a batch norm behind it does."""
    return _fused(linear_w, linear_b, _scale(bn_rv, bn_eps, bn_w), [-1, 1], bn_rm, bn_b)


def _scale(variance: Tensor, eps: float, weight: Tensor | None) -> Tensor:
    scale = ops.rsqrt(variance + eps)
    return scale if weight is None else weight * scale


def _fused(
    weight: Tensor, bias: Tensor | None, scale: Tensor, shape: list[int], mean: Tensor, shift: Tensor | None
) -> tuple[Parameter, Parameter]:
    moved = ((0 if bias is None else bias) - mean) * scale
    if shift is not None:
        moved = moved + shift
    scaled = weight * scale.reshape(shape)
    grad = weight.requires_grad
    return (
        Parameter(scaled.detach().to(weight.dtype), grad),
        Parameter(moved.detach().to(weight.dtype), grad if bias is None else bias.requires_grad),
    )
