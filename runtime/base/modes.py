"""Thread-local and process-wide switches that decide how an operator call runs.

Generated operators ask one question, `type(x) in plain`, before they take their straight-line path. Whoever turns on
something that path does not know (forward AD, profiling, function modes) empties `plain` for as long as it lasts, so
that the path itself never has to look at modes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from runtime.base import composites
from runtime.base.threads import ThreadState
from runtime.native import core

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor
    from runtime.call.dispatch import Operator
    from runtime.graph.node import Node

Variant: TypeAlias = Literal["call", "inplace", "out"]


class GradMode(ThreadState):
    """Whether operators record a graph, for each thread on its own; on when a thread starts."""

    enabled: bool = True
    inference: bool = False  # nothing is recorded, also under enable_grad, and results are inference tensors
    asked: bool = False  # what was asked for inside of inference mode


grad_mode: GradMode = GradMode() if core is None else core.GradMode()


class unrecorded:
    """A `with` block in which nothing is recorded. Kernels run in it: a generator would take three times as long."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = grad_mode.enabled
        grad_mode.enabled = False

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self._before


# The Tensor types the straight-line path may handle. The set object itself never changes: generated code holds it.
plain: set[type] = set()

# Those that are in it while nothing is unusual.
plain_types: set[type] = set()
_unusual = 0
_lock = threading.Lock()


def register_plain(cls: type) -> None:
    """Let the straight-line path handle `cls`: a Tensor class that changes nothing about how operators run."""
    with _lock:
        plain_types.add(cls)
        if _unusual == 0:
            plain.add(cls)
        if core is not None:
            core.add_plain_type(cls)


def enter_unusual() -> None:
    """Send all operator calls of the process through the general path until `leave_unusual`; calls nest."""
    global _unusual
    with _lock:
        _unusual += 1
        plain.clear()
        if core is not None:
            core.set_unusual(_unusual)


def leave_unusual() -> None:
    """Undo one `enter_unusual`."""
    global _unusual
    with _lock:
        if _unusual == 0:
            raise RuntimeError("leave_unusual() was called more often than enter_unusual()")
        _unusual -= 1
        if _unusual == 0:
            plain.update(plain_types)
        if core is not None:
            core.set_unusual(_unusual)


@contextmanager
def unusual() -> Iterator[None]:
    """`enter_unusual` for the length of a `with` block."""
    enter_unusual()
    try:
        yield
    finally:
        leave_unusual()


class Handler(Protocol):
    """Stands around operator calls.

    `values` are the arguments as the schema orders them; for the variant "out" the list of Tensors to write comes
    first. `proceed(values)` goes on to the handlers that were added earlier and then to the operator.
    """

    def __call__(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any: ...


class Computing(Protocol):
    """Stands for kernels, below the recording of gradients: what it gives is the result, and gets the history.

    The arguments are those of a `Handler`. While it runs, calls go to the handlers that were added earlier.
    """

    def __call__(self, operator: Operator, variant: Variant, values: list[Any]) -> Any: ...


class Casting:
    """A handler that stands next to the operators, inside of all others and of classes that take calls over.

    It is no block: it sees the calls from when it is made until it is closed, or its thread ends.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        stack = ExitStack()
        stack.enter_context(unusual())
        stack.enter_context(composites.called())
        self.close = weakref.finalize(self, stack.close)
        self.close.atexit = False


class NodeHandler(Protocol):
    """Stands around the running of Nodes in a backward, their hooks included.

    `proceed()` goes on to the handlers that were added earlier and then runs the Node; it returns the gradients of its
    inputs. Leaves that accumulate are seen as their AccumulateGrad, with no gradients of inputs; a Node where the
    backward only picks up a gradient for the caller does not run and is not seen.
    """

    def __call__(self, node: Node, proceed: Callable[[], Sequence[Tensor | None]]) -> Sequence[Tensor | None]: ...


class ThreadHandlers(ThreadState):
    """Who wants to see the operator calls of this thread, computes them, sees the Nodes recorded and those that run.

    The newest is the last.
    """

    calls: tuple[Handler, ...] = ()
    casting: Casting | None = None
    computing: tuple[Computing, ...] = ()
    nodes: tuple[NodeHandler, ...] = ()
    recorded: tuple[Callable[[Node], None], ...] = ()


class ProcessHandlers:
    """The same for all threads of the process."""

    recorded: tuple[Callable[[Node], None], ...] = ()
    nodes: tuple[NodeHandler, ...] = ()


thread_handlers = ThreadHandlers()
process_handlers = ProcessHandlers()


@contextmanager
def handle_calls(handler: Handler) -> Iterator[None]:
    """Put `handler` around the operator calls of this thread; the newest handler is called first."""
    before = thread_handlers.calls
    with unusual(), composites.called():
        thread_handlers.calls = (*before, handler)
        try:
            yield
        finally:
            thread_handlers.calls = before


def cast_by(handler: Handler | None) -> None:
    """Let `handler` stand next to the operators that this thread calls, in the place of the one before; or none."""
    known = thread_handlers.casting
    if (known and known.handler) is handler:
        return
    thread_handlers.casting = None if handler is None else Casting(handler)
    if known is not None:
        known.close()


@contextmanager
def uncast() -> Iterator[None]:
    """A block in which the handler of `cast_by` does not see what this thread calls."""
    known = thread_handlers.casting
    thread_handlers.casting = None
    try:
        yield
    finally:
        thread_handlers.casting = known


@contextmanager
def handle_kernels(handler: Computing) -> Iterator[None]:
    """Let `handler` stand for the kernels that this thread calls; the newest handler is called first."""
    before = thread_handlers.computing
    with unusual():
        thread_handlers.computing = (*before, handler)
        try:
            yield
        finally:
            thread_handlers.computing = before


@contextmanager
def handle_nodes(handler: NodeHandler) -> Iterator[None]:
    """Put `handler` around the Nodes that run in this thread; the newest handler is called first.

    A backward asks for the handlers when it begins.
    """
    before = thread_handlers.nodes
    thread_handlers.nodes = (*before, handler)
    try:
        yield
    finally:
        thread_handlers.nodes = before


@contextmanager
def handle_recorded(callback: Callable[[Node], None]) -> Iterator[None]:
    """Let `callback` see each Node that this thread records, as soon as it is complete."""
    before = thread_handlers.recorded
    with unusual():
        thread_handlers.recorded = (*before, callback)
        try:
            yield
        finally:
            thread_handlers.recorded = before


def tell_recorded(node: Node) -> None:
    """Show a Node that was just recorded to the handlers of `handle_recorded`."""
    for callback in (*process_handlers.recorded, *thread_handlers.recorded):
        callback(node)
