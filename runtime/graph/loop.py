"""One backward: the loop over waiting Nodes.

A Node is numbered after everything it points at, so the waiting Node with the highest number has received all of its
gradients: no Node that is still to run can point at it. That is the order PyTorch runs them in, and it needs no count
of dependencies. Leaves have no number; they are finished at the end, or, where somebody could tell, when a count made
beforehand says that nothing more will come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush, heappushpop
from typing import Any

import numpy as np

from runtime.base.arrays import adds_up
from runtime.base.modes import NodeHandler, plain
from runtime.base.tensor import Tensor, wrap
from runtime.graph.fit import fit, fit_leaf
from runtime.graph.hooks import apply_with_hooks, explain, run_tensor_hooks
from runtime.graph.leaves import finish_with_hooks, is_unshared
from runtime.graph.node import Node, OutputEdge, accumulator
from runtime.graph.search import Search

# What is asked for where nobody searched: nothing. Runs only read it.
_NO_LEAVES: dict[Tensor, list[int]] = {}
_NO_OUTPUTS: dict[Node, list[tuple[int, int]]] = {}


class Run:
    """A backward in Python: what is waiting.

    Args:
        keep_graph: leave saved state in place for another run.
        create_graph: record what is computed.
        accumulate: add to `grad` of the leaves; otherwise keep the gradients of the inputs in `results`.
        search: which part of the graph runs; None: everything.
    """

    handlers: tuple[NodeHandler, ...] = ()

    def __init__(self, keep_graph: bool, create_graph: bool, accumulate: bool, search: Search | None) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.search = search
        self.pending: dict[Node, Any] = {}  # a gradient; a list of them for a Node of several outputs
        self.heap: list[int] = []  # negative sequence numbers of the Nodes in `pending`
        self.numbered: dict[int, Node] = {}
        self.leaf_grads: dict[Tensor, Tensor] = {}
        self.owned: set[Any] = set()  # whose waiting gradient is a sum made here, so that it may be written
        self.only_arrays = not create_graph  # gradients are plain, and nothing is recorded: sums may be written
        self.results: list[Tensor | None] = []
        self.uses: dict[Tensor, int] | None = None  # edges that still can bring a leaf something
        self.needed: dict[Node, bool] | None = None
        self.only_inputs = False
        self.wanted_leaves, self.wanted_outputs = _NO_LEAVES, _NO_OUTPUTS
        if search is not None:
            self.uses, self.needed, self.only_inputs = dict(search.uses), search.needed, search.only_inputs
            self.wanted_leaves, self.wanted_outputs = search.wanted_leaves, search.wanted_outputs
            if not accumulate:
                self.results = [None] * search.input_count

    def start(self, roots: Sequence[Any], grads: Sequence[Tensor]) -> None:
        """Hand gradients to the Nodes and leaves where the backward starts."""
        source = "the caller"
        self.only_arrays = not self.create_graph and all(type(grad) in plain for grad in grads)
        for target, grad in zip(roots, grads, strict=True):
            if isinstance(target, OutputEdge):
                node, output_nr = target.node, target.output_nr
            elif isinstance(target, Node):
                node, output_nr = target, 0
            else:
                if not self.only_inputs or target in self.wanted_leaves:
                    known = self.leaf_grads.get(target)
                    grad = fit_leaf(grad, target, source)
                    self.leaf_grads[target] = grad if known is None else self.add(known, grad, target)
                continue
            if self.needed is not None and node not in self.needed:
                continue
            if node.num_outputs != 1:
                self.deliver_output(node, output_nr, grad, source)
                continue
            grad = fit(grad, node.shape, node.dtype, source)
            if node in self.pending:
                self.pending[node] = self.add(self.pending[node], grad, node)
            else:
                self.push(node, grad)

    def deliver_output(self, node: Node, output_nr: int, grad: Tensor, source: str) -> None:
        """Add a gradient to those waiting for a Node of several outputs."""
        grad = fit(grad, node.shape[output_nr], node.dtype[output_nr], source)
        waiting = self.pending.get(node)
        if waiting is None:
            waiting = _Outputs([None] * node.output_count)
            self.push(node, waiting)
        known = waiting[output_nr]
        waiting[output_nr] = grad if known is None else self.add(known, grad, (node, output_nr))

    def push(self, node: Node, grad: Any) -> None:
        self.pending[node] = grad
        self.numbered[-node.sequence_nr] = node
        heappush(self.heap, -node.sequence_nr)

    def add(self, first: Tensor, second: Tensor, key: Any) -> Tensor:
        """The sum of two gradients for `key`, in place where the first is already a sum made here."""
        if not self.only_arrays or type(first) not in plain or type(second) not in plain:
            return sum_of(first, second)
        if not adds_up(first._array.dtype):
            return sum_of(first, second)
        if key in self.owned:
            np.add(first._array, second._array, out=first._array)
            return first
        self.owned.add(key)
        return wrap(np.asarray(np.add(first._array, second._array)))

    def loop(self) -> None:
        # This runs once for every Node of every graph: plain statements over locals, calls only where they must be.
        pending, heap, numbered, owned = self.pending, self.heap, self.numbered, self.owned
        leaf_grads, uses, needed, wanted_leaves = self.leaf_grads, self.uses, self.needed, self.wanted_leaves
        keep_graph, only_inputs, wanted_outputs, add = self.keep_graph, self.only_inputs, self.wanted_outputs, np.add
        without_handlers = not self.handlers
        node: Node
        edge: Any
        grad: Any
        results: Any
        next_node: Node | None = None  # the single-output Node that the last one led to: it needs no heap if it is next
        next_grad: Any = None
        while True:
            if next_node is None:
                if not heap:
                    return
                node = numbered.pop(heappop(heap))
                grad = pending.pop(node)
            elif heap and heap[0] < -next_node.sequence_nr:
                pending[next_node] = next_grad
                number = -next_node.sequence_nr
                numbered[number] = next_node
                node = numbered.pop(heappushpop(heap, number))
                grad = pending.pop(node)
                next_node = next_grad = None
            else:
                node, grad = next_node, next_grad
                next_node = next_grad = None
            if owned:
                owned.discard(node)
            if type(grad) is _Outputs:
                grad = tuple(grad)
            if without_handlers and node._extra is None and (needed is None or node not in wanted_outputs):
                try:
                    results = node.apply(grad)
                except Exception as error:
                    explain(error, node)
                    raise
                if not keep_graph:
                    node.release()
            else:
                results = self.run_watched(node, grad)
            for edge, grad in zip(node.edges, results):  # noqa: B905 (generated Nodes match, and a check costs time)
                if grad is None or edge is None:
                    continue
                array = grad._array
                if isinstance(edge, Node):
                    if needed is not None and edge not in needed:
                        continue
                    if array.shape != edge.shape or array.dtype is not edge.dtype:
                        if edge.num_outputs != 1:
                            self.deliver_output(edge, 0, grad, node._name)
                            continue
                        grad = fit(grad, edge.shape, edge.dtype, node._name)
                    if edge is next_node:
                        next_grad = self.add(next_grad, grad, edge)
                    elif edge in pending:
                        pending[edge] = self.add(pending[edge], grad, edge)
                    elif next_node is None:
                        next_node = edge
                        next_grad = grad
                    else:
                        pending[edge] = grad
                        number = -edge.sequence_nr
                        numbered[number] = edge
                        heappush(heap, number)
                elif isinstance(edge, OutputEdge):
                    if needed is None or edge.node in needed:
                        self.deliver_output(edge.node, edge.output_nr, grad, node._name)
                elif not only_inputs or edge in wanted_leaves:
                    leaf_array = edge._array
                    if (
                        array.shape != leaf_array.shape
                        or array.dtype is not leaf_array.dtype
                        or ((extra := edge._extra) is not None and extra.grad_dtype is not None)
                    ):
                        grad = fit_leaf(grad, edge, node._name)
                    if edge not in leaf_grads:
                        leaf_grads[edge] = grad
                    elif edge in owned and type(grad) in plain:
                        buffer = leaf_grads[edge]._array
                        add(buffer, grad._array, out=buffer)
                    else:
                        leaf_grads[edge] = self.add(leaf_grads[edge], grad, edge)
                    if uses is not None:
                        uses[edge] -= 1
                        if not uses[edge]:
                            self.finish_leaf(edge)
            grad = results = None  # a gradient with no other reference can be kept uncopied

    def finish_leaves(self) -> None:
        """Finish the leaves that still wait."""
        while self.leaf_grads:
            self.finish_leaf(next(iter(self.leaf_grads)))

    # -- hooks, captured gradients, leaves

    def run_watched(self, node: Node, grad: Any) -> Sequence[Tensor | None]:
        """Run a Node that has hooks, or in a backward towards given inputs or with handlers."""
        runs = self.needed is None or self.needed[node]
        if runs:  # as in PyTorch hooks only change what is asked for where nothing else is done with it
            self.capture(node, grad)
        if node._extra is not None:
            grad = run_tensor_hooks(node, grad)
        if not runs:
            self.capture(node, grad)
            if not self.accumulate:
                return ()
        wanted = None
        if self.needed is not None and (not runs or (node._extra is not None and node._extra.hooks)):
            wanted = self.wanted_edges(node)
        results = apply_with_hooks(node, grad, wanted)
        if not self.keep_graph:
            node.release()
        return results

    def capture(self, node: Node, grad: Any) -> None:
        """Keep the gradients of outputs that are asked for; `backward` has let inputs retain theirs."""
        if not self.accumulate:
            for output_nr, position in self.wanted_outputs.get(node, ()):
                self.results[position] = grad if node.num_outputs == 1 else grad[output_nr]

    def wanted_edges(self, node: Node) -> list[bool]:
        """Which gradients of a Node are asked for."""
        assert self.search is not None
        return [self.search.wants(edge) for edge in node.edges]

    def finish_leaf(self, leaf: Tensor) -> None:
        """The gradient of a leaf is complete: run the hooks, then add it to `grad` or keep it as a result."""
        unshared = self.accumulate and is_unshared(self.leaf_grads, leaf)
        grad = self.leaf_grads.pop(leaf)
        self.owned.discard(leaf)
        grad = finish_with_hooks(leaf, grad, self.accumulate, self.create_graph, unshared)
        if not self.accumulate:
            for position in self.wanted_leaves[leaf]:
                self.results[position] = grad


def sum_of(first: Tensor, second: Tensor) -> Tensor:
    """The sum of two gradients, which is dense where one of them is."""
    if first.is_sparse and not second.is_sparse:
        first, second = second, first
    return first + second  # type: ignore[no-any-return, operator, unused-ignore]


class HandledRun(Run):
    """A backward under handlers: each Node runs with the handlers around it."""

    def __init__(
        self,
        keep_graph: bool,
        create_graph: bool,
        accumulate: bool,
        search: Search | None,
        handlers: tuple[NodeHandler, ...],
    ) -> None:
        super().__init__(keep_graph, create_graph, accumulate, search)
        self.handlers = handlers

    def run_watched(self, node: Node, grad: Any) -> Sequence[Tensor | None]:
        run = partial(super().run_watched, node, grad)
        return self._handled(node, run) if self.needed is None or self.needed[node] else run()

    def finish_leaf(self, leaf: Tensor) -> None:
        finish = super().finish_leaf

        def run() -> Sequence[Tensor | None]:
            finish(leaf)
            return ()

        if self.accumulate:
            self._handled(accumulator(leaf), run)
        else:
            finish(leaf)

    def _handled(self, node: Node, run: Callable[[], Sequence[Tensor | None]]) -> Sequence[Tensor | None]:
        for handler in self.handlers:
            run = partial(handler, node, run)
        return run()


class _Outputs(list[Any]):
    """Gradients waiting for a Node of several outputs."""

    __slots__ = ()
