"""Update rules on arrays in memory: it knows no Tensors.

An operator call makes a new array, and on large parameters the memory for that costs more than the arithmetic. Rules go
through large arrays in blocks instead, so that all steps of a block find it in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from runtime.base.arrays import is_complex32
from runtime.native import core
from runtime.operators import update_rules
from runtime.operators.update_rules import Rule, complete

Array = np.ndarray

# The rules that the native core has, by which it knows each.
_NAMES = () if core is None else core.update_rules
_COMPILED = {getattr(update_rules, name): number for number, name in enumerate(_NAMES)}

_BLOCK = 1 << 14


def step(rule: Rule, options: dict[str, Any], grad: Array, *written: Array | None) -> None:
    """A step of `rule` on whole arrays.

    Args:
        rule: one of `runtime.operators.update_rules`.
        options: those of the step, as `complete` takes them.
        grad: the gradient.
        written: the parameter and what is kept from step to step, which are changed.
    """
    if core is not None and rule in _COMPILED and core.update_step(_COMPILED[rule], options, grad, *written):
        return
    with np.errstate(all="ignore"):
        update(partial(complete, rule, np, **options), grad, *written)


def update(function: Callable[..., Sequence[Array | None]], grad: Array, *written: Array | None) -> None:
    """Give the arrays after the first the values of an element-wise `function(grad, *written)`, on all elements.

    It gets float32 or float64: the parts of complex numbers one after the other, smaller floats as float32.
    """
    dtype = grad.dtype
    if dtype.kind == "c":
        update(function, grad.real, *[None if array is None else array.real for array in written])
        update(function, grad.imag, *[None if array is None else array.imag for array in written])
    elif is_complex32(dtype):
        for part in dtype.names or ():
            update(function, grad[part], *[None if array is None else array[part] for array in written])
    elif dtype.itemsize < 4:
        wide = [None if array is None else array.astype(np.float32) for array in written]
        _write(written, function(grad.astype(np.float32), *wide))
    elif grad.size <= _BLOCK or not all(array is None or array.flags.c_contiguous for array in (grad, *written)):
        _write(written, function(grad, *written))
    else:
        flat = [None if array is None else array.reshape(-1) for array in (grad, *written)]
        for start in range(0, grad.size, _BLOCK):
            block = [None if array is None else array[start : start + _BLOCK] for array in flat]
            _write(block[1:], function(*block))


def _write(written: Sequence[Array | None], values: Sequence[Array | None]) -> None:
    for array, value in zip(written, values, strict=True):
        if array is not None:
            array[...] = value
