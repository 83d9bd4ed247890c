"""The arrays of a toy device: each function on them is a launch that is counted, and NumPy can not see them.

The memory of the device is NumPy's in secret, as that of a simulator is. What is here of the Python array API standard
is what the kernels in npu.yaml need, and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

launches: Counter[str] = Counter()
copies: Counter[str] = Counter()


class Array:
    """An array on the device."""

    __slots__ = ("_memory",)
    __array_ufunc__ = None  # NumPy's operators leave it alone

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    @property
    def shape(self) -> tuple[int, ...]:
        return self._memory.shape

    @property
    def ndim(self) -> int:
        return self._memory.ndim

    @property
    def dtype(self) -> str:
        return self._memory.dtype.name

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("NumPy was to read the memory of the device")

    def __bool__(self) -> NoReturn:
        raise TypeError("a number of the device was to be looked at")

    def __getitem__(self, index: Any) -> Array:
        return launch("getitem", np.ndarray.__getitem__, self, index)

    def __add__(self, other: Any) -> Array:
        return launch("add", np.add, self, other)

    def __radd__(self, other: Any) -> Array:
        return launch("add", np.add, other, self)

    def __sub__(self, other: Any) -> Array:
        return launch("sub", np.subtract, self, other)

    def __rsub__(self, other: Any) -> Array:
        return launch("sub", np.subtract, other, self)

    def __mul__(self, other: Any) -> Array:
        return launch("mul", np.multiply, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Array:
        return launch("div", np.divide, self, other)

    def __neg__(self) -> Array:
        return launch("neg", np.negative, self)

    def __le__(self, other: Any) -> Array:
        return launch("le", np.less_equal, self, other)


def launch(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Array:
    """Run a function on the device, and count it."""
    launches[name] += 1
    made = function(*[arg._memory if isinstance(arg, Array) else arg for arg in args], **kwargs)
    return Array(np.asarray(made))


def _launched(name: str, function: Callable[..., Any]) -> Callable[..., Array]:
    return lambda *args, **kwargs: launch(name, function, *args, **kwargs)


_KINDS = {"bool": "b", "integral": "iu", "real floating": "f", "complex floating": "c"}


def isdtype(dtype: str, kind: str | tuple[str, ...]) -> bool:
    """As in the standard, for the kinds that kernels ask for."""
    kinds = (kind,) if isinstance(kind, str) else kind
    return any(np.dtype(dtype).kind in _KINDS[each] for each in kinds)


namespace = SimpleNamespace(
    float32="float32",
    float64="float64",
    int64="int64",
    bool="bool",
    isdtype=isdtype,
    asarray=_launched("asarray", np.asarray),
    astype=_launched("astype", np.astype),
    zeros=_launched("zeros", np.zeros),
    ones=_launched("ones", np.ones),
    full=_launched("full", np.full),
    empty=_launched("empty", np.empty),
    where=_launched("where", np.where),
    maximum=_launched("maximum", np.maximum),
    exp=_launched("exp", np.exp),
    tanh=_launched("tanh", np.tanh),
    sqrt=_launched("sqrt", np.sqrt),
    sum=_launched("sum", np.sum),
    matmul=_launched("matmul", np.matmul),
    reshape=_launched("reshape", np.reshape),
    permute_dims=_launched("permute_dims", np.permute_dims),
    expand_dims=_launched("expand_dims", np.expand_dims),
    squeeze=_launched("squeeze", np.squeeze),
    broadcast_to=_launched("broadcast_to", np.broadcast_to),
)


def from_numpy(array: np.ndarray[Any, Any]) -> Array:
    """A copy to the device."""
    copies["to the device"] += 1
    return Array(array.copy())


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """A copy to main memory."""
    copies["to main memory"] += 1
    return array._memory.copy()
