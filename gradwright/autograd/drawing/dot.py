"""A picture of a graph in the DOT language of Graphviz."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from gradwright.autograd.drawing.picture import BoxKind, picture_of
from runtime.base.tensor import Tensor

_COLOURS: Mapping[BoxKind, str] = {
    BoxKind.RESULT: "palegreen",
    BoxKind.LEAF: "lightblue",
    BoxKind.FAILED: "tomato",
}


class Dot(str):
    """DOT text, which Graphviz makes a picture of."""

    __slots__ = ()

    def render(self, format: str = "svg") -> bytes:
        """The picture in a format that Graphviz knows.

        Raises:
            RuntimeError: Graphviz is not installed.
        """
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError(
                "rendering needs the program `dot` of Graphviz, which is not installed; draw() needs none"
            )
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
    picture = picture_of(tensors, names, show_saved)
    lines = ["digraph {", "  rankdir=BT", '  node [shape=box, fontname="monospace", fontsize=10]']
    for box in picture.boxes:
        colour = f", style=filled, fillcolor={_COLOURS[box.kind]}" if box.kind in _COLOURS else ""
        lines.append(f"  {box.name} [label={_quoted(box.lines)}{colour}]")
    for arrow in picture.arrows:
        label = f'label="{arrow.label}", ' if arrow.label else ""
        lines.append(f"  {arrow.end} -> {arrow.start} [{label}dir=back]")
    return Dot("\n".join([*lines, "}"]) + "\n")


def _quoted(lines: Iterable[str]) -> str:
    escaped = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{escaped}"'
