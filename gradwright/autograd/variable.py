"""`Variable`, which Tensors were wrapped in once."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from runtime.base.tensor import Tensor

__all__ = ["Variable", "is_multithreading_enabled", "set_multithreading_enabled"]


class _VariableType(type):
    def __call__(cls, data: Tensor, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        out: Tensor = data.detach()
        return out.requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """A Tensor over the memory of another, as a leaf; each Tensor is an instance. Prefer `requires_grad_`."""


class _Multithreading:
    enabled = True


def is_multithreading_enabled() -> bool:
    """Whether a backward may use several threads; it runs in the thread that asks for it."""
    return _Multithreading.enabled


class set_multithreading_enabled(AbstractContextManager[None]):
    """Set whether a backward may use several threads, at once, until the end of the block if it is one."""

    def __init__(self, mode: bool) -> None:
        self.prev = _Multithreading.enabled
        _Multithreading.enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        _Multithreading.enabled = self.prev
