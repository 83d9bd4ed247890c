"""Patterns in a graph replaced by something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gradwright.fx._symbolic_trace import symbolic_trace
from gradwright.fx.graph import Graph, has_path
from gradwright.fx.graph_module import GraphModule, _copy_attribute
from gradwright.fx.matching import InternalMatch, SubgraphMatcher
from gradwright.fx.node import Node
from gradwright.nn.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Pattern = Callable[..., Any] | Graph | GraphModule
Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A place where a pattern was: the last Node of the pattern, and what stood for the Nodes of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """The same, and the Nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Put something else in all places of a graph that look like a pattern, where these do not overlap.

    Args:
        gm: has the graph, and is compiled anew.
        pattern: a function, Module or graph; its arguments stand for anything.
        replacement: what takes its place, of the same arguments.

    Returns:
        the places.
    """
    return [Match(each.anchor, each.nodes_map) for each in _replaced(gm, pattern, replacement, [], False, None)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, in the places that all filters say yes to.

    Args:
        gm: has the graph, and is compiled anew.
        pattern: a function, Module or graph.
        replacement: what takes its place.
        match_filters: functions of a match, the graph and the graph of the pattern.
        ignore_literals: whether numbers and the like in the pattern stand for any.
        replacement_callback: makes what takes the place of a match, if `replacement` is not given.

    Returns:
        the places, and the Nodes that are there now.
    """
    return _replaced(gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback)


def _graph_of(pattern: Pattern) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _replaced(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None,
    filters: list[Filter],
    ignore_literals: bool,
    callback: Callable[[InternalMatch, Graph, Graph], Graph] | None,
) -> list[ReplacedPatterns]:
    graph, looked_for = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(looked_for, ignore_literals=ignore_literals)
    matches = [match for match in matcher.match(graph) if all(accepts(match, graph, looked_for) for accepts in filters)]
    if replacement is None and callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    common = None if replacement is None else _graph_of(replacement)
    now: dict[Node, Node] = {}  # what stands for Nodes that earlier replacements have taken out
    done = []
    for match in matches:
        new = callback(match, graph, looked_for) if common is None and callback is not None else common
        assert new is not None
        done.append(_replace(graph, looked_for, new, match, now))
    gm.recompile()
    if isinstance(replacement, Module):
        for node in graph.nodes:
            if (
                node.op in ("call_module", "get_attr")
                and not has_path(gm, node.target)
                and has_path(replacement, node.target)
            ):
                _copy_attribute(replacement, gm, node.target)
        gm.recompile()
    return done


def _replace(graph: Graph, pattern: Graph, new: Graph, match: InternalMatch, now: dict[Node, Node]) -> ReplacedPatterns:
    def current(value: Any) -> Any:
        while isinstance(value, Node) and value in now:
            value = now[value]
        return value

    inputs = [node for node in new.nodes if node.op == "placeholder"]
    given = [node for node in pattern.nodes if node.op == "placeholder"]
    if len(inputs) != len(given):
        raise AssertionError(f"the pattern has {len(given)} arguments, and what takes its place {len(inputs)}")
    mapped = {
        ours: current(match.nodes_map[theirs])
        for ours, theirs in zip(inputs, given, strict=True)
        if theirs in match.nodes_map
    }
    old = {node for theirs, node in match.nodes_map.items() if theirs.op not in ("placeholder", "output")}
    before = {value for value in mapped.values() if isinstance(value, Node)}
    first = _place(graph, match, old, before)
    with graph.inserting_before(first):
        value = graph.graph_copy(new, mapped)
    replacements = [node for node in mapped.values() if node not in before]
    results = [value] if isinstance(value, Node) else list(value) if isinstance(value, (list, tuple)) else []
    if len(results) != len(match.returning_nodes):
        raise AssertionError("what takes the place of a pattern gives as many values as that")
    for was, result in zip(match.returning_nodes, results, strict=True):
        was.replace_all_uses_with(result)
        now[was] = result
    for node in reversed(list(graph.nodes)):
        if node in old and not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, replacements)


def _place(graph: Graph, match: InternalMatch, old: set[Node], inputs: set[Node]) -> Node:
    """Before which Node new ones go: the first user of what was there; where there is none, after all inputs."""
    users = {user for node in match.returning_nodes for user in node.users} - old
    first = next((node for node in graph.nodes if node in users), None)
    if first is not None:
        return first
    return next(node for node in reversed(graph.nodes) if node in inputs or node in old).next
