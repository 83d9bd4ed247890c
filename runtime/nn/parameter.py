"""Tensors with a role in a Module: parameters, which are trained, and buffers, which are only kept with it."""

from __future__ import annotations

from typing import Any, cast

from runtime.base.modes import register_plain
from runtime.base.sharing import share
from runtime.base.stand_in import on_device
from runtime.base.tensor import Tensor


def _over(cls: type[Tensor], data: Tensor, requires_grad: bool) -> Tensor:
    """A Tensor of class `cls` over the memory of `data`; both count the writes to it."""
    out = Tensor._make_subclass(cls, data)
    share(out, data)
    return out.requires_grad_() if requires_grad else out


class _Marked(type):
    """A class whose instances include Tensors of foreign subclasses that carry its mark."""

    _mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        # A subclass of Parameter has instances of its own only.
        return "_mark" in cls.__dict__ and isinstance(instance, Tensor) and getattr(instance, cls._mark, False) is True


class Parameter(Tensor, metaclass=_Marked):
    """A Tensor that becomes one of the parameters of the Module it is assigned to.

    Args:
        data: its values, which are shared and not copied; an empty Tensor if left out. A Tensor of a class of its own
            keeps that class, and still is an instance of Parameter for `isinstance`.
        requires_grad: whether gradients are computed for it.
    """

    _mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = Tensor(0)
        if type(data) in (Tensor, Parameter, Buffer):
            return cast("Parameter", _over(cls, data, requires_grad))
        parameter: Any = _over(type(data), data.detach(), requires_grad)
        parameter._is_param = True
        return cast("Parameter", parameter)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        done: Parameter | None = memo.get(id(self))
        if done is None:
            # Neither the gradient nor attributes belong to the copy.
            done = memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return done

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor, metaclass=_Marked):
    """A Tensor that becomes one of the buffers of the Module it is assigned to.

    Args:
        data: its values, which are shared and not copied; an empty Tensor if left out.
        persistent: whether it is part of the Module's `state_dict`.
    """

    _mark = "_is_buffer"
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = Tensor(0)
        if on_device(data):  # on a device, whose Tensors have a class of their own
            out: Any = _over(type(data), data.detach(), data.requires_grad)
            out._is_buffer = True
        else:
            out = _over(cls, data, data.requires_grad)
        out.persistent = persistent
        return cast("Buffer", out)


register_plain(Parameter)
register_plain(Buffer)
