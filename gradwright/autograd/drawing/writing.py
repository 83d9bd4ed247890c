"""What all pictures in SVG have in common: one document without dependencies, readable on light and dark pages."""

from __future__ import annotations

CHARACTER = 7.3  # pixels, of a character of the font


class Svg(str):
    """SVG text, which notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return self


def svg_document(width: float, height: float, style: str, body: str) -> Svg:
    """A whole picture.

    Args:
        width: in pixels.
        height: in pixels.
        style: its rules in CSS, those for dark pages below `@media (prefers-color-scheme: dark)`.
        body: its elements.
    """
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">\n<style>{style}</style>\n{body}\n</svg>\n'
    )
