"""Conversion of all parameters and buffers of a Module.

Apart from Module, because the names of the methods hide Python's own `float` and `type` in the class that has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from gradwright.autograd import no_grad
from gradwright.nn.members import Members
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType, get_default_device
from runtime.methods.conversion import read_arguments

Child = TypeVar("Child", bound="Conversions[Any]")


class Conversions(Members[Child]):
    """Base of Module: methods that change the dtype of its Tensors in place and return the Module."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by what `fn` returns for it."""
        if recurse:
            for child in self._modules.values():
                if child is not None:
                    child._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                data = fn(parameter)
                if data._opaque is not parameter._opaque:  # on another device, where Tensors are of another class
                    self._parameters[name] = _on_device(data, parameter, fn)
                    continue
                parameter.data = data
                grad = parameter.grad
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def share_memory(self) -> Self:
        """Move all Tensors to memory that forked processes share: see `Tensor.share_memory_`."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point and complex Tensors to a dtype, and bring all Tensors to a device.

        `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`. Parameters that go to another device are new
        Tensors: make optimizers after that.

        Raises:
            TypeError: the dtype is neither floating-point nor complex, or the arguments are none of these.
        """
        dtype, device, _ = read_arguments(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is None and device is None:
            return self

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and device not in (None, tensor.device.type):
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use Module.to_empty() instead of Module.to() when "
                    "moving module from meta to a different device."
                )
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            return tensor.to(device=device, dtype=wanted)

        return self._apply(convert)

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

    def to_empty(self, *, device: Device | str | None, recurse: bool = True) -> Self:
        """Put Tensors of the same shapes and dtypes on a device, with arbitrary contents; a Module on meta gets memory.

        Args:
            device: where to; None is the default device.
            recurse: whether the Modules within go there as well.
        """
        place = get_default_device() if device is None else device
        return self._apply(lambda t: ops.empty_like(t, device=place), recurse=recurse)

    def cuda(self, device: Device | str | int | None = None) -> Self:
        """Bring all Tensors to a CUDA device, as `Tensor.cuda` does; errors are those of that method."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: Device | str | int | None = None) -> Self:
        """Bring all Tensors to an XPU, as `Tensor.xpu` does; errors are those of that method."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device: Device | str | int | None = None) -> Self:
        """Bring all Tensors to an IPU, as `Tensor.ipu` does; errors are those of that method."""
        return self._apply(lambda t: t.ipu(device))

    def mtia(self, device: Device | str | int | None = None) -> Self:
        """Bring all Tensors to an MTIA, as `Tensor.mtia` does; errors are those of that method."""
        return self._apply(lambda t: t.mtia(device))

    def cpu(self) -> Self:
        """Bring all Tensors to main memory."""
        return self.to("cpu")


def _on_device(data: Tensor, parameter: Parameter, fn: Callable[[Tensor], Tensor]) -> Parameter:
    """A Parameter in the place of one that lies elsewhere, with its gradient."""
    made = Parameter(data, parameter.requires_grad)
    if parameter.grad is not None:
        made.grad = fn(parameter.grad)
    return made
