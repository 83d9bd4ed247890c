"""Fake quantization: numbers as they come back from integers of a few bits, and which of them fit these."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, is_half, normalize_dim, shaped, type_name

# What a zero point of each channel may be.
_ZERO_POINTS = (np.int32, np.float32, np.float16)


def fake_quantize_per_tensor_affine_cachemask(
    self: Array, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    """What is nearest of `scale` times the integers from `quant_min` to `quant_max`, where `zero_point` stands for 0.

    And whether the integer was one of these before it was made to fit.
    """
    _check_range(quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    out, mask = _quantized(self, np.asarray(scale), np.asarray(zero_point), quant_min, quant_max)
    return out.astype(np.float32).astype(self.dtype), mask


def fake_quantize_tensor_qparams(
    self: Array, scale: Array, zero_point: Array, fake_quant_enabled: Array, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    """The same by numbers in Tensors; without change where the first element of `fake_quant_enabled` is 0."""
    _check_range(quant_min, quant_max)
    for values in (scale, zero_point):
        if values.size != 1:
            raise RuntimeError(f"a Tensor with {values.size} elements cannot be converted to Scalar")
    if not fake_quant_enabled.flat[0]:
        return self.copy(), np.ones(self.shape, np.bool_)
    whole = zero_point.astype(np.int64).reshape(())  # fractions are cut off
    out, mask = _quantized(self, scale.reshape(()), whole, quant_min, quant_max)
    return out.astype(np.float32).astype(self.dtype), mask


def fake_quantize_per_channel_affine_cachemask(
    self: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    """The same with a scale and a zero point for each place along a dimension; zero points may be fractions."""
    place = _checked_axis(self, scale, zero_point, axis, quant_min, quant_max)
    if zero_point.dtype.kind == "i" and not ((zero_point >= quant_min) & (zero_point <= quant_max)).all():
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    sizes = [-1 if dim == place else 1 for dim in range(self.ndim)]
    out, mask = _quantized(self, scale.reshape(sizes), zero_point.reshape(sizes), quant_min, quant_max)
    return out.astype(self.dtype), mask


def fake_quantize_per_channel_shape(
    self: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    """The results of `fake_quantize_per_channel_affine_cachemask` without data, for the same arguments."""
    _checked_axis(self, scale, zero_point, axis, quant_min, quant_max)
    return shaped(self.shape, self.dtype), shaped(self.shape, np.dtype(np.bool_))


def _checked_axis(self: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int) -> int:
    if zero_point.dtype not in _ZERO_POINTS:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {type_name(zero_point.dtype)}")
    for name, values in (("scale", scale), ("zero point", zero_point)):
        if values.ndim != 1:
            raise RuntimeError(f"{name} should be a 1-D tensor")
    if scale.size != zero_point.size:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    place = normalize_dim(axis, self.ndim)
    if scale.size != self.shape[place]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check_range(quant_min, quant_max)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return place


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def _quantized(self: Array, scale: Array, zero_point: Array, lowest: int, highest: int) -> tuple[Array, Array]:
    """A zero point that is a fraction moves the numbers before they are rounded.  What is NaN becomes the lowest."""
    scale = scale.astype(np.float32)
    values = self.astype(np.float32) if is_half(self.dtype) else self
    with np.errstate(all="ignore"):
        scaled = values * (np.float32(1) / scale)
        point = zero_point.astype(scaled.dtype)
        places = np.rint(scaled + point) if zero_point.dtype.kind == "f" else np.rint(scaled) + point
        out = (np.fmin(np.fmax(places, lowest), highest) - point) * scale
    return np.asarray(out), np.asarray((places >= lowest) & (places <= highest))
