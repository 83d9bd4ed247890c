"""Orders of arguments that PyTorch had first, and still takes: `add(x, 2, y)` is `x + 2 * y`.

Factors that schemas now have by keyword stood by position.  A method has `self` first, whatever its function has.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def _with_factors(*tensors: str) -> tuple[tuple[str, ...], ...]:
    """The orders for `beta * self + alpha * (...)`: of functions and of methods, with both factors or the first."""
    return (
        ("beta", "self", "alpha", *tensors),
        ("self", "beta", "alpha", *tensors),
        ("beta", "self", *tensors),
        ("self", "beta", *tensors),
    )


_ORDERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "add": (("self", "alpha", "other"),),
    "sub": (("self", "alpha", "other"),),
    "addcmul": (("self", "value", "tensor1", "tensor2"),),
    "addcdiv": (("self", "value", "tensor1", "tensor2"),),
    "addmm": _with_factors("mat1", "mat2"),
    "addmv": _with_factors("mat", "vec"),
    "addr": _with_factors("vec1", "vec2"),
    "addbmm": _with_factors("batch1", "batch2"),
    "baddbmm": _with_factors("batch1", "batch2"),
}


def readings(base: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments by name, in each old order of an operator (or its in-place variant) that they may be in."""
    if not args:
        return
    for order in _ORDERS.get(base.removesuffix("_"), ()):
        if len(args) + len(kwargs) == len(order):
            named = dict(zip(order, args, strict=False))
            if not named.keys() & kwargs.keys():
                yield {**named, **kwargs}


def warn(base: str, schema: str) -> None:
    """Tell the caller of a packet that there is another order now."""
    text = f"This overload of {base} is deprecated: factors go by keyword, as in\n\t{schema}"
    warnings.warn(text, UserWarning, stacklevel=4)
