"""`TorchDispatchMode`: a block in which an object stands for each operator that computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.keys import COMPOSITE_IMPLICIT
from runtime.base.modes import Variant
from runtime.call.kernel_table import backend_of
from runtime.call.mode_blocks import ModeBlock
from runtime.call.public import as_called

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode(ModeBlock):
    """A `with` block in which `__torch_dispatch__` of this object stands for every operator that has a kernel.

    Operators that are made of others are seen as these, and so are the formulas of a backward. What it calls itself is
    seen by the modes around it, not by this one. It stands above the recording of gradients: what it gives in the place
    of a result has the history that it was made with.
    """

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def _handle(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        tensors = [*values[0], *values[1:]] if variant == "out" else values
        if variant == "call" and operator.choose(backend_of(tensors))[0] == COMPOSITE_IMPLICIT:
            return proceed(values)
        _, args, kwargs = as_called(operator, variant, values)
        return self._outside(self.__torch_dispatch__, _overload(operator, variant), (), args, kwargs)


def _overload(operator: Operator, variant: Variant) -> Any:
    """The overload under `ops` that a variant of an operator is."""
    base = operator.signature.name.rpartition("::")[2]
    overload = operator.name.partition(".")[2]
    if variant == "inplace" and not base.endswith("_"):
        base = f"{base}_"
    elif variant == "out":
        overload = f"{overload}_out" if overload else "out"
    packet = getattr(getattr(ops, operator.namespace), base)
    if variant == "out" and overload not in packet.overloads():
        overload = "out"
    return getattr(packet, overload or "default")


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is a Tensor around others that a compiler could see through: there are none."""
    return False
