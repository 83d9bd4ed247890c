"""What a picture of a backward graph shows: a box for each result, Node and leaf, and an arrow for each edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from gradwright.anomaly import failed_in_backward
from runtime.base.tensor import Tensor
from runtime.graph.node import AccumulateGrad, Node, accumulator


class BoxKind(Enum):
    """What a box stands for."""

    RESULT = "result"
    NODE = "node"
    LEAF = "leaf"
    FAILED = "failed"  # the Node in which anomaly mode saw an error


@dataclass(frozen=True, slots=True)
class Box:
    """One box: a name, the same in each run of a program, and lines of text, the first of which is the title."""

    name: str
    kind: BoxKind
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a box to that which gradients reach next; `label` names the output of the Node there, but for the first."""

    start: str
    end: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """The boxes, results first and each Node before those that gradients reach through it, and the arrows."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture_of(
    tensors: Tensor | Sequence[Tensor], names: Mapping[str, Tensor] | None = None, show_saved: bool = False
) -> Picture:
    """The graph behind some Tensors.

    Args:
        tensors: what was computed.
        names: Tensors by the names to show them under.
        show_saved: also what each Node saves, and how many bytes that are.
    """
    roots = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    labels = {id(tensor): name for name, tensor in (names or {}).items()}
    nodes = reachable(roots)
    known = {node: f"n{number}" for number, node in enumerate(nodes)}
    boxes, arrows = [], []
    for number, root in enumerate(roots):
        boxes.append(Box(f"t{number}", BoxKind.RESULT, (_tensor_text(root, labels),)))
        if root._edge is not None:
            node, output = (accumulator(root), 0) if root.is_leaf else root._node_and_output()
            arrows.append(Arrow(f"t{number}", known[node], _output_text(output)))
    for node in nodes:
        boxes.append(_box(node, known[node], labels, show_saved))
        for following, output in node.next_functions:
            if following is not None:
                arrows.append(Arrow(known[node], known[following], _output_text(output)))
    return Picture(tuple(boxes), tuple(arrows))


def reachable(tensors: Iterable[Tensor]) -> list[Node]:
    """The Nodes behind some Tensors, those of the leaves included, each once, from the results to the leaves."""
    nodes: dict[Node, None] = {}
    for tensor in tensors:
        if tensor._edge is not None:
            nodes[accumulator(tensor) if tensor.is_leaf else tensor._node_and_output()[0]] = None
    waiting = list(nodes)
    for node in waiting:  # grows while it is walked
        for following, _ in node.next_functions:
            if following is not None and following not in nodes:
                nodes[following] = None
                waiting.append(following)
    return waiting


def _box(node: Node, name: str, labels: Mapping[int, str], show_saved: bool) -> Box:
    if isinstance(node, AccumulateGrad):
        return Box(name, BoxKind.LEAF, ("AccumulateGrad", _tensor_text(node.variable, labels)))
    saved = _saved_lines(node) if show_saved else ()
    return Box(name, BoxKind.FAILED if failed_in_backward(node) else BoxKind.NODE, (node.name(), *saved))


def _saved_lines(node: Node) -> tuple[str, ...]:
    lines = []
    for attribute in dir(type(node)):
        if attribute.startswith("_saved_"):
            try:
                value: Any = getattr(node, attribute)
                shown = f"{_tensor_text(value, {})}, {value.nbytes} B" if isinstance(value, Tensor) else repr(value)
            except RuntimeError:
                shown = "freed"
            lines.append(f"{attribute.removeprefix('_saved_')} = {shown[:40]}")
    return tuple(lines)


def _output_text(number: int) -> str:
    return f"output {number}" if number else ""


def _tensor_text(tensor: Tensor, labels: Mapping[int, str]) -> str:
    name = labels.get(id(tensor))
    shape = f"{tensor.dtype.scalar_name}{list(tensor.shape)}"
    return f"{name}: {shape}" if name else shape
