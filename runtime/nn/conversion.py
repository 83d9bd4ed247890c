"""Conversion of all parameters and buffers of a Module.

Apart from Module, because the names of the methods hide Python's own `float` and `type` in the class that has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from runtime.autograd import no_grad
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.methods.conversion import read_arguments
from runtime.nn.members import Members

Child = TypeVar("Child", bound="Conversions[Any]")


class Conversions(Members[Child]):
    """Base of Module: methods that change the dtype of its Tensors in place and return the Module."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by what `fn` returns for it."""
        if recurse:
            for child in self._modules.values():
                if child is not None:
                    child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with no_grad():
                parameter.data = fn(parameter)
                grad = parameter.grad
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point and complex Tensors to a dtype: `to(dtype)`, `to(device, dtype)` or `to(tensor)`.

        Raises:
            TypeError: the dtype is neither floating-point nor complex, or the arguments are none of these.
        """
        dtype, _ = read_arguments(args, kwargs)
        if dtype is None:
            return self
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() or t.is_complex() else t)

    def type(self, dst_type: DType | str) -> Self:
        """Convert all Tensors, integers too, to a dtype."""
        return self._apply(lambda t: t.type(dst_type))  # type: ignore[arg-type,return-value]

    def _to_floating(self, dtype: DType) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Convert floating-point Tensors to float32."""
        return self._to_floating(dtypes.float32)

    def double(self) -> Self:
        """Convert floating-point Tensors to float64."""
        return self._to_floating(dtypes.float64)

    def half(self) -> Self:
        """Convert floating-point Tensors to float16."""
        return self._to_floating(dtypes.float16)

    def bfloat16(self) -> Self:
        """Convert floating-point Tensors to bfloat16."""
        return self._to_floating(dtypes.bfloat16)

    def cpu(self) -> Self:
        """The Module itself: all Tensors are in main memory."""
        return self
