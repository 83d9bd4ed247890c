"""How far results of complex numbers may be from NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _slope_terms(x: Array) -> Array:
    y = 1 / (np.exp(-x) + 1)
    return np.asarray(abs(y) * (1 + abs(x) * (1 + abs(y))))


# How large what an operator adds up is: where a sum cancels, a difference in the last place of a term is many of the
# result. NumPy's product of complex numbers rounds once where processors multiply and add in one step. Those that are
# not here add up nothing but the terms of products, which are of the size of the result.
TERMS: Mapping[str, Callable[..., Array]] = {
    "addcmul_default": lambda a, b, c: abs(a) + abs(b * c),
    "addcdiv_default": lambda a, b, c: abs(a) + abs(b / c),
    "lerp_Scalar": lambda a, b: abs(a) + abs(b),
    "lerp_Tensor": lambda a, b, w: (abs(a) + abs(b)) * (1 + abs(w)),
    "sigmoid_backward_default": lambda g, y: abs(g) * abs(y) * (1 + abs(y)),
    "tanh_backward_default": lambda g, y: abs(g) * (1 + abs(y) ** 2),
    "silu_backward_default": lambda g, x: abs(g) * _slope_terms(x),
}


def _finite(array: Array) -> Array:
    """The same with 0 for parts that are not finite: they have no place in a part of the result that is."""
    parts = array.copy()
    parts.real[~np.isfinite(parts.real)] = 0
    parts.imag[~np.isfinite(parts.imag)] = 0
    return parts


def check_parts(function: str, got: Array, wanted: Array, arrays: Sequence[Array], numbers: Sequence[float]) -> None:
    """Where the result is not finite, or zero, it is the same part by part, with the same signs. Elsewhere both parts
    are within 2 places of the last digit of the number, or of what is added up.

    Below the smallest normal number the sign of a zero is chance: one of two roundings leaves nothing.
    """
    terms, info = TERMS.get(function), np.finfo(wanted.dtype)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    with np.errstate(all="ignore"):
        size = abs(_finite(wanted)) if terms is None else terms(*map(_finite, arrays)) * max([1, *map(abs, numbers)])
    tiny = (size > 0) & (size < info.smallest_normal)
    for array in arrays:
        tiny = tiny | ((array != 0) & (abs(array) < info.smallest_normal))
    for one, other in ((got.real, wanted.real), (got.imag, wanted.imag)):
        with np.errstate(all="ignore"):
            close = abs(one - other) <= 2 * info.eps * np.fmax(abs(other), size) + 2 * info.smallest_subnormal
        same = (one == other) & (np.signbit(one) == np.signbit(other)) | np.isnan(one) & np.isnan(other)
        usual = np.isfinite(one) & np.isfinite(other) & (one != other)
        usual |= (one == other) & tiny
        wrong = ~(same | (usual & close))
        operands = [np.broadcast_to(array, got.shape)[wrong][:3] for array in arrays]
        assert not wrong.any(), (got[wrong][:3], wanted[wrong][:3], operands)
