"""Derivatives of batch normalization.

With the mean M over the batch and all places, n = (x - M(x)) * r and 1 / r^2 = M((x - M(x))^2) + eps, the result is
w * n + b.  What is made of the statistics of a batch is differentiated through them, to any order: they are computed
here from the input, with formulas that have derivatives themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.base.tensor import Tensor


def _dims(x: Tensor) -> list[int]:
    return [0, *range(2, x.dim())]


def _mean(x: Tensor) -> Tensor:
    return x.mean(_dims(x), True)


def _each(values: Tensor, like: Tensor) -> Tensor:
    return values.reshape([-1] + [1] * (like.dim() - 2))


def _normal(
    x: Tensor, running_mean: Tensor | None, running_var: Tensor | None, training: bool, eps: float
) -> tuple[Tensor, Tensor]:
    """N and r."""
    if training:
        away = x - _mean(x)
        r = (_mean(away * away) + eps).rsqrt()
        return away * r, r
    assert running_mean is not None
    assert running_var is not None
    r = _each((running_var + eps).rsqrt(), x)
    return (x - _each(running_mean, x)) * r, r


def batch_norm_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    train: bool,
    eps: float,
) -> Tensor:
    """The tangent of the result."""
    n, r = _normal(input_p, running_mean, running_var, train, eps)
    out = input_t * r
    if train:
        out = (input_t - _mean(input_t) - n * _mean(n * input_t)) * r
    if weight_p is not None:
        out = out * _each(weight_p, out)
    if weight_t is not None:
        out = out + n * _each(weight_t, out)
    return out if bias_t is None else out + _each(bias_t, out)


def batchnorm_double_backward(
    input: Tensor,
    gamma: Tensor | None,
    ggI: Tensor | None,
    ggG: Tensor | None,
    ggB: Tensor | None,
    gO: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    eps: float,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and `gO`.

    In training the gradient of the input is w * r * (g - M(g) - n * M(g * n)), and with h = ggI the function to be
    differentiated is L = w * r * m * K + ggG * sum(g * n) + ggB * sum(g), where K = M(h * g) - M(h) * M(g) - A * B,
    A = M(g * n), B = M(h * n) and m counts what M goes over.  A change q of n by x is r * (q - M(q) - n * M(q * n)),
    and one of r is -r^2 * n / m.
    """
    n, r = _normal(input, running_mean, running_var, training, eps)
    scale = r if gamma is None else r * _each(gamma, input)
    dims = _dims(input)
    of_input = of_weight = of_gradient = None
    if ggI is not None:
        along = _mean(ggI * n)
        moved = ggI - _mean(ggI) - n * along if training else ggI
        of_gradient = scale * moved
        if gamma is not None:
            of_weight = (moved * gO * r).sum(dims)
    q = None
    if ggG is not None:
        each = _each(ggG, input)
        of_gradient = _plus(of_gradient, each * n)
        q = each * gO
    if ggB is not None:
        of_gradient = _plus(of_gradient, _each(ggB, input).expand_as(gO))
    if training and ggI is not None:
        across = _mean(gO * n)
        q = _plus(q, -scale * (gO * along + ggI * across))
        shared = _mean(ggI * gO) - _mean(ggI) * _mean(gO) - across * along
        of_input = -scale * r * shared * n
    if q is not None:
        of_input = _plus(of_input, r * (q - _mean(q) - n * _mean(q * n)) if training else r * q)
    first, second, third = (
        gradient if wanted else None
        for gradient, wanted in zip((of_input, of_weight, of_gradient), output_mask, strict=True)
    )
    return first, second, third


def _plus(left: Tensor | None, right: Tensor) -> Tensor:
    return right if left is None else left + right
