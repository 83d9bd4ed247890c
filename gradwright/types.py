"""Types for annotations, under the names that they have in PyTorch."""

from __future__ import annotations

from os import PathLike
from typing import IO, TypeAlias

from gradwright.symbols import SymBool, SymFloat, SymInt
from runtime.base.tensor import Tensor
from runtime.base.types import Device as _device
from runtime.base.types import Size

__all__ = [
    "BoolLikeType",
    "Device",
    "FileLike",
    "FloatLikeType",
    "IntLikeType",
    "Number",
    "Size",
    "SymBool",
    "SymFloat",
    "SymInt",
    "Tensor",
]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | PathLike[str] | IO[bytes]
BoolLikeType: TypeAlias = bool | SymBool
IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat

_int, _float, _bool, _complex = int, float, bool, complex
_Number: TypeAlias = int | float | bool
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...] | list[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | tuple[Tensor | None, ...] | list[Tensor | None] | None
