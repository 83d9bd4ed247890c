"""Pictures of backward graphs: what is drawn (`picture.py`), where it stands (`layers.py`), as SVG and as DOT."""

from __future__ import annotations

from gradwright.autograd.drawing.dot import to_dot
from gradwright.autograd.drawing.svg import draw

__all__ = ["draw", "to_dot"]
