"""Backward: sends gradients from the roots of a graph to its leaves.

A Node is numbered after everything it points at, so the waiting Node with the highest number has received all of its
gradients: no Node that is still to run can point at it. That is the order PyTorch runs them in, and it needs no count
of dependencies. Leaves have no number; they are finished at the end, or, where somebody could tell, when a count made
beforehand says that nothing more will come.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from heapq import heappop, heappush, heappushpop
from typing import Any, Self

import numpy as np

from runtime.base import dtypes
from runtime.base.handles import watch
from runtime.base.modes import NodeHandler, everywhere, grad_mode, interest, plain
from runtime.base.sharing import GUARD
from runtime.base.state import LEAF, MARKS, UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import Size
from runtime.graph.fit import fit
from runtime.graph.hooks import accumulating, apply_with_hooks, explain, replace_all, run_hooks, run_tensor_hooks
from runtime.graph.node import NOWHERE, AccumulateGrad, Node, OutputEdge, accumulator
from runtime.graph.saved import detached_error, freed_error, modified_error
from runtime.graph.views import bump_version
from runtime.native import core

_getrefcount: Callable[[object], int] | None = getattr(sys, "getrefcount", None)

# Where the gradient of an input of `grad` is found: output number and position among the inputs.
_Places = dict[Node, list[tuple[int, int]]]


def _fit(grad: Tensor, target: Any, source: str) -> Tensor:
    if isinstance(target, Node):
        return fit(grad, target.shape, target.dtype, source)
    return fit(grad, target._array.shape, target._array.dtype, source)


def _fit_output(node: Node, output_nr: int, grad: Tensor, source: str) -> Tensor:
    if node.num_outputs == 1:
        return fit(grad, node.shape, node.dtype, source)
    return fit(grad, node.shape[output_nr], node.dtype[output_nr], source)


class _Current(threading.local):
    """The backward that this thread runs: the innermost one."""

    run: Any = None


_current = _Current()


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
        kind = _run_class()
        this = _current.run = kind(inputs, keep_graph, create_graph, accumulate)
        return this.execute(roots, grads, allow_unused)
    finally:
        grad_mode.enabled, _current.run = enabled, outer


class Repeated:
    """Backward from the same roots towards the same inputs, as often as it is called: the graph is searched once.

    Args:
        roots: Tensors that require grad.
        inputs: Tensors that require grad.
        create_graph: record what is computed.
    """

    __slots__ = ("_run", "_targets")

    def __init__(self, roots: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool) -> None:
        self._run = _run_class()(inputs, True, create_graph, accumulate=False)
        self._targets = [_target(root) for root in roots]
        self._run.search(self._targets)

    def __call__(self, grads: Sequence[Tensor], keep_graph: bool = True) -> list[Tensor | None]:
        """The gradients of the inputs, None for those that got none.

        Args:
            grads: the gradients of the roots, of the same shapes.
            keep_graph: leave saved state in place for another call.
        """
        enabled, outer = grad_mode.enabled, _current.run
        run = _current.run = self._run.again(keep_graph)
        grad_mode.enabled = run.create_graph
        try:
            run.go(self._targets, grads)
            return run.results
        finally:
            grad_mode.enabled, _current.run = enabled, outer


class _AnyRun:
    """One backward."""

    def __init__(self, inputs: Sequence[Tensor] | None, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        self.inputs = inputs
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.results: list[Tensor | None] = [None] * (0 if inputs is None else len(inputs))

    def execute(self, roots: Sequence[Tensor], grads: Sequence[Tensor], allow_unused: bool) -> list[Tensor | None]:
        targets = [_target(root) for root in roots]
        self.search(targets)
        self.go(targets, grads)
        if not allow_unused:
            check_used(self.results)
        return [] if self.accumulate else self.results

    def search(self, targets: Sequence[Any]) -> None:
        """Find which part of the graph is run from `targets`, and how often its leaves are met."""
        raise NotImplementedError

    def go(self, targets: Sequence[Any], grads: Sequence[Tensor]) -> None:
        """Send `grads` from `targets`, where backward starts, to the leaves."""
        raise NotImplementedError

    def again(self, keep_graph: bool) -> Self:
        """Another backward through what `search` has found."""
        other = copy(self)
        other.keep_graph = keep_graph
        other.results = [None] * len(self.results)
        return other

    def will_reach(self, node: Node) -> bool:
        """Whether this backward computes the gradient of what `node` made (or of the leaf it stands for)."""
        raise NotImplementedError


class _NativeRun(_AnyRun):
    """A backward that the native engine runs."""

    found: Any = None  # a core.Search, where it matters what is met on the way

    def search(self, targets: Sequence[Any]) -> None:
        if self.inputs is not None or watch.hooks:
            self.found = core.Search(targets, self.inputs)

    def go(self, targets: Sequence[Any], grads: Sequence[Tensor]) -> None:
        results = core.backward(targets, list(grads), self.keep_graph, self.create_graph, self.accumulate, self.found)
        if not self.accumulate:
            self.results = results

    def will_reach(self, node: Node) -> bool:
        if self.found is None:
            return False
        if isinstance(node, AccumulateGrad):
            return self.found.needs_leaf(node.variable)  # type: ignore[no-any-return]
        return self.found.needs(node)  # type: ignore[no-any-return]


class _Run(_AnyRun):
    """A backward in Python: what is waiting, what was found."""

    handlers: tuple[NodeHandler, ...] = ()

    def __init__(self, inputs: Sequence[Tensor] | None, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        super().__init__(inputs, keep_graph, create_graph, accumulate)
        self.pending: dict[Node, Any] = {}  # a gradient; a list of them for a Node of several outputs
        self.heap: list[int] = []  # negative sequence numbers of the Nodes in `pending`
        self.numbered: dict[int, Node] = {}
        self.leaf_grads: dict[Tensor, Tensor] = {}
        self.owned: set[Any] = set()  # whose waiting gradient is a sum made here, so that it may be written
        self.only_arrays = not create_graph  # gradients are plain, and nothing is recorded: sums may be written
        self.uses: dict[Tensor, int] | None = None  # edges that still can bring a leaf something
        self.order: Sequence[Node] = ()  # where it goes, if that was asked for
        self.needed: dict[Node, bool] | None = None  # False: only its gradient is wanted, it does not run
        self.wanted_leaves: dict[Tensor, list[int]] = {}
        self.captures: _Places = {}

    def again(self, keep_graph: bool) -> Self:
        other = super().again(keep_graph)
        other.pending, other.heap, other.numbered, other.leaf_grads, other.owned = {}, [], {}, {}, set()
        other.uses = dict(self.uses or {})
        return other

    def search(self, targets: Sequence[Any]) -> None:
        if self.inputs is not None:
            self._sort_inputs(self.inputs)
        starts = [target.node if isinstance(target, OutputEdge) else target for target in targets]
        first = [node for node in starts if isinstance(node, Node)]
        if self.inputs is not None or watch.hooks or self.handlers:
            order, uses = _explore(first, self._lowest())
            self.order = order
            for target in starts:
                if not isinstance(target, Node):
                    uses[target] = uses.get(target, 0) + 1
            self.uses = uses
            if self.inputs is not None:
                self._find_needed(order)

    def go(self, targets: Sequence[Any], grads: Sequence[Tensor]) -> None:
        self._deliver(targets, grads, "the caller")
        self._loop()
        while self.leaf_grads:
            self._finish_leaf(next(iter(self.leaf_grads)))

    def will_reach(self, node: Node) -> bool:
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            if self.uses is None or leaf not in self.uses:
                return False
            return self.inputs is None or leaf in self.wanted_leaves
        return node in self.needed if self.needed is not None else node in self.order

    # -- which part of the graph is run for given inputs

    def _sort_inputs(self, inputs: Sequence[Tensor]) -> None:
        for position, tensor in enumerate(inputs):
            edge = tensor._edge
            if edge is LEAF or edge is None:  # an edge to a leaf stays one when the leaf no longer requires grad
                self.wanted_leaves.setdefault(tensor, []).append(position)
            elif edge is NOWHERE:
                continue
            elif isinstance(edge, OutputEdge):
                self.captures.setdefault(edge.node, []).append((edge.output_nr, position))
            elif isinstance(edge, Node):
                self.captures.setdefault(edge, []).append((0, position))

    def _lowest(self) -> int:
        """Nodes with lower numbers lead to no input."""
        if self.inputs is None or self.wanted_leaves:
            return -1
        return min([node.sequence_nr for node in self.captures], default=-1)

    def _find_needed(self, order: list[Node]) -> None:
        order.sort(key=lambda node: node.sequence_nr)
        needed: dict[Node, bool] = {}
        leaves = self.wanted_leaves
        for node in order:
            for edge in node.edges:
                if edge is None:
                    continue
                target = edge.node if isinstance(edge, OutputEdge) else edge
                if target in needed if isinstance(target, Node) else target in leaves:
                    needed[node] = True
                    break
            else:
                if node in self.captures:
                    needed[node] = False
        self.needed = needed

    # -- backward

    def _loop(self) -> None:
        # This runs once for every Node of every graph: plain statements over locals, calls only where they must be.
        pending, heap, numbered, owned = self.pending, self.heap, self.numbered, self.owned
        leaf_grads, uses, needed, wanted_leaves = self.leaf_grads, self.uses, self.needed, self.wanted_leaves
        keep_graph, only_inputs, captures, add = self.keep_graph, self.inputs is not None, self.captures, np.add
        straight = not self.handlers
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
            if straight and node._extra is None and (needed is None or node not in captures):
                try:
                    results = node.apply(grad)
                except Exception as error:
                    explain(error, node)
                    raise
                if not keep_graph:
                    node.release()
            else:
                results = self._run_unusual(node, grad)
            for edge, grad in zip(node.edges, results):  # noqa: B905 (generated Nodes match, and a check costs time)
                if grad is None or edge is None:
                    continue
                array = grad._array
                if isinstance(edge, Node):
                    if needed is not None and edge not in needed:
                        continue
                    if array.shape != edge.shape or array.dtype is not edge.dtype:
                        if edge.num_outputs != 1:
                            self._deliver_output(edge, 0, grad, node._name)
                            continue
                        grad = fit(grad, edge.shape, edge.dtype, node._name)
                    if edge is next_node:
                        next_grad = self._sum(next_grad, grad, edge)
                    elif edge in pending:
                        pending[edge] = self._sum(pending[edge], grad, edge)
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
                        self._deliver_output(edge.node, edge.output_nr, grad, node._name)
                elif not only_inputs or edge in wanted_leaves:
                    leaf_array = edge._array
                    if array.shape != leaf_array.shape or array.dtype is not leaf_array.dtype:
                        grad = fit(grad, leaf_array.shape, leaf_array.dtype, node._name)
                    if edge not in leaf_grads:
                        leaf_grads[edge] = grad
                    elif edge in owned:
                        buffer = leaf_grads[edge]._array
                        add(buffer, grad._array, out=buffer)
                    else:
                        leaf_grads[edge] = self._sum(leaf_grads[edge], grad, edge)
                    if uses is not None:
                        uses[edge] -= 1
                        if not uses[edge]:
                            self._finish_leaf(edge)
            grad = results = None  # a gradient with no other reference can be kept uncopied

    def _deliver(self, targets: Sequence[Any], grads: Sequence[Tensor], source: str) -> None:
        """Hand gradients to the Nodes and leaves where backward starts."""
        self.only_arrays = not self.create_graph and all(type(grad) in plain for grad in grads)
        for target, grad in zip(targets, grads, strict=True):
            if isinstance(target, OutputEdge):
                node, output_nr = target.node, target.output_nr
            elif isinstance(target, Node):
                node, output_nr = target, 0
            else:
                if self.inputs is None or target in self.wanted_leaves:
                    known = self.leaf_grads.get(target)
                    grad = fit(grad, target._array.shape, target._array.dtype, source)
                    self.leaf_grads[target] = grad if known is None else self._sum(known, grad, target)
                continue
            if self.needed is not None and node not in self.needed:
                continue
            if node.num_outputs != 1:
                self._deliver_output(node, output_nr, grad, source)
                continue
            grad = fit(grad, node.shape, node.dtype, source)
            if node in self.pending:
                self.pending[node] = self._sum(self.pending[node], grad, node)
            else:
                self._wait(node, grad)

    def _deliver_output(self, node: Node, output_nr: int, grad: Tensor, source: str) -> None:
        """Add a gradient to those waiting for a Node of several outputs."""
        grad = fit(grad, node.shape[output_nr], node.dtype[output_nr], source)
        waiting = self.pending.get(node)
        if waiting is None:
            waiting = _Outputs([None] * node.output_count)
            self._wait(node, waiting)
        known = waiting[output_nr]
        waiting[output_nr] = grad if known is None else self._sum(known, grad, (node, output_nr))

    def _wait(self, node: Node, grad: Any) -> None:
        self.pending[node] = grad
        self.numbered[-node.sequence_nr] = node
        heappush(self.heap, -node.sequence_nr)

    def _sum(self, first: Tensor, second: Tensor, key: Any) -> Tensor:
        """The sum of two gradients for `key`, in place where the first is already a sum made here."""
        if not self.only_arrays or type(first) not in plain or type(second) not in plain:
            return first + second  # type: ignore[no-any-return, operator, unused-ignore]
        if key in self.owned:
            np.add(first._array, second._array, out=first._array)
            return first
        self.owned.add(key)
        return wrap(np.asarray(np.add(first._array, second._array)))

    # -- hooks, captured gradients, leaves

    def _run_unusual(self, node: Node, grad: Any) -> Sequence[Tensor | None]:
        """Run a Node that has hooks, or in a backward towards given inputs or with handlers."""
        runs = self.needed is None or self.needed[node]
        if runs:  # as in PyTorch hooks only change what is asked for where nothing else is done with it
            self._capture(node, grad)
        if node._extra is not None:
            grad = run_tensor_hooks(node, grad)
        if not runs:
            self._capture(node, grad)
            if not self.accumulate:
                return ()
        wanted = None
        if self.needed is not None and (not runs or (node._extra is not None and node._extra.hooks)):
            wanted = [self._is_wanted(edge) for edge in node.edges]
        results = apply_with_hooks(node, grad, wanted)
        if not self.keep_graph:
            node.release()
        return results

    def _capture(self, node: Node, grad: Any) -> None:
        """Keep the gradients of outputs that are asked for; `backward` has let inputs retain theirs."""
        if not self.accumulate:
            for output_nr, position in self.captures.get(node, ()):
                self.results[position] = grad if node.num_outputs == 1 else grad[output_nr]

    def _is_wanted(self, edge: Any) -> bool:
        """Whether an edge leads to an input, or on to one."""
        target = edge.node if isinstance(edge, OutputEdge) else edge
        if isinstance(target, Node):
            return self.needed is not None and target in self.needed
        return target in self.wanted_leaves

    def _finish_leaf(self, leaf: Tensor) -> None:
        """The gradient of a leaf is complete: run the hooks, then add it to `grad` or keep it as a result."""
        private = self.accumulate and self._is_private(leaf)
        grad = self.leaf_grads.pop(leaf)
        self.owned.discard(leaf)
        grad = _finish_with_hooks(leaf, grad, self.accumulate, self.create_graph, private)
        if not self.accumulate:
            for position in self.wanted_leaves[leaf]:
                self.results[position] = grad

    def _is_private(self, leaf: Tensor) -> bool:
        """Whether the gradient waiting for `leaf` and its memory have no other reference: it may become `leaf.grad`."""
        if _getrefcount is None:
            return False
        # Each count is of what holds the object there plus the argument of the call.
        grads = self.leaf_grads
        if _getrefcount(grads[leaf]) > 2 or _getrefcount(grads[leaf]._array) > 2:
            return False
        base = grads[leaf]._array.base
        if base is None:
            return True
        if type(base) is not np.ndarray or base.base is not None or base.size != grads[leaf]._array.size:
            return False
        del base
        return _getrefcount(grads[leaf]._array.base) <= 2


class _HandledRun(_Run):
    """A backward under handlers: each Node runs with the handlers around it."""

    def __init__(self, inputs: Sequence[Tensor] | None, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        super().__init__(inputs, keep_graph, create_graph, accumulate)
        self.handlers = (*everywhere.nodes, *interest.nodes)

    def _run_unusual(self, node: Node, grad: Any) -> Sequence[Tensor | None]:
        run = partial(super()._run_unusual, node, grad)
        return self._handled(node, run) if self.needed is None or self.needed[node] else run()

    def _finish_leaf(self, leaf: Tensor) -> None:
        finish = super()._finish_leaf

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


def _run_class() -> type[_AnyRun]:
    if interest.nodes or everywhere.nodes:
        return _HandledRun
    return _Run if core is None else _NativeRun


class _Outputs(list[Any]):
    """Gradients waiting for a Node of several outputs."""

    __slots__ = ()


def check_used(results: Sequence[Tensor | None]) -> None:
    """Raise if an input of `grad` got no gradient."""
    for index, result in enumerate(results):
        if result is None:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )


def _target(tensor: Tensor) -> Any:
    return tensor if tensor._edge is LEAF else tensor._edge


def _explore(first: Sequence[Node], lowest: int) -> tuple[list[Node], dict[Tensor, int]]:
    """All Nodes that `first` lead to (not those numbered below `lowest`), and how many edges lead to each leaf."""
    order = list(dict.fromkeys(first))
    seen = set(order)
    uses: dict[Tensor, int] = {}
    for node in order:  # grows while it is walked
        for edge in node.edges:
            if edge is None:
                continue
            target = edge.node if isinstance(edge, OutputEdge) else edge
            if not isinstance(target, Node):
                uses[target] = uses.get(target, 0) + 1
            elif target not in seen and target.sequence_nr >= lowest:
                seen.add(target)
                order.append(target)
    return order, uses


def reachable(first: Sequence[Node], lowest: int = -1) -> Sequence[Node]:
    """All Nodes that `first` lead to, but for those numbered below `lowest`."""
    return _explore(first, lowest)[0]


def run_without_gradients(node: Node) -> Sequence[Tensor | None]:
    """What a Node gives where none of its outputs has a gradient; the engine does not run those."""
    return () if node.num_outputs == 1 else node.apply((None,) * node.output_count)


def _finish_with_hooks(leaf: Tensor, grad: Tensor, accumulate: bool, create_graph: bool, private: bool) -> Tensor:
    """Run the hooks of a leaf whose gradient is complete, and add it to `leaf.grad` if it is to be accumulated."""
    extra = leaf._extra
    if extra is not None and extra.hooks:
        grad = run_hooks(extra.hooks, grad)
        private = False  # a hook may have kept it
    if accumulate:
        _accumulate_with_hooks(leaf, grad, create_graph, private)
    return grad


def _accumulate_with_hooks(leaf: Tensor, grad: Tensor, create_graph: bool, private: bool) -> None:
    extra = leaf.extra
    node = extra.accumulate_node
    hooked = node if isinstance(node, Node) else None
    if hooked is not None and hooked._extra is not None:
        given: tuple[Any, ...] = (grad,)
        for hook in list(hooked._extra.prehooks.values()):
            given = replace_all(hook, hook(given), given)
            private = False
        grad = given[0]
    if grad is not None:  # else a hook took it away
        accumulate_into_leaf(leaf, grad, create_graph, private)
        if extra.post_accumulate_hooks:
            _run_post_accumulate_hooks(leaf, extra.post_accumulate_hooks)
    if hooked is not None and hooked._extra is not None:
        for hook in list(hooked._extra.hooks.values()):
            replace_all(hook, hook((), (grad,)), ())


def _run_post_accumulate_hooks(leaf: Tensor, hooks: dict[int, Callable[..., Any]]) -> None:
    returned = False
    for hook in list(hooks.values()):
        changed = hook(leaf)
        if changed is not None and not isinstance(changed, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
        returned |= changed is not None
    if returned:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def accumulate_into_leaf(leaf: Tensor, grad: Tensor, create_graph: bool, private: bool = False) -> None:
    """Add `grad` to `leaf.grad`, if the leaf still requires one.

    Args:
        leaf: required grad when it was used.
        grad: of its shape and element type.
        create_graph: keep the history of the sum.
        private: the memory of `grad` has no other reference, so it need not be copied.
    """
    if leaf._edge is None:
        return
    extra = leaf.extra
    if core is not None and create_graph:
        core.expect_cycles()  # the gradient's history leads to the leaf
    with accumulating:
        known = extra.grad
        if known is None:
            if create_graph and grad._edge is not None:
                extra.grad = grad if private else grad.clone()
            elif private and _same_layout(grad._array, leaf._array):
                extra.grad = grad
            else:
                own = np.empty_like(leaf._array)  # laid out as the leaf is
                np.copyto(own, grad._array)
                first = wrap(own)
                if grad_mode.inference:
                    first._writes = UNTRACKED
                extra.grad = first
        elif create_graph or not _may_be_written(known._array):
            extra.grad = known + grad
        elif type(known) not in plain or type(grad) not in plain or known._writes is UNTRACKED:
            known.add_(grad)
        else:
            np.add(known._array, grad._array, out=known._array)
            bump_version(known)


def _may_be_written(array: np.ndarray) -> bool:
    """Whether each element has a place of its own, which is not read-only."""
    return array.flags.writeable and (0 not in array.strides or array.flags.c_contiguous)


def _same_layout(grad: np.ndarray, leaf: np.ndarray) -> bool:
    if grad.flags.c_contiguous and leaf.flags.c_contiguous:
        return True
    return grad.strides == leaf.strides and grad.flags.writeable and 0 not in grad.strides


AccumulateGrad.accumulate = accumulate_into_leaf

if core is not None:
    core.install(
        tensor_type=Tensor,
        node_type=Node,
        output_edge_type=OutputEdge,
        leaf=LEAF,
        nowhere=NOWHERE,
        untracked=UNTRACKED,
        guard=GUARD,
        marks=MARKS,
        freed_error=freed_error,
        modified_error=modified_error,
        detached_error=detached_error,
        fit=_fit,
        fit_output=_fit_output,
        sum=operator.add,
        run_tensor_hooks=run_tensor_hooks,
        apply_with_hooks=apply_with_hooks,
        finish_leaf=_finish_with_hooks,
        lock=accumulating,
        explain=explain,
    )
    core.replace_attributes(Tensor, Size, dtypes._from_numpy)
