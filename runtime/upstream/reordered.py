"""Helpers that are here, too, with their parameters in another order."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.helpers import pointwise, reduction, shape
from runtime.tensor import Tensor
from runtime.types import Scalar


def cumprod_jvp(self_t: Tensor, self_p: Tensor, result: Tensor, dim: int) -> Tensor:
    return reduction.cumprod_jvp(self_p, self_t, result, dim)


def prod_backward(grad: Tensor, input: Tensor, result: Tensor) -> Tensor:
    return reduction.prod_backward(grad, input, result)


def repeat_backward(grad: Tensor, repeats: Sequence[int], input_shape: Sequence[int]) -> Tensor:
    return shape.repeat_backward(grad, input_shape, repeats)


def sgn_backward(x: Tensor, gx: Tensor, sgn: Tensor) -> Tensor:
    return pointwise.sgn_backward(gx, x, sgn)


def std_backward(
    result: Tensor, grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    return reduction.std_backward(grad, self, result, dim, correction, keepdim)


def std_mean_backward(
    gstd: Tensor | None,
    gmean: Tensor | None,
    self: Tensor,
    std: Tensor,
    dim_opt: Sequence[int] | None,
    correction: Scalar | None,
    keepdim: bool,
) -> Tensor | None:
    return reduction.std_mean_backward(gstd, gmean, self, std, dim_opt, correction, keepdim)


def var_mean_backward(
    gvar: Tensor | None,
    gmean: Tensor | None,
    self: Tensor,
    dim_opt: Sequence[int] | None,
    correction: Scalar | None,
    keepdim: bool,
) -> Tensor | None:
    return reduction.var_mean_backward(gvar, gmean, self, dim_opt, correction, keepdim)
