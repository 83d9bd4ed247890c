"""What stands in a Tensor's `_array` where its values lie on a device: shape and dtype without memory, and the values.

All that asks for shape and dtype goes on as with other arrays. Whatever would read or write values without an operator
is refused here, and not computed on something that is no data. The memory below is a few bytes that mean NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from runtime.base.arrays import converted, is_complex32, is_narrow
from runtime.base.tensor import Tensor, wrap

if TYPE_CHECKING:
    from runtime.base.devices import Backend

# Kernels never write to arrays, so that one lies in memory as well as in any other order.
_FLAGS = SimpleNamespace(
    c_contiguous=True, f_contiguous=False, contiguous=True, writeable=False, owndata=False, aligned=True
)
_NAN = {"b": b"\x01" * 16, "f": b"\xff" * 16, "c": b"\xff" * 16, "V": b"\xff" * 16}


class NonHostArray(np.ndarray):
    """An array that is not NumPy's to read: its values lie on a device, or there are none."""

    backend: Backend


class DeviceArrayProxy(NonHostArray):
    """A device's array in the place of one of NumPy's.

    It is one piece of memory to all Tensors that hold it: an in-place write gives it other values. What a view operator
    gave is made again when the values of its base have changed.
    """

    _values: Any
    _base: DeviceArrayProxy | None = None
    _made_of: Any = None  # the values of the base that `_values` were made of
    _remake: Callable[[Any], Any] | None = None

    @staticmethod
    def of(values: Any, backend: Backend) -> DeviceArrayProxy:
        """One for an array of the backend."""
        dtype = backend.numpy_dtype(values.dtype)
        shape = tuple(values.shape)
        memory = _NAN.get(dtype.kind, _NAN["f"])
        made = np.ndarray.__new__(DeviceArrayProxy, shape, dtype, memory, 0, (0,) * len(shape))
        made.backend = backend
        made._values = values
        return made

    def view_by(self, remake: Callable[[Any], Any], values: Any) -> DeviceArrayProxy:
        """One for a view: `values`, which are `remake` of the values of this one."""
        made = DeviceArrayProxy.of(values, self.backend)
        made._base, made._made_of, made._remake = self, self.read(), remake
        return made

    def read(self) -> Any:
        """The values: an array of the backend."""
        if self._base is not None and self._remake is not None:
            source = self._base.read()
            if source is not self._made_of:
                self._values, self._made_of = self._remake(source), source
        return self._values

    def write(self, values: Any) -> None:
        """Give all Tensors over this memory other values.

        Raises:
            RuntimeError: it is a view, from which no way leads to the values of its base.
        """
        if self._base is not None:
            raise RuntimeError(
                f"a view of a Tensor on {self.backend.device} is being modified inplace, which arrays of this device "
                "can not: write to the Tensor itself, or to a clone() of the view"
            )
        self._values = values

    def copy(self, order: Any = "C") -> DeviceArrayProxy:
        """Other memory with the same values, which nobody writes to."""
        return DeviceArrayProxy.of(self.read(), self.backend)

    @property
    def flags(self) -> Any:
        """Those of an array in order, which must not be written."""
        return _FLAGS

    @property  # type: ignore[misc]
    def strides(self) -> Any:
        """Those of an array in order."""
        strides, step = [0] * self.ndim, self.itemsize
        for dim in reversed(range(self.ndim)):
            strides[dim] = step
            step *= max(self.shape[dim], 1)
        return tuple(strides)

    # What NumPy would do with the memory.

    def __array_finalize__(self, made_from: Any) -> None:
        if isinstance(made_from, DeviceArrayProxy):
            made_from._refuse()

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        for value in (*args, *kwargs.get("out", ())):
            if isinstance(value, DeviceArrayProxy):
                value._refuse()
        self._refuse()

    def __array_function__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._refusal()

    def _refusal(self) -> Exception:
        """What is raised where NumPy would use the memory."""
        return RuntimeError(
            f"the values of a Tensor lie on {self.backend.device}, and were to be used in main memory: there is no "
            f"operator of {self.backend.key} on this way. Use Tensor.cpu() first."
        )


# What is known of an array without its values, and what is defined above.
_KNOWN = frozenset(("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "base", *vars(DeviceArrayProxy)))
for _name in dir(np.ndarray):
    if not _name.startswith("__") and _name not in _KNOWN:
        setattr(DeviceArrayProxy, _name, property(DeviceArrayProxy._refuse))
for _name in (
    "__bool__", "__int__", "__float__", "__complex__", "__index__", "__getitem__", "__setitem__", "__contains__",
    "__iter__", "__reduce__", "__reduce_ex__", "__deepcopy__", "__copy__", "__array__", "__repr__", "__str__",
    "__format__",
):  # fmt: skip
    setattr(DeviceArrayProxy, _name, DeviceArrayProxy._refuse)
for _name in ("__array_interface__", "__array_struct__", "__dlpack__", "__dlpack_device__"):
    setattr(DeviceArrayProxy, _name, property(DeviceArrayProxy._refuse))


def overwrite(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """Write values of the same shape, in the dtype of what is written; from one device to another, too."""
    if isinstance(target, NonHostArray):
        target.backend.overwrite(target, source)
    elif isinstance(source, NonHostArray):
        np.copyto(target, source.backend.to_host(source), casting="unsafe")
    elif target.dtype is source.dtype:
        np.copyto(target, source)
    else:
        converts = is_narrow(target.dtype) or is_complex32(source.dtype)
        np.copyto(target, converted(source, target.dtype) if converts else source, casting="unsafe")


def on_device(tensor: Tensor) -> bool:
    """Whether a Tensor is not in main memory."""
    return isinstance(tensor._array, NonHostArray)


def tensor_over(array: np.ndarray[Any, Any]) -> Tensor:
    """A new Tensor over an array, wherever its values lie."""
    return array.backend.tensor(array) if isinstance(array, NonHostArray) else wrap(array)


def class_over(array: np.ndarray[Any, Any]) -> type[Tensor]:
    """The class of Tensors over such an array."""
    return array.backend.tensor_type if isinstance(array, NonHostArray) else Tensor
