"""When results of two libraries are the same."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tools.opinfo.arrays import array_of, is_tensor, name_of

# Relative and absolute; the latter by the largest element, too.
TOLERANCES = {
    "float64": (1e-5, 1e-7), "complex128": (1e-5, 1e-7), "float32": (2e-4, 2e-5), "complex64": (2e-4, 2e-5),
    "float16": (1e-2, 1e-2), "complex32": (1e-2, 1e-2), "bfloat16": (1.6e-2, 1.6e-2),
}  # fmt: skip


class Differs(Exception):
    """What came out is not what PyTorch has."""


def compare_arrays(wanted: np.ndarray, found: np.ndarray, dtype: str, where: str) -> None:
    """Shapes and elements; NaN is NaN, whichever part of a complex number it is in."""
    if wanted.shape != found.shape:
        raise Differs(f"{where}: shape {found.shape}, PyTorch has {wanted.shape}")
    if wanted.dtype.kind in "biu":
        if not np.array_equal(wanted, found):
            raise Differs(f"{where}: {int((wanted != found).sum())} of {wanted.size} elements differ")
        return
    relative, absolute = TOLERANCES[dtype]
    if dtype == "bfloat16":  # which NumPy's functions do not all know
        wanted, found = wanted.astype(np.float32), found.astype(np.float32)
    with np.errstate(all="ignore"):
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
        same = np.isclose(found, wanted, rtol=relative, atol=absolute * scale, equal_nan=True)
        same |= np.isnan(wanted) & np.isnan(found)
    if not same.all():
        at = np.unravel_index(int(np.argmin(same)), same.shape)
        raise Differs(
            f"{where}: {int((~same).sum())} of {same.size} elements differ, such as {found[at]!r}, PyTorch has "
            f"{wanted[at]!r}"
        )


def compare_results(wanted: Sequence[Any], found: Sequence[Any], where: str, values: bool = True) -> None:
    """Dtypes, shapes and elements; without `values` no elements."""
    if len(wanted) != len(found):
        raise Differs(f"{where}: {len(found)} results, PyTorch has {len(wanted)}")
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        place = f"{where}[{number}]"
        if is_tensor(one):
            if not is_tensor(other):
                raise Differs(f"{place}: {type(other).__name__}, PyTorch has a Tensor")
            if name_of(one.dtype) != name_of(other.dtype):
                raise Differs(f"{place}: dtype {name_of(other.dtype)}, PyTorch has {name_of(one.dtype)}")
            if values:
                compare_arrays(array_of(one), array_of(other), name_of(one.dtype), place)
            elif tuple(one.shape) != tuple(other.shape):
                raise Differs(f"{place}: shape {tuple(other.shape)}, PyTorch has {tuple(one.shape)}")
        elif isinstance(one, bool | int | float | complex):
            if values and not np.isclose(complex(one), complex(other), rtol=1e-5, atol=1e-7, equal_nan=True):
                raise Differs(f"{place}: {other!r}, PyTorch has {one!r}")
        elif (one is None and other is not None) or (isinstance(one, str) and one != other):
            raise Differs(f"{place}: {other!r}, PyTorch has {one!r}")


def compare_gradients(wanted: Sequence[Any], found: Sequence[Any], where: str) -> None:
    """Dtypes and elements; None stands for zeros, on either side."""
    for number, (one, other) in enumerate(itertools.zip_longest(wanted, found)):
        if one is None and other is None:
            continue
        place = f"{where}[{number}]"
        dtypes = {name_of(x.dtype) for x in (one, other) if x is not None}
        if len(dtypes) > 1:
            raise Differs(f"{place}: dtype {name_of(other.dtype)}, PyTorch has {name_of(one.dtype)}")
        first, second = (None if x is None else array_of(x) for x in (one, other))
        first = np.zeros_like(second) if first is None else first
        second = np.zeros_like(first) if second is None else second
        compare_arrays(first, second, dtypes.pop(), place)
