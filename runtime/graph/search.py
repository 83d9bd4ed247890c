"""Which part of a graph a backward runs, and how often it meets the leaves: asked where there are inputs or hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.base.state import LEAF
from runtime.base.tensor import Tensor
from runtime.graph.node import DISCARD_GRADIENT, Node, OutputEdge


class Search:
    """A walk over the graph, made before a backward.

    Args:
        roots: Nodes, OutputEdges and leaves, where the backward starts.
        inputs: run only what leads to these; None: everything.

    Attributes:
        only_inputs: whether there are inputs.
        input_count: how many.
        order: the Nodes that the roots lead to.
        uses: how many edges can bring each leaf something.
        needed: the Nodes that lead to an input or made one; False: only its gradient is wanted, it does not run.
            None where there are no inputs, and every Node runs.
        wanted_leaves: inputs that are leaves, with their positions among the inputs.
        wanted_outputs: Nodes that made inputs, with the numbers of the outputs and the positions.
    """

    __slots__ = ("input_count", "needed", "only_inputs", "order", "uses", "wanted_leaves", "wanted_outputs")

    def __init__(self, roots: Sequence[Any], inputs: Sequence[Tensor] | None) -> None:
        self.only_inputs = inputs is not None
        self.input_count = 0 if inputs is None else len(inputs)
        self.wanted_leaves: dict[Tensor, list[int]] = {}
        self.wanted_outputs: dict[Node, list[tuple[int, int]]] = {}
        if inputs is not None:
            self._add_inputs(inputs)
        starts = [root.node if isinstance(root, OutputEdge) else root for root in roots]
        self.order, self.uses = _explore([node for node in starts if isinstance(node, Node)], self._lowest())
        for start in starts:
            if not isinstance(start, Node):
                self.uses[start] = self.uses.get(start, 0) + 1
        self.needed = self._find_needed() if self.only_inputs else None

    def needs(self, node: Node) -> bool:
        """Whether the backward computes the gradient of what a Node made."""
        return node in self.needed if self.needed is not None else node in self.order

    def needs_leaf(self, leaf: Tensor) -> bool:
        """Whether the backward computes the gradient of a leaf."""
        return leaf in self.uses and (not self.only_inputs or leaf in self.wanted_leaves)

    def wants(self, edge: Any) -> bool:
        """Whether an edge leads to an input, or on to one."""
        target = edge.node if isinstance(edge, OutputEdge) else edge
        if isinstance(target, Node):
            return self.needed is not None and target in self.needed
        return target in self.wanted_leaves

    def _add_inputs(self, inputs: Sequence[Tensor]) -> None:
        for position, tensor in enumerate(inputs):
            edge = tensor._edge
            if edge is LEAF or edge is None:  # an edge to a leaf stays one when the leaf no longer requires grad
                self.wanted_leaves.setdefault(tensor, []).append(position)
            elif edge is DISCARD_GRADIENT:
                continue
            elif isinstance(edge, OutputEdge):
                self.wanted_outputs.setdefault(edge.node, []).append((edge.output_nr, position))
            elif isinstance(edge, Node):
                self.wanted_outputs.setdefault(edge, []).append((0, position))

    def _lowest(self) -> int:
        """Nodes with lower numbers lead to no input."""
        if not self.only_inputs or self.wanted_leaves:
            return -1
        return min([node.sequence_nr for node in self.wanted_outputs], default=-1)

    def _find_needed(self) -> dict[Node, bool]:
        self.order.sort(key=lambda node: node.sequence_nr)
        needed: dict[Node, bool] = {}
        leaves = self.wanted_leaves
        for node in self.order:
            for edge in node.edges:
                if edge is None:
                    continue
                target = edge.node if isinstance(edge, OutputEdge) else edge
                if target in needed if isinstance(target, Node) else target in leaves:
                    needed[node] = True
                    break
            else:
                if node in self.wanted_outputs:
                    needed[node] = False
        return needed


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
