"""The engine: runs a backward through a graph, from its roots to its leaves.

`search` says which part of the graph runs, `loop` runs it, `hooks` and `leaves` do what Nodes and leaves have beside
their formulas. Where the native core is built, its files of the same names do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from runtime.base import dtypes, overriding
from runtime.base.handles import watch
from runtime.base.modes import NodeHandler, grad_mode, process_handlers, thread_handlers
from runtime.base.sharing import GUARD
from runtime.base.state import LEAF, MARKS, UNTRACKED
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState, in_another_thread
from runtime.base.types import Size
from runtime.graph.fit import fit, fit_leaf
from runtime.graph.hooks import accumulating, apply_with_hooks, explain, run_tensor_hooks
from runtime.graph.leaves import finish_with_hooks
from runtime.graph.loop import HandledRun, Run, sum_of
from runtime.graph.node import DISCARD_GRADIENT, AccumulateGrad, Node, OutputEdge
from runtime.graph.saved import detached_error, freed_error, modified_error
from runtime.graph.search import Search
from runtime.native import core


class _Current(ThreadState):
    """The backward that this thread runs, the innermost one, and how many are open in each other: on its stack, and
    with those of the threads that wait for it.
    """

    run: Any = None
    depth = 0
    open = 0


_current = _Current()

# A backward that a Node or a hook starts runs on the same stack, which has room for so many.
_MOST_NESTED = 20
# Of more that are open in each other none will end.
_MOST_OPEN = 5_000


def current_run() -> Any:
    """The backward that is running on this thread, for hooks: tells them apart, and what it `will_reach`."""
    return _current.run


def run(
    roots: Sequence[Tensor],
    grads: Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    keep_graph: bool,
    create_graph: bool,
    accumulate: bool,
    allow_unused: bool,
) -> list[Tensor | None]:
    """Run backward from `roots`.

    Args:
        roots: Tensors that require grad.
        grads: their gradients, of the same shapes.
        inputs: run only what leads to these; None: everything, into all leaves.
        keep_graph: leave saved state in place for another run.
        create_graph: record what is computed.
        accumulate: add to `grad` of the leaves (of `inputs`); otherwise return the gradients of `inputs`.
        allow_unused: whether an input may be one that the roots do not depend on.

    Returns:
        The gradients of `inputs`, None for those that got none; an empty list where they are accumulated.

    Raises:
        RuntimeError: an input is not used and `allow_unused` is false; a gradient does not fit; saved state is gone.
    """
    enabled, outer = grad_mode.enabled, _current.run
    grad_mode.enabled = create_graph
    try:
        backward = _current.run = Backward(inputs, keep_graph, create_graph, accumulate)
        starts = [_start(root) for root in roots]
        backward.explore(starts)
        results = backward.send(starts, grads)
        if not allow_unused:
            check_used(results)
        return results
    finally:
        grad_mode.enabled, _current.run = enabled, outer


class Repeated:
    """Backward from the same roots towards the same inputs, as often as it is called: the graph is searched once.

    Args:
        roots: Tensors that require grad.
        inputs: Tensors that require grad.
        create_graph: record what is computed.
    """

    __slots__ = ("_backward", "_starts")

    def __init__(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool) -> None:
        self._backward = Backward(inputs, True, create_graph, accumulate=False)
        self._starts = [_start(root) for root in roots]
        self._backward.explore(self._starts)

    def __call__(self, grads: Sequence[Tensor], keep_graph: bool = True) -> list[Tensor | None]:
        """The gradients of the inputs, None for those that got none.

        Args:
            grads: the gradients of the roots, of the same shapes.
            keep_graph: leave saved state in place for another call.
        """
        enabled, outer = grad_mode.enabled, _current.run
        backward = _current.run = self._backward.again(keep_graph)
        grad_mode.enabled = backward.create_graph
        try:
            return backward.send(self._starts, grads)
        finally:
            grad_mode.enabled, _current.run = enabled, outer


class Backward:
    """One backward: what was asked for, and which part of the graph it runs.

    Args:
        inputs: run only what leads to these; None: everything.
        keep_graph: leave saved state in place for another run.
        create_graph: record what is computed.
        accumulate: add to `grad` of the leaves.
    """

    handlers: tuple[NodeHandler, ...] = ()
    search: Any = None  # a Search or a core.Search, where it matters what is met on the way

    def __init__(self, inputs: Sequence[Tensor] | None, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        self.inputs = inputs
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        if thread_handlers.nodes or process_handlers.nodes:
            self.handlers = (*process_handlers.nodes, *thread_handlers.nodes)

    def explore(self, starts: Sequence[Any]) -> None:
        """Search the graph from where the backward starts, if somebody asks what it meets."""
        if self.inputs is not None or watch.hooks or self.handlers:
            kind = Search if core is None or self.handlers else core.Search
            self.search = kind(starts, self.inputs)

    def send(self, starts: Sequence[Any], grads: Sequence[Tensor]) -> list[Tensor | None]:
        """Send `grads` to the leaves: the gradients of the inputs, or an empty list where they are accumulated.

        Raises:
            RecursionError: more backwards are open in each other than would ever end.
        """
        if _current.depth >= _MOST_NESTED:
            if _current.open >= _MOST_OPEN:
                raise RecursionError(f"{_MOST_OPEN} backwards have been started by Nodes or hooks of each other")
            modes = grad_mode.enabled, grad_mode.inference
            return in_another_thread(self._send_first, starts, grads, modes)
        _current.depth += 1
        _current.open += 1
        try:
            if overriding.watch.used:
                with overriding.DisableTorchFunction():  # formulas are no calls of the program
                    return self._send(starts, grads)
            return self._send(starts, grads)
        finally:
            _current.depth -= 1
            _current.open -= 1

    def _send_first(
        self, starts: Sequence[Any], grads: Sequence[Tensor], modes: tuple[bool, bool]
    ) -> list[Tensor | None]:
        """`send` in a thread that goes on with the backwards of another."""
        _current.depth = 0
        grad_mode.enabled, grad_mode.inference = modes
        return self.send(starts, grads)

    def _send(self, starts: Sequence[Any], grads: Sequence[Tensor]) -> list[Tensor | None]:
        keep, create, accumulate, search = self.keep_graph, self.create_graph, self.accumulate, self.search
        if core is None or self.handlers:
            return run_backward(starts, grads, keep, create, accumulate, search, self.handlers)
        return core.run_backward(starts, list(grads), keep, create, accumulate, search)  # type: ignore[no-any-return]

    def again(self, keep_graph: bool) -> Self:
        """Another backward through what `explore` met."""
        other = copy(self)
        other.keep_graph = keep_graph
        return other

    def will_reach(self, node: Node) -> bool:
        """Whether this backward computes the gradient of what `node` made (or of the leaf it stands for)."""
        if self.search is None:
            return False
        if isinstance(node, AccumulateGrad):
            return self.search.needs_leaf(node.variable)  # type: ignore[no-any-return]
        return self.search.needs(node)  # type: ignore[no-any-return]


def run_backward(
    roots: Sequence[Any],
    grads: Sequence[Tensor],
    keep_graph: bool,
    create_graph: bool,
    accumulate: bool,
    search: Search | None,
    handlers: tuple[NodeHandler, ...] = (),
) -> list[Tensor | None]:
    """The loop in Python, from Nodes, OutputEdges and leaves; with `handlers` around each Node."""
    if handlers:
        run: Run = HandledRun(keep_graph, create_graph, accumulate, search, handlers)
    else:
        run = Run(keep_graph, create_graph, accumulate, search)
    run.start(roots, grads)
    run.loop()
    run.finish_leaves()
    return run.results


def check_used(results: Sequence[Tensor | None]) -> None:
    """Raise if an input of `grad` got no gradient."""
    for index, result in enumerate(results):
        if result is None:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )


def _start(tensor: Tensor) -> Any:
    return tensor if tensor._edge is LEAF else tensor._edge


def _fit(grad: Tensor, target: Any, source: str) -> Tensor:
    if isinstance(target, Node):
        return fit(grad, target.shape, target.dtype, source)
    return fit_leaf(grad, target, source)


def _fit_output(node: Node, output_nr: int, grad: Tensor, source: str) -> Tensor:
    if node.num_outputs == 1:
        return fit(grad, node.shape, node.dtype, source)
    return fit(grad, node.shape[output_nr], node.dtype[output_nr], source)


if core is not None:
    core.install(
        tensor_type=Tensor,
        node_type=Node,
        output_edge_type=OutputEdge,
        leaf=LEAF,
        discard_gradient=DISCARD_GRADIENT,
        untracked=UNTRACKED,
        guard=GUARD,
        marks=MARKS,
        freed_error=freed_error,
        modified_error=modified_error,
        detached_error=detached_error,
        fit=_fit,
        fit_output=_fit_output,
        sum=sum_of,
        run_tensor_hooks=run_tensor_hooks,
        apply_with_hooks=apply_with_hooks,
        finish_with_hooks=finish_with_hooks,
        lock=accumulating,
        explain=explain,
    )
    core.replace_attributes(Tensor, Size, dtypes._from_numpy)
