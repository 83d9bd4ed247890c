"""Places in a graph that look like a pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gradwright.fx.graph import Graph
from gradwright.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A place that looks like a pattern.

    `anchors` are Nodes of the pattern that its output takes, `nodes_map` says what stands for each of its Nodes, and
    `returning_nodes` what stands for those that it gives.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)

    def copy(self) -> InternalMatch:
        """Another one to go on with."""
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """Finds a pattern.

    Args:
        pattern: the graph that is looked for; its placeholders stand for anything.
        match_output: whether what takes the values has to be the same, too.
        match_placeholder: whether placeholders stand for placeholders alone.
        remove_overlapping_matches: whether no two places share a Node.
        ignore_literals: whether numbers and the like may differ.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [node for node in self.pattern_returning_nodes if set(node.users) == {output}]

    def match(self, graph: Graph) -> list[InternalMatch]:
        """The places in a graph, in its order."""
        found = []
        for match in self._by_anchors(graph, 0, InternalMatch(self.pattern_anchors)):
            if self._is_whole(match):
                match.placeholder_nodes = [
                    match.nodes_map[node] for node in self.pattern_placeholder_nodes if node in match.nodes_map
                ]
                match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes]
                found.append(match)
        return self._apart(found) if self.remove_overlapping_matches else found

    def _by_anchors(self, graph: Graph, number: int, match: InternalMatch) -> Iterator[InternalMatch]:
        if number == len(self.pattern_anchors):
            yield match
            return
        anchor = self.pattern_anchors[number]
        for node in graph.nodes:
            attempt = match.copy()
            if self._same(anchor, node, attempt):
                yield from self._by_anchors(graph, number + 1, attempt)

    def _same(self, pattern: Any, node: Any, match: InternalMatch) -> bool:
        """Whether a Node or argument looks like one of the pattern, together with all that it depends on."""
        if isinstance(pattern, Node) != isinstance(node, Node):
            return isinstance(pattern, Node) and self._stands_for_value(pattern, node, match)
        if not isinstance(pattern, Node):
            return self._same_values(pattern, node, match)
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if any(node is known for known in match.nodes_map.values()):
            return False
        if not self._alike(pattern, node):
            return False
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        return self._same(pattern.args, node.args, match) and self._same(dict(pattern.kwargs), dict(node.kwargs), match)

    def _stands_for_value(self, pattern: Node, value: Any, match: InternalMatch) -> bool:
        """Whether an argument of the pattern may stand for a number or the like."""
        if pattern.op != "placeholder" or self.match_placeholder:
            return False
        if pattern in match.nodes_map:
            known = match.nodes_map[pattern]
            return type(known) is type(value) and bool(known == value)
        match.nodes_map[pattern] = value
        return True

    def _same_values(self, pattern: Any, value: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(pattern) == len(value) and all(
                self._same(a, b, match) for a, b in zip(pattern, value, strict=True)
            )
        if isinstance(pattern, dict) and isinstance(value, dict):
            return pattern.keys() == value.keys() and all(
                self._same(pattern[key], value[key], match) for key in pattern
            )
        if isinstance(pattern, slice) and isinstance(value, slice):
            parts = zip((pattern.start, pattern.stop, pattern.step), (value.start, value.stop, value.step), strict=True)
            return all(self._same(a, b, match) for a, b in parts)
        return self.ignore_literals or (type(pattern) is type(value) and bool(pattern == value))

    def _alike(self, pattern: Node, node: Node) -> bool:
        if pattern.op == "placeholder" and not self.match_placeholder:
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._attribute(pattern) is type(None) or self._attribute(pattern) == self._attribute(node)
        if pattern.op == "call_module":
            return self._attribute(pattern) == self._attribute(node)
        return bool(pattern.target == node.target)

    @staticmethod
    def _attribute(node: Node) -> type:
        """The class of what a Node names in its Module; that of None where it has no Module."""
        found: Any = node.graph.owning_module
        if found is None:
            return type(None)
        for part in node.target.split("."):
            found = getattr(found, part, None)
        return type(found)

    def _is_whole(self, match: InternalMatch) -> bool:
        """Whether nobody outside takes a value that the pattern does not give."""
        inside = {
            node: pattern for pattern, node in match.nodes_map.items() if pattern.op not in ("placeholder", "output")
        }
        returned = set(self.pattern_returning_nodes)
        return all(
            pattern in returned or all(user in inside or user.op == "output" for user in node.users)
            for node, pattern in inside.items()
        )

    @staticmethod
    def _apart(matches: list[InternalMatch]) -> list[InternalMatch]:
        """Those that share no Node with one before them."""
        kept, taken = [], set[Node]()
        for match in matches:
            nodes = {node for pattern, node in match.nodes_map.items() if pattern.op not in ("placeholder", "output")}
            if nodes.isdisjoint(taken):
                kept.append(match)
                taken |= nodes
        return kept
