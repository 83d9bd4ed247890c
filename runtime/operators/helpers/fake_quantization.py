"""Derivatives of fake quantization: rounding counts as the identity, and what does not fit as the end that it got."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.half import in_float32
from runtime.base.tensor import Tensor


def _slopes(
    self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int
) -> tuple[Tensor, Tensor, Tensor]:
    """With respect to `self`, and to a scale and a zero point that are broadcast to it.

    The zero point is that of the values; PyTorch has another one here where it is one for all and no whole number.
    """
    point = zero_point.detach().round().clamp(quant_min, quant_max)
    # Rounded with the zero point, as PyTorch does here, and not before it, as in `fake_quantize`: halves differ.
    places = (self.detach() * scale.detach().reciprocal() + point).round()
    inside = ops.logical_and(places >= quant_min, places <= quant_max)
    ends = places.clamp(quant_min, quant_max) - point
    scaled = ops.where(inside, self, 0.0) * ops.where(inside, scale, 1.0).reciprocal()  # finite for a scale of 0, too
    return inside.to(self.dtype), ops.where(inside, ends - scaled, ends), ops.where(inside, 0.0, -scale)


def _of_channels(values: Tensor, like: Tensor, axis: int) -> Tensor:
    """A number for each place along an axis, or for `axis` -1 the first one alone, to be broadcast."""
    if axis < 0:
        return values.select(0, 0)
    return values.reshape([-1 if dim == axis else 1 for dim in range(like.dim())])


def _summed(values: Tensor, parameter: Tensor, axis: int) -> Tensor:
    """The adjoint of `_of_channels`."""
    if axis < 0:
        return ops.select_scatter(ops.zeros_like(parameter, dtype=values.dtype), values.sum(), 0, 0)
    others = [dim for dim in range(values.dim()) if dim != axis]
    return values.sum(others) if others else values


@in_float32
def fake_quantize_learnable_gradients(
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Those of the numbers, and `grad_factor` times those of scale and zero point; `axis` -1: there is one of each."""
    steps, points = _of_channels(scale, self, axis), _of_channels(zero_point, self, axis)
    by_self, by_scale, by_point = _slopes(self, steps, points, quant_min, quant_max)
    return (
        grad * by_self if grad_input_mask[0] else None,
        _summed(grad * by_scale, scale, axis) * grad_factor if grad_input_mask[1] else None,
        _summed(grad * by_point, zero_point, axis) * grad_factor if grad_input_mask[2] else None,
    )


@in_float32
def fake_quantize_learnable_jvp(
    self_t: Tensor,
    scale_t: Tensor,
    zero_point_t: Tensor,
    self_p: Tensor,
    scale_p: Tensor,
    zero_point_p: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float,
) -> Tensor:
    """The adjoint of the gradients."""
    steps, points = _of_channels(scale_p, self_p, axis), _of_channels(zero_point_p, self_p, axis)
    by_self, by_scale, by_point = _slopes(self_p, steps, points, quant_min, quant_max)
    of_scale = _of_channels(scale_t, self_p, axis) * by_scale
    return self_t * by_self + (of_scale + _of_channels(zero_point_t, self_p, axis) * by_point) * grad_factor
