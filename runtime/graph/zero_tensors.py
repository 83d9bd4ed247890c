"""Zeros that are known to be zeros: what forward formulas get in place of a tangent that is not there.

A tangent that is missing takes no part in a result; numbers that are zero do, because they make nan of an infinite
derivative. So a formula gets Tensors of a class of its own, and a call of which one is a factor gives such a Tensor
again. Where they are added to something they are the numbers. Which arguments are factors was read off the derivatives
(`codegen.rules.linear`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.dispatch_keys import ZERO
from runtime.base.overriding import disabled
from runtime.base.sharing import lowest
from runtime.base.tensor import Tensor, wrap


class Zeros(Tensor):
    """Zeros that stay zeros in every product, also with inf and NaN."""

    __slots__ = ()
    _dispatch_key = ZERO
    __torch_function__ = disabled


def like(tensor: Tensor) -> Zeros:
    """Zeros of the shape and dtype of a Tensor."""
    return _zeros(tensor._array.shape, tensor._array.dtype)


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Zeros:
    out = object.__new__(Zeros)
    out._array = np.zeros(shape, dtype)
    out._base = out._edge = out._writes = out._extra = None
    return out


def is_zeros(value: Any) -> bool:
    """Whether a value is such a Tensor, or a batch of them, or a list of nothing else."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(is_zeros, value))
    return isinstance(value, Tensor) and type(lowest(value)) is Zeros


def as_numbers(value: Any) -> Any:
    """An argument, with numbers in place of such Tensors."""
    if isinstance(value, list):
        return [as_numbers(item) for item in value]
    return wrap(np.zeros(value._array.shape, value._array.dtype)) if type(value) is Zeros else value


def make_numbers(tensor: Tensor) -> None:
    """Let a Tensor that is about to be written be one of numbers."""
    if type(tensor) is Zeros:
        tensor.__class__ = Tensor  # type: ignore[assignment]
