"""`TorchDispatchMode`: a block in which an object stands for each operator that computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from runtime.base.modes import Variant, computing
from runtime.call.mode_blocks import ModeBlock
from runtime.call.overloads import overload_of
from runtime.call.public import as_called

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode(ModeBlock):
    """A `with` block in which `__torch_dispatch__` of this object stands for every operator that has a kernel.

    Operators that are made of others are seen as these, and so are the formulas of a backward. It stands below the
    recording of gradients: what it calls itself is not recorded, and what it gives in the place of a result gets the
    history of the call that it was asked for. What it calls is seen by the modes around it, not by this one.
    """

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def _handling(self) -> AbstractContextManager[None]:
        return computing(self._handle)

    def _handle(self, operator: Operator, variant: Variant, values: list[Any]) -> Any:
        _, args, kwargs = as_called(operator, variant, values)
        func = overload_of(operator, variant)
        out = self.__torch_dispatch__(func, (), args, kwargs)
        if out is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
                f"  - mode object {self!r}"
            )
        return out


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is a Tensor around others that a compiler could see through: there are none."""
    return False
