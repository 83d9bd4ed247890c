"""`__torch_dispatch__`: classes of Tensors that stand for the kernels of calls in which their objects are arguments.

They stand where handlers of `modes.handle_kernels` do, below the recording of gradients and below operators that are
made of others. Their Tensors are not plain, so that their calls come to the general path; only that asks here, and it
does so from the first class on (`watch.classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base import overriding
from runtime.base.modes import unrecorded
from runtime.base.threads import ThreadState

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor


class Watch:
    """Whether there are classes with a `__torch_dispatch__`."""

    classes = False


class State(ThreadState):
    """Whether classes are asked in this thread."""

    off = 0  # within how many blocks that let calls pass by classes


watch = Watch()
state = State()


class DisableTorchDispatch(AbstractContextManager[None]):
    """A `with` block in which no class stands for kernels."""

    def __enter__(self) -> None:
        state.off += 1

    def __exit__(self, *error: object) -> None:
        state.off -= 1


def stands_in(kind: type) -> bool:
    """Whether a class stands for kernels."""
    return getattr(kind, "__torch_dispatch__", None) is not None


def admit(cls: type) -> None:
    """A class of Tensors was made."""
    if stands_in(cls):
        watch.classes = True


def overriding_types(values: Iterable[Any]) -> list[Any]:
    """The values, those in lists as well, whose classes stand for kernels: one of each class, subclasses first."""
    return overriding.one_of_each_class(values, stands_in) if watch.classes and not state.off else []


def ask_types(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], found: Sequence[Any]) -> Any:
    """What the first of the overriding_types that does not decline a call makes of it.

    Raises:
        TypeError: all do.
    """
    types: tuple[Any, ...] = tuple(map(type, found))
    for kind in types:
        out = overriding.call_handler(kind.__torch_dispatch__, func, types, args, kwargs)
        if out is not NotImplemented:
            return out
    raise declined(func, [f"tensor subclass {kind!r}" for kind in types])


def declined(func: Callable[..., Any], handlers: Iterable[str]) -> TypeError:
    """The error of a call that all handlers declined."""
    listed = "".join(f"\n  - {handler}" for handler in handlers)
    return TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n{listed}"
    )


def detached(tensor: Tensor) -> Tensor:
    """What the class of a Tensor gives in the place of the Tensor without its history."""
    with unrecorded():
        out: Tensor = ops.detach(tensor)
    return out


def copied(tensor: Tensor) -> Tensor:
    """What the class of a leaf gives in the place of its copy, which is a leaf as well.

    Raises:
        RuntimeError: it is of another class.
    """
    with unrecorded():
        out: Tensor = ops.clone(tensor)
    if type(out) is not type(tensor):
        raise RuntimeError(
            f"The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
            f"properly implement clone() to return a {type(tensor).__name__}; it gave a {type(out).__name__}"
        )
    return out.requires_grad_(tensor.requires_grad)
