"""The classes of Tensors that old programs name: `LongTensor([1, 2])`, `isinstance(x, FloatTensor)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import ops
from runtime.base import dtypes, identity
from runtime.base.creation import tensor
from runtime.base.dtypes import dtype as DType
from runtime.base.tensor import Tensor
from runtime.base.types import Device, Size

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "set_default_tensor_type",
    "typename",
]


class TensorType(type):
    """The class of these classes. Tensors are of one class, so an instance is a Tensor of the dtype."""

    dtype: DType
    is_cuda = is_sparse = False
    device = Device("cpu")

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return made(cls.dtype, args, cls.__name__, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __repr__(cls) -> str:
        return f"<class '{identity.name}.{cls.__name__}'>"


def made(dtype: DType, args: Sequence[Any], name: str = "new", *, device: Any = None) -> Tensor:
    """A Tensor from data, of a shape with arbitrary contents, or over another Tensor of the dtype.

    Raises:
        TypeError: the data is a number that is no size, or a Tensor of another dtype.
    """
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype is not dtype:
            raise TypeError(f"{name}(): expected a Tensor of {dtype}, got one of {args[0].dtype}")
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        if isinstance(args[0], float):
            raise TypeError(f"{name}(): data must be a sequence (got float)")
        return tensor(args[0]).to(dtype=dtype, device=device)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
    empty: Tensor = ops.empty(tuple(sizes), dtype=dtype, device=device)
    return empty


def _type(name: str, dtype: DType) -> TensorType:
    return TensorType(name, (), {"dtype": dtype, "__module__": __name__, "__doc__": f"Tensors of {dtype.name}."})


BFloat16Tensor = _type("BFloat16Tensor", dtypes.bfloat16)
BoolTensor = _type("BoolTensor", dtypes.bool)
ByteTensor = _type("ByteTensor", dtypes.uint8)
CharTensor = _type("CharTensor", dtypes.int8)
DoubleTensor = _type("DoubleTensor", dtypes.float64)
FloatTensor = _type("FloatTensor", dtypes.float32)
HalfTensor = _type("HalfTensor", dtypes.float16)
IntTensor = _type("IntTensor", dtypes.int32)
LongTensor = _type("LongTensor", dtypes.int64)
ShortTensor = _type("ShortTensor", dtypes.int16)


def set_default_tensor_type(t: TensorType | str) -> None:
    """Set the default dtype by one of these classes or its name, such as "torch.DoubleTensor".

    Raises:
        TypeError: it is none of them, or not one of floating-point numbers.
    """
    found = globals().get(t.rpartition(".")[2]) if isinstance(t, str) else t
    if not isinstance(found, TensorType):
        raise TypeError(f"invalid type object: {t}")
    if not found.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {found.__name__}")
    dtypes.set_default_dtype(found.dtype)


def typename(obj: Any) -> str:
    """What an object's class is called: of a Tensor by its dtype, of others with the module."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = kind.__module__
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"
