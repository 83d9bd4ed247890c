"""A picture of a graph in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runtime.base.tensor import Tensor
from runtime.graph.node import AccumulateGrad, Node, accumulator


class Dot(str):
    """DOT text that shows itself as a picture in notebooks, where Graphviz is installed."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """The picture as SVG; None where the package `graphviz` or its program is missing."""
        try:
            return self.render("svg").decode()
        except RuntimeError:
            return None

    def render(self, format: str = "svg") -> bytes:
        """The picture in a format that Graphviz knows.

        Raises:
            RuntimeError: Graphviz is not installed.
        """
        import shutil
        import subprocess

        program = shutil.which("dot")
        if program is None:
            raise RuntimeError("drawing needs the program `dot` of Graphviz, which is not installed")
        return subprocess.run([program, f"-T{format}"], input=self.encode(), capture_output=True, check=True).stdout


def to_dot(tensors: Tensor | Sequence[Tensor], names: dict[str, Tensor] | None = None, show_saved: bool = False) -> Dot:
    """The graph behind some Tensors as DOT text: Nodes, the leaves they lead to, and which output an edge belongs to.

    Args:
        tensors: what was computed.
        names: Tensors by the names to show them under.
        show_saved: also what each Node saves.

    Returns:
        The text; its `render()` runs Graphviz, where that is installed.
    """
    roots = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    labels = {id(tensor): name for name, tensor in (names or {}).items()}
    lines = ["digraph {", "  rankdir=BT", '  node [shape=box, fontname="monospace", fontsize=10]']
    for number, root in enumerate(roots):
        lines.append(f"  t{number} [label={_quoted(_tensor_text(root, labels))}, style=filled, fillcolor=palegreen]")
        if root._edge is not None:
            node = accumulator(root) if root.is_leaf else root._node_and_output()[0]
            lines.append(f"  n{id(node)} -> t{number} [dir=back]")
    for node in reachable(roots):
        lines += _node_lines(node, labels, show_saved)
    return Dot("\n".join([*lines, "}"]) + "\n")


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


def _node_lines(node: Node, labels: dict[int, str], show_saved: bool) -> list[str]:
    if isinstance(node, AccumulateGrad):
        text = f"AccumulateGrad\n{_tensor_text(node.variable, labels)}"
        lines = [f"  n{id(node)} [label={_quoted(text)}, style=filled, fillcolor=lightblue]"]
    else:
        saved = _saved_text(node) if show_saved else ""
        lines = [f"  n{id(node)} [label={_quoted(node.name() + saved)}]"]
    for following, output_nr in node.next_functions:
        if following is not None:
            which = f' [label="output {output_nr}", dir=back]' if output_nr else " [dir=back]"
            lines.append(f"  n{id(following)} -> n{id(node)}{which}")
    return lines


def _saved_text(node: Node) -> str:
    lines = []
    for attribute in dir(type(node)):
        if attribute.startswith("_saved_"):
            try:
                value: Any = getattr(node, attribute)
                shown = _tensor_text(value, {}) if isinstance(value, Tensor) else repr(value)
            except RuntimeError:
                shown = "freed"
            lines.append(f"{attribute.removeprefix('_saved_')} = {shown[:40]}")
    return "\n" + "\n".join(lines) if lines else ""


def _tensor_text(tensor: Tensor, labels: dict[int, str]) -> str:
    name = labels.get(id(tensor))
    shape = f"{tensor.dtype.scalar_name}{list(tensor.shape)}"
    return f"{name}: {shape}" if name else shape


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
