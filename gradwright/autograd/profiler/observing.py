"""Observers of the beginning and end of operators, Nodes and named blocks: profiles, and tools outside of Python.

All of it rests on the handlers of `runtime.base.modes`, so it costs nothing while no profiler is open. As in PyTorch,
an observer sees the thread that it was started in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gradwright.autograd.profiler.events import Scope
from runtime.base import modes
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.graph.node import AccumulateGrad, Node
from runtime.graph.views import CopySlices

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


@dataclass(slots=True)
class Call:
    """Something that begins.

    Args:
        name: what it is shown as.
        scope: an operator, a Node or a named block.
        overload: of an operator.
        values: the arguments of an operator.
        node: the Node that runs.
    """

    name: str
    scope: Scope
    overload: str = ""
    values: Sequence[Any] = field(default=(), repr=False)
    node: Node | None = None

    @property
    def sequence_nr(self) -> int:
        """The number of the Node that runs; -1 where it has none of its own."""
        return -1 if self.node is None or isinstance(self.node, AccumulateGrad) else self.node.sequence_nr

    def input_shapes(self) -> list[Any]:
        """For each argument its shape, empty for what is no Tensor (lists of Tensors too).

        For a Node those of the gradients that it gets.
        """
        if self.scope is Scope.BACKWARD_FUNCTION and self.node is not None:
            shapes = (self.node.shape,) if self.node.num_outputs == 1 else self.node.shape
            return [list(shape) for shape in shapes]
        return [list(value._array.shape) if isinstance(value, Tensor) else [] for value in self.values]

    def concrete_inputs(self) -> list[Any]:
        """For each argument its value, None for Tensors."""
        return [None if _holds_tensors(value) else value for value in self.values]


class Observer(Protocol):
    """Is told what begins and ends, and which Nodes are recorded."""

    def begin(self, call: Call) -> Any:
        """`call` begins; what this returns is given to `end`."""

    def end(self, begun: Any, result: Any) -> None:
        """What began has ended, with the result of the operator; None after an exception."""

    def recorded(self, node: Node) -> None:
        """The operator that runs has recorded `node`."""


class _Observers(ThreadState):
    active: tuple[Observer, ...] = ()


_observers = _Observers()


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Let `observer` see what this thread does."""
    before = _observers.active
    with (
        modes.handle_calls(_operator_handler(observer)),
        modes.handle_nodes(_node_handler(observer)),
        modes.handle_recorded(observer.recorded),
    ):
        _observers.active = (*before, observer)
        try:
            yield
        finally:
            _observers.active = before


def begin_block(name: str, args: str | None = None) -> list[tuple[Observer, Any]]:
    """Tell the observers of this thread that a named block begins; `end_block` takes what this returns."""
    values = () if args is None else (args,)
    return [(observer, observer.begin(Call(name, Scope.USER_SCOPE, "", values))) for observer in _observers.active]


def end_block(begun: list[tuple[Observer, Any]]) -> None:
    """Tell the observers of its beginning that the block has ended."""
    for observer, token in reversed(begun):
        observer.end(token, None)


def _operator_handler(observer: Observer) -> modes.Handler:
    def handle(
        operator: Operator, variant: modes.Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        begun = observer.begin(_operator_call(operator, variant, values))
        result = None
        try:
            result = proceed(values)
            return result
        finally:
            observer.end(begun, result)

    return handle


def _operator_call(operator: Operator, variant: modes.Variant, values: list[Any]) -> Call:
    base, _, overload = operator.name.partition(".")
    if variant == "inplace":
        base = base if base.endswith("_") else f"{base}_"
    elif variant == "out":
        targets, *values = values
        values += targets
        overload = f"{overload}_out".removeprefix("_").removeprefix("Tensor_")
    return Call(f"aten::{base}", Scope.FUNCTION, overload, values)


def _node_handler(observer: Observer) -> modes.NodeHandler:
    def handle(node: Node, proceed: Callable[[], Sequence[Tensor | None]]) -> Sequence[Tensor | None]:
        name = node.name()
        if isinstance(node, (AccumulateGrad, CopySlices)):
            name = f"torch::autograd::{name}"
        outer = observer.begin(Call(f"autograd::engine::evaluate_function: {name}", Scope.FUNCTION, node=node))
        inner = observer.begin(Call(name, Scope.BACKWARD_FUNCTION, node=node))
        try:
            return proceed()
        finally:
            observer.end(inner, None)
            observer.end(outer, None)

    return handle


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, Tensor) for item in value)
    return isinstance(value, Tensor)
