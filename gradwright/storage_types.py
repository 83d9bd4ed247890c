"""The classes of storages that old programs name: `FloatStorage([1, 2])`, `isinstance(s, FloatStorage)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.base import dtypes, identity
from runtime.base.creation import tensor
from runtime.base.dtypes import dtype as DType
from runtime.base.storage import TypedStorage, UntypedStorage, bytes_of

__all__ = [
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
    "is_storage",
]


class StorageType(type):
    """The class of these classes. An instance is a TypedStorage of the dtype."""

    dtype: DType

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None, **others: Any) -> TypedStorage:
        if len(args) + (wrap_storage is not None) > 1 or others:
            raise RuntimeError(_expected(cls, f"{len(args)} arguments and {[*others]}" if others else f"{args}"))
        return TypedStorage(wrap_storage=_memory(cls, args) if wrap_storage is None else wrap_storage, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class '{identity.name}.{cls.__name__}'>"


def _memory(cls: StorageType, args: tuple[Any, ...]) -> UntypedStorage:
    """New memory of a number of elements, none without one, or with the elements of a sequence."""
    data = args[0] if args else 0
    if isinstance(data, int):
        if data < 0:
            raise RuntimeError(f"{cls.__name__}: a storage cannot have {data} elements")
        return UntypedStorage(data * cls.dtype.itemsize)
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise TypeError(_expected(cls, type(data).__name__))
    return UntypedStorage._over(bytes_of(tensor(data, dtype=cls.dtype)._array))


def _expected(cls: StorageType, given: str) -> str:
    return (
        f"{cls.__name__}() takes nothing, a number of elements, a sequence of them, or wrap_storage= with an "
        f"UntypedStorage, not {given}"
    )


_types: dict[DType, StorageType] = {}


def _type(name: str, dtype: DType) -> StorageType:
    made = StorageType(
        name, (TypedStorage,), {"dtype": dtype, "__module__": __name__, "__doc__": f"Storages of {dtype.name}."}
    )
    _types[dtype] = made
    return made


BFloat16Storage = _type("BFloat16Storage", dtypes.bfloat16)
BoolStorage = _type("BoolStorage", dtypes.bool)
ByteStorage = _type("ByteStorage", dtypes.uint8)
CharStorage = _type("CharStorage", dtypes.int8)
ComplexDoubleStorage = _type("ComplexDoubleStorage", dtypes.complex128)
ComplexFloatStorage = _type("ComplexFloatStorage", dtypes.complex64)
DoubleStorage = _type("DoubleStorage", dtypes.float64)
FloatStorage = _type("FloatStorage", dtypes.float32)
HalfStorage = _type("HalfStorage", dtypes.float16)
IntStorage = _type("IntStorage", dtypes.int32)
LongStorage = _type("LongStorage", dtypes.int64)
ShortStorage = _type("ShortStorage", dtypes.int16)


def type_of(dtype: DType) -> StorageType:
    """The class of storages of a dtype.

    Raises:
        KeyError: there is none.
    """
    return _types[dtype]


def is_storage(obj: object) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))
