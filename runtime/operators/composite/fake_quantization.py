"""Fake quantization by a scale and a zero point that are learned, and gradients."""

from __future__ import annotations

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.operators.helpers.fake_quantization import fake_quantize_learnable_gradients


def fake_quantize_cachemask_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """The gradient of those numbers that fitted."""
    if mask.dtype is not dtypes.bool:
        raise RuntimeError(f"Expected mask to be a Tensor of bool, but got {mask.dtype}")
    if mask.numel() != grad.numel():
        raise RuntimeError(
            f"`mask` and `dY` are not the same size: `mask` is size {mask.numel()} and `dY` is size {grad.numel()}"
        )
    return grad * mask


def _whole(zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    """The nearest zero point that there is."""
    return zero_point.detach().round().clamp(quant_min, quant_max).to(dtypes.int32)


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def fake_quantize_learnable_per_tensor_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    _check_range(quant_min, quant_max)
    points = _whole(zero_point.select(0, 0), quant_min, quant_max)
    enabled = ops.ones([1], device=self.device)
    out: Tensor = ops._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        self, scale.select(0, 0), points, enabled, quant_min, quant_max
    )[0]
    return out


def fake_quantize_learnable_per_tensor_affine_backward(
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    _check_range(quant_min, quant_max)
    return fake_quantize_learnable_gradients(
        grad, self, scale, zero_point, -1, quant_min, quant_max, grad_factor, [True, True, True]
    )  # type: ignore[return-value]


def fake_quantize_learnable_per_channel_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    _check_range(quant_min, quant_max)
    points = _whole(zero_point, quant_min, quant_max)
    out: Tensor = ops.fake_quantize_per_channel_affine_cachemask(self, scale, points, axis, quant_min, quant_max)[0]
    return out


def fake_quantize_learnable_per_channel_affine_backward(
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    _check_range(quant_min, quant_max)
    if not 0 <= axis < self.dim():
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return fake_quantize_learnable_gradients(
        grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor, [True, True, True]
    )  # type: ignore[return-value]
