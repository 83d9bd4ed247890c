"""A picture of a graph as SVG, drawn without another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from gradwright.autograd.drawing.layers import Layout, lay_out
from gradwright.autograd.drawing.picture import Arrow, Box, Picture, picture_of
from gradwright.autograd.drawing.writing import CHARACTER, Svg, svg_document
from runtime.base.tensor import Tensor

# Pixels.
_LINE, _MARGIN, _PADDING, _BETWEEN = 16, 16, 8, 36
_TITLE = ' class="title"'
_STYLE = """
  text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
  .title { font-weight: 600; }
  rect { stroke: #57606a; fill: #f6f8fa; }
  .result rect { fill: #c6f0cf; } .leaf rect { fill: #cfe5fb; }
  .failed rect { fill: #ffb3a7; stroke: #b3261e; stroke-width: 2; }
  path { fill: none; stroke: #57606a; } marker path { fill: #57606a; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } rect { fill: #21262d; stroke: #8b949e; } path { stroke: #8b949e; }
    .result rect { fill: #1f5130; } .leaf rect { fill: #1b3f63; } .failed rect { fill: #7d2218; stroke: #ff8a7a; }
    marker path { fill: #8b949e; }
  }
"""


def draw(tensors: Tensor | Sequence[Tensor], names: Mapping[str, Tensor] | None = None, show_saved: bool = True) -> Svg:
    """The graph behind some Tensors as SVG: leaves above, results below, and arrows as gradients go.

    Nothing but this library is needed. A Node in which anomaly mode has seen an error is red.

    Args:
        tensors: what was computed, of any shapes and dtypes.
        names: Tensors by the names to show them under.
        show_saved: also what each Node saves, and how many bytes that are.
    """
    return svg_of(picture_of(tensors, names, show_saved))


def svg_of(picture: Picture) -> Svg:
    """A picture as SVG."""
    boxes = {box.name: box for box in picture.boxes}
    widths = {name: max(map(len, box.lines)) * CHARACTER + 2 * _PADDING for name, box in boxes.items()}
    layout = lay_out(widths, [(arrow.start, arrow.end) for arrow in picture.arrows])
    tops = _tops(picture.boxes, layout)
    lines = [_arrow(arrow, layout.bends[number], layout, tops, boxes) for number, arrow in enumerate(picture.arrows)]
    lines += [
        _box(box, layout.centres[box.name], tops[layout.layers[box.name]], widths[box.name]) for box in picture.boxes
    ]
    width, height = layout.width + 2 * _MARGIN, (tops[-1] if tops else 0) + _MARGIN
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>'
    )
    return svg_document(width, height, _STYLE, "\n".join([marker, *lines]))


def _height(box: Box) -> float:
    return len(box.lines) * _LINE + 2 * _PADDING


def _tops(boxes: Sequence[Box], layout: Layout) -> list[float]:
    """Where each layer begins, and one more would."""
    count = max(layout.layers.values(), default=-1) + 1
    highest = [0.0] * count
    for box in boxes:
        layer = layout.layers[box.name]
        highest[layer] = max(highest[layer], _height(box))
    tops = [float(_MARGIN)]
    for height in highest:
        tops.append(tops[-1] + height + _BETWEEN)
    tops[-1] -= _BETWEEN
    return tops


def _box(box: Box, centre: float, top: float, width: float) -> str:
    left = centre - width / 2 + _MARGIN
    rows = "".join(
        f'<text x="{left + _PADDING:.1f}" y="{top + _PADDING + (number + 0.75) * _LINE:.1f}"'
        f"{_TITLE if number == 0 else ''}>{escape(line)}</text>"
        for number, line in enumerate(box.lines)
    )
    return (
        f'<g class="{box.kind.value}" id="{box.name}"><rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{_height(box):.1f}" rx="4"/>{rows}</g>'
    )


def _arrow(
    arrow: Arrow, bends: Sequence[float], layout: Layout, tops: Sequence[float], boxes: Mapping[str, Box]
) -> str:
    """A curve from the upper edge of a box to the lower edge of that above, through the gaps in the layers between."""
    lower, upper = layout.layers[arrow.start], layout.layers[arrow.end]
    x, y = layout.centres[arrow.start] + _MARGIN, tops[lower]
    path = f"M{x:.1f} {y:.1f}"
    stops = [
        *(
            (bend + _MARGIN, tops[layer + 1] - _BETWEEN, tops[layer])
            for bend, layer in zip(bends, range(lower - 1, upper, -1), strict=True)
        ),
        (layout.centres[arrow.end] + _MARGIN, tops[upper] + _height(boxes[arrow.end]), None),
    ]
    for to, below, above in stops:
        path += f" C{x:.1f} {(y + below) / 2:.1f} {to:.1f} {(y + below) / 2:.1f} {to:.1f} {below:.1f}"
        x, y = to, below
        if above is not None:
            path += f" V{above:.1f}"
            y = above
    label = ""
    if arrow.label:
        label = f'<text x="{x + 8:.1f}" y="{stops[-1][1] + _LINE:.1f}">{escape(arrow.label)}</text>'
    return f'<path d="{path}" marker-end="url(#head)"/>{label}'
