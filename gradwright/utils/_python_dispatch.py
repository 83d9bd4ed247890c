"""`TorchDispatchMode`: a block in which an object stands for each operator that computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gradwright.mode_blocks import ModeBlock
from runtime.base import class_dispatch, composites, overriding
from runtime.base.modes import Variant, handle_kernels, handle_nodes
from runtime.base.tensor import Tensor
from runtime.call.facts import BUILT_IN
from runtime.call.public import as_dispatched
from runtime.call.registered import generated_in

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator
    from runtime.call.overloads import OpOverload
    from runtime.graph.node import Node

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


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

    @contextmanager
    def _handling(self) -> Iterator[None]:
        overriding.watch.used = True
        with handle_kernels(self._handle), handle_nodes(_run_formula), composites.called():
            yield

    def _handle(self, operator: Operator, variant: Variant, values: list[Any]) -> Any:
        func, args, kwargs = as_dispatched(operator, variant, values)
        found = class_dispatch.overriding_types(values)
        out = overriding.call_handler(self.__torch_dispatch__, func, tuple(map(type, found)), args, kwargs)
        if out is NotImplemented and found:
            out = class_dispatch.ask_types(func, args, kwargs, found)
        if out is NotImplemented:
            raise class_dispatch.declined(func, [f"mode object {self!r}"])
        return out


def _run_formula(node: Node, proceed: Callable[[], Sequence[Tensor | None]]) -> Sequence[Tensor | None]:
    known = generated_in(BUILT_IN).get(getattr(node, "operator", ""))
    return proceed() if known is None else overriding.call_formula(known.operator, proceed)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is a Tensor around others that it names, and can be made of others again."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
    """What a `__torch_dispatch__` of a Tensor around others is to return for a call.

    Args:
        func: the operator that it was asked for.
        args, kwargs: what the operator was called with.
        out: the new Tensors that the class has made.

    Returns:
        The argument that was written to, of operators that write, or a tuple of them; else `out`. Results of view
        operators are made views of the argument wherever a class is asked, so nothing is to be done about them.
    """
    written = [
        kwargs[argument.name] if argument.name in kwargs else args[place]
        for place, argument in enumerate(func._schema.arguments)
        if argument.is_write and (argument.name in kwargs or place < len(args))
    ]
    if not written or not func._schema.returns:
        return out
    return written[0] if len(func._schema.returns) == 1 else tuple(written)
