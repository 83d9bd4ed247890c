"""The small value types of the public API: Size, device, layout and memory formats, and names for annotations."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeAlias, overload

import numpy as np

from runtime.base import devices, identity, modes
from runtime.base.devices import backends
from runtime.base.dtypes import dtype
from runtime.base.keys import DEVICES
from runtime.base.threads import ThreadState

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor

__all__ = [
    "Size",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "device",
    "get_default_device",
    "layout",
    "memory_format",
    "preserve_format",
    "set_default_device",
    "sparse_coo",
    "strided",
]

Scalar: TypeAlias = bool | int | float | complex
DType: TypeAlias = dtype


class Size(tuple[int, ...]):
    """A shape: a tuple of integers that knows its number of elements."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        if type(sizes) is not tuple:
            sizes = tuple(sizes)
        for position, size in enumerate(sizes):
            if type(size) is not int:
                return super().__new__(cls, _integers(sizes, position))
        return super().__new__(cls, sizes)  # type: ignore[arg-type]

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        count = 1
        for size in self:
            count *= size
        return count

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice[Any, Any, Any]) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(super().__add__(other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(other + tuple(self))

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(super().__mul__(count))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)

    def __repr__(self) -> str:
        return f"{identity.name}.Size({list(self)})"


def _integers(sizes: Iterable[Any], first: int) -> list[int]:
    """The sizes as Python ints; anything with `__index__` will do."""
    converted = []
    for position, size in enumerate(sizes):
        try:
            converted.append(operator.index(size))
        except TypeError:
            raise TypeError(
                f"Size() takes an iterable of 'int' (item {max(position, first)} is '{type(size).__name__}')"
            ) from None
    return converted


# The names of all kinds of devices that PyTorch knows.
KINDS = (*DEVICES, "opengl", "opencl", "ideep")


class device:
    """Where a tensor lives: `cpu`, a device that a package brings, or `meta` for tensors with a shape and no data.

    Devices of the other kinds that PyTorch knows have names as well, and are not there: only using one is an error.

    Raises:
        TypeError: `type` is no string, or `index` no int.
        RuntimeError: there is no such kind of device, or the index is none.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if not isinstance(type, str):
            if isinstance(type, (int, np.integer)) and not isinstance(type, bool):
                _check_index(type)
                raise RuntimeError("Cannot access accelerator device when none is available.")
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if not type:
            raise RuntimeError("Device string must not be empty")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed: {type}")
            if not number.isascii() or not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        _check_index(index)
        if name not in KINDS and name not in backends:
            known = ", ".join(dict.fromkeys((*KINDS, *backends)))
            raise RuntimeError(f"Expected one of {known} device type at start of device string: {type}")
        self.type, self.index = name, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __reduce__(self) -> tuple[Any, tuple[str, int | None]]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        note_device(self)
        with _changed_default():
            _defaults.blocks = (*_defaults.blocks, self)
        return self

    def __exit__(self, *exception: object) -> None:
        with _changed_default():
            _defaults.blocks = _defaults.blocks[:-1]


def _check_index(index: int | np.integer[Any] | None) -> None:
    if index is not None and (isinstance(index, bool) or not isinstance(index, (int, np.integer))):
        raise TypeError(f"device(): argument 'index' must be int, not {type(index).__name__}")
    if index is not None and index < 0:
        raise RuntimeError("Device index must not be negative")


Device: TypeAlias = device  # for annotations in classes that have a member called `device`

CPU = device("cpu")


class _Defaults(ThreadState):
    """Where factories of this thread put what is not asked for elsewhere."""

    blocks: tuple[device, ...] = ()
    device = CPU


_defaults = _Defaults()


def check_device(place: device | str | int | None) -> None:
    """Raise unless this is a device that is there, and remember that somebody asked for it.

    Raises:
        RuntimeError: it is none, or not there; of another class where `check_there` says so.
    """
    if place is not None:
        noted = note_device(place)
        check_there(noted.type)
        if noted.index is not None and noted.type in backends:
            backends[noted.type].check_index(noted.index)


# PyTorch loads a module of its own before it uses a device of these kinds; of the latter, a CPU build has no module.
_BUILT_SEPARATELY = ("cuda", "xpu", "mtia")
_LOADED_SEPARATELY = ("hpu", "privateuseone")
# PyTorch has names for these kinds and no dispatch keys, so an operator can not even look for a kernel.
_WITHOUT_KERNELS = ("opengl", "opencl", "ideep", "mkldnn")


def check_there(kind: str, *, makes: bool = False) -> None:
    """Raise unless there are devices of this kind.

    Args:
        kind: the name of the kind.
        makes: whether an operator makes a Tensor there, instead of copying one.

    Raises:
        AssertionError: there is none of CUDA, XPU or MTIA.
        ModuleNotFoundError: it takes a package to have one.
        NotImplementedError: an operator has no kernel to make a Tensor there.
        RuntimeError: no Tensor can be copied there.
    """
    if kind == "cpu" or kind in backends:
        return
    name = kind.upper()
    if kind in _BUILT_SEPARATELY:
        raise AssertionError(f"Gradwright has no {name}: Torch not compiled with {name} enabled")
    if kind in _LOADED_SEPARATELY:
        raise ModuleNotFoundError(f"Gradwright has no {name}: No module named '{identity.name}.{kind}'")
    if kind == "lazy" or (makes and kind not in _WITHOUT_KERNELS):
        raise NotImplementedError(f"Gradwright has no {name}: no operator has a kernel for it")
    raise RuntimeError(f"Gradwright has no {name}: Torch is not linked with support for {kind} devices")


def note_device(place: device | str | int) -> device:
    """A device that somebody asks for, there or not: from then on calls look where they run.

    Raises:
        RuntimeError: there is no such kind of device, or the index is none.
    """
    noted = device(place)
    if noted.type != "cpu":
        devices.named.add(noted.type)
    return noted


@contextmanager
def _changed_default() -> Iterator[None]:
    """Around a change of the default device: while it is not main memory, all calls go the general path."""
    before = get_default_device().type
    yield
    after = get_default_device().type
    if before == "cpu" != after:
        modes.enter_unusual()
    elif before != "cpu" == after:
        modes.leave_unusual()


def get_default_device() -> device:
    """The device of the innermost `with device(...)` block of this thread, or that of `set_default_device`."""
    return _defaults.blocks[-1] if _defaults.blocks else _defaults.device


def set_default_device(device: Device | str | None) -> None:
    """Let factories of this thread make Tensors on `device`; None is where they are made at the start.

    Raises:
        RuntimeError: there is no such device. One that is not there is an error of the factories.
    """
    if device is not None:
        note_device(device)
    with _changed_default():
        _defaults.device = CPU if device is None else Device(device)


class _Named:
    """A value that is nothing but its name; there is one object for each."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{identity.name}.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How the elements lie in memory."""

    __slots__ = ()


class memory_format(_Named):
    """The order of dimensions in memory that a copy is asked for."""

    __slots__ = ()


Layout: TypeAlias = layout
MemoryFormat: TypeAlias = memory_format

strided = layout("strided")
sparse_coo = layout("sparse_coo")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def lies_in(self: Tensor, memory_format: MemoryFormat | None) -> bool:
    """Whether the elements lie in memory in the order that is asked for."""
    return memory_format is None or memory_format is preserve_format or self.is_contiguous(memory_format)


class NamedResult(tuple[Any, ...]):
    """The results of an operator that returns several, by position and by name.

    Raises:
        TypeError: it is made of more or fewer.
    """

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, values: Iterable[Any]) -> Self:
        made = super().__new__(cls, values)
        if len(made) != cls.n_fields:
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(made)}-sequence given)"
            )
        return made

    def __repr__(self) -> str:
        parts = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{identity.name}.return_types.{type(self).__name__}(\n" + ",\n".join(parts) + ")"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _make_named_result, (type(self).__name__, self._fields, tuple(self))


@cache
def named_result(name: str, fields: tuple[str, ...]) -> type[NamedResult]:
    """The class of the results of operator `name`; made from an iterable, as a tuple is."""
    members: dict[str, Any] = {field: property(operator.itemgetter(i)) for i, field in enumerate(fields)}
    members.update(__slots__=(), __module__="gradwright.return_types", _fields=fields, __match_args__=fields)
    return type(name, (NamedResult,), {**members, "n_fields": len(fields), "n_sequence_fields": len(fields)})


def _make_named_result(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> NamedResult:
    return named_result(name, fields)(values)
