"""Gradients and parameters of a whole network: clipping, and conversion to and from one vector."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

from gradwright.autograd import no_grad
from runtime import ops
from runtime.base.tensor import Tensor

Tensors = Tensor | Iterable[Tensor]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of all Tensors together.

    Args:
        tensors: one or several.
        norm_type: the p of the norm, also infinity.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error.
        foreach: accepted; the result is the same.

    Raises:
        RuntimeError: the norm is not finite.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return ops.zeros([])
    norms = ops.stack([ops.linalg_vector_norm(tensor, norm_type) for tensor in tensors])
    total = ops.linalg_vector_norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients by `max_norm` / `total_norm`, if that is less than 1."""
    with no_grad():
        # The small number keeps the result below the limit, whichever way the division rounds.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _grads(parameters):
            grad.mul_(factor)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of all parameters together so that their norm is at most `max_norm`.

    Args:
        parameters: those without a gradient do not count.
        max_norm: the limit.
        norm_type: the p of the norm, also infinity.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error.
        foreach: accepted; the result is the same.

    Returns:
        The norm before.

    Raises:
        RuntimeError: the norm is not finite.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with no_grad():
        total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The older name of `clip_grad_norm_`."""
    warnings.warn(
        "`gradwright.nn.utils.clip_grad_norm` is now deprecated in favor of `gradwright.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of the gradients to the range from -`clip_value` to `clip_value`."""
    limit = float(clip_value)
    with no_grad():
        for grad in _grads(parameters):
            grad.clamp_(-limit, limit)


def _grads(parameters: Tensors) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, one after the other."""
    return ops.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters slices of a vector that `parameters_to_vector` returned.

    Raises:
        TypeError: `vec` is no Tensor.
        RuntimeError: it is too short.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
