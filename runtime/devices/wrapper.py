"""Tensors around others: of a class with `__torch_dispatch__`, with a shape, strides and a dtype, and without data.

What stands in their `_array` is no data of theirs: their class gives the result of every operator. So operators choose
as if they lay in main memory, wherever they say that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from codegen.dispatch_keys import CPU
from runtime import ops
from runtime.base import class_dispatch, dtypes, types
from runtime.base.array_proxies import tensor_over
from runtime.base.meta_array import MetaArray, dense_strides, strided
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import Device, DType, Layout, MemoryFormat


class WrapperArray(MetaArray):
    """What stands in a Tensor around others: the class of the Tensor, its attributes, and the device that it names."""

    place: Device
    attributes: dict[str, Any]

    def made_again(self, requires_grad: bool) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        """A function and its arguments that make such a Tensor, without its attributes."""
        strides = tuple(step // self.itemsize for step in self.strides)
        dtype = dtypes.from_numpy(self.dtype)
        parts = self.backend.tensor_type, dtype, self.shape, strides, 0, types.strided, self.place, requires_grad
        return rebuild, parts

    @property
    def device(self) -> Any:
        """The device that the Tensor says it is on."""
        return self.place

    def item(self, *args: Any) -> Any:
        """The only element, which the class of the Tensor gives.

        Raises:
            RuntimeError: classes are not asked.
        """
        tensor = tensor_over(self)
        if not class_dispatch.overriding_types((tensor,)):
            raise _without_data()
        return ops._local_scalar_dense(tensor)

    def tolist(self) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: there are no elements.
        """
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {self.backend.tensor_type.__name__}")


class WrapperBackend:
    """The way of values to Tensors of a class and back: there is none but the operators."""

    key = CPU
    device = "cpu"
    listed_in = ""

    def __init__(self, tensor_type: type[Tensor]) -> None:
        self.tensor_type = tensor_type

    def index_of(self, array: Any) -> None:
        """None: it has no number."""

    def check_index(self, index: int | None) -> None:
        """Nothing: numbers say nothing here."""

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """The dtype itself."""
        wanted: np.dtype[Any] = np.dtype(dtype)
        return wanted

    def tensor(self, array: Any) -> Tensor:
        """Another Tensor with the same attributes, around the same others.

        Raises:
            RuntimeError: it is no array of a Tensor: only the class makes its Tensors.
        """
        if not isinstance(array, WrapperArray):
            raise _without_data()
        out = Tensor._make_subclass(self.tensor_type, wrap(array))
        out.__dict__.update(array.attributes)
        return out

    def from_host(self, array: np.ndarray[Any, Any]) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: only the class makes its Tensors.
        """
        raise _without_data()

    def to_host(self, array: Any) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: there is no data.
        """
        raise _without_data()

    def overwrite(self, target: Any, source: np.ndarray[Any, Any]) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: there is no data.
        """
        raise _without_data()

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A plain Tensor of zeros: what an operator makes of it and of others the class says."""
        return wrap(np.zeros(shape, dtype))


def _without_data() -> RuntimeError:
    return RuntimeError(
        "a Tensor around others has no data of its own, and its __torch_dispatch__ was not asked: an operator of its "
        "own was called where classes are passed by, or something that is no operator"
    )


def rebuild(
    cls: type[Tensor],
    dtype: DType,
    size: Sequence[int],
    strides: Sequence[int],
    storage_offset: int,
    layout: Layout,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """A Tensor around others without its attributes, by arguments in the order that PyTorch's files have."""
    return make_wrapper_subclass(
        cls, size, strides, storage_offset, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def make_wrapper_subclass(
    cls: type[Tensor],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: MemoryFormat | None = None,
    dtype: DType | None = None,
    layout: Layout = types.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Tensor:
    """A Tensor of a class with `__torch_dispatch__`, which gives the results of all operators on it.

    Args:
        size: its shape.
        strides: in elements; by default those of a contiguous Tensor.
        storage_offset: is taken and says nothing, since there is no memory.
        memory_format: must be None.
        dtype: by default the default one.
        layout: must be `strided`.
        device: what it says it is on; by default the CPU.
        pin_memory: must be False.

    Raises:
        RuntimeError: the class has no `__torch_dispatch__`, or an argument is not as it must be.
    """
    if not class_dispatch.stands_in(cls):
        raise RuntimeError(
            f"{cls.__name__} subclass must define a __torch_dispatch__ method: a Tensor around others has no data"
        )
    if memory_format is not None or layout is not types.strided or pin_memory:
        raise RuntimeError("_make_wrapper_subclass: no memory format, other layout or pinned memory can be asked for")
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        raise RuntimeError("_make_wrapper_subclass: sizes, strides, device and layout are those that are given here")
    shape = tuple(map(int, size))
    element = (dtypes.get_default_dtype() if dtype is None else dtype).numpy
    steps = dense_strides(shape, element.itemsize)
    if strides is not None:
        steps = [step * element.itemsize for step in strides]
    array = strided(shape, element, steps).view(WrapperArray)
    cls._opaque = True
    out = Tensor._make_subclass(cls, wrap(array), requires_grad)
    if "_around" not in vars(cls):
        cls._around = WrapperBackend(cls)  # type: ignore[attr-defined]
    array.backend = cls._around  # type: ignore[attr-defined]
    array.place = types.CPU if device is None else types.device(device)
    array.attributes = out.__dict__
    return out
