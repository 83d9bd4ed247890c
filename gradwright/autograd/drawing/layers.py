"""Where the boxes of a picture stand: in layers, as Sugiyama, Tagawa and Toda draw graphs without cycles (1981).

A box stands one layer below the lowest of those that it has arrows to. Arrows over several layers pass through points
in between. Boxes of a layer are put into the order of what they are joined to, and then as near to it as their widths
allow, which is a regression with an order (`scipy.optimize.isotonic_regression`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_SWEEPS = 6
_GAP = 24.0  # between neighbours
_POINT = 8.0  # the width of a point that an arrow passes


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in pixels.

    Attributes:
        centres: the horizontal place of each box's middle.
        layers: the number of each box's layer, from 0 above.
        bends: for each arrow, by its number, the horizontal places where it passes the layers between its ends, from
            the lower end to the upper one.
        width: of the whole.
    """

    centres: Mapping[str, float]
    layers: Mapping[str, int]
    bends: Mapping[int, tuple[float, ...]]
    width: float


def lay_out(widths: Mapping[str, float], arrows: Sequence[tuple[str, str]]) -> Layout:
    """Put boxes into layers.

    Args:
        widths: of the boxes in pixels, each box before those that its arrows lead to.
        arrows: pairs of the boxes that they join, the lower one first; there is no cycle.
    """
    layers = _layers(list(widths), arrows)
    slots = dict(widths)  # boxes, and the points that arrows pass
    joined: dict[str, list[str]] = {name: [] for name in slots}
    rows: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for name in widths:
        rows[layers[name]].append(name)
    points: dict[int, list[str]] = {}
    for number, (lower, upper) in enumerate(arrows):
        chain = [f"{number}:{layer}" for layer in range(layers[lower] - 1, layers[upper], -1)]
        for layer, point in zip(range(layers[lower] - 1, layers[upper], -1), chain, strict=True):
            slots[point], joined[point] = _POINT, []
            rows[layer].append(point)
        points[number] = chain
        path = [lower, *chain, upper]
        for one, other in pairwise(path):
            joined[one].append(other)
            joined[other].append(one)
    places = _placed(rows, slots, joined)
    left = min((places[name] - slots[name] / 2 for name in slots), default=0.0)
    width = max((places[name] + slots[name] / 2 for name in slots), default=0.0) - left
    centres = {name: places[name] - left for name in widths}
    bends = {number: tuple(places[point] - left for point in chain) for number, chain in points.items()}
    return Layout(centres, layers, bends, width)


def _layers(names: Sequence[str], arrows: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The longest way to something without arrows of its own, counted in arrows."""
    upper: dict[str, list[str]] = {name: [] for name in names}
    for one, other in arrows:
        upper[one].append(other)
    layers: dict[str, int] = {}
    pending = list(names)
    while pending:
        name = pending[-1]
        missing = [other for other in upper[name] if other not in layers]
        if missing:
            pending += missing
        else:
            layers[name] = max((layers[other] + 1 for other in upper[name]), default=0)
            pending.pop()
    return layers


def _placed(
    rows: Sequence[list[str]], widths: Mapping[str, float], joined: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """The horizontal place of each slot. Sweeps go down and up; each row follows those that are placed."""
    from scipy.optimize import isotonic_regression  # loading it takes longer than `import gradwright`

    places = {name: float(index) for row in rows for index, name in enumerate(row)}
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = {name: _middle([places[other] for other in joined[name]], places[name]) for name in row}
            row.sort(key=wanted.__getitem__)
            middles = np.cumsum([widths[name] + _GAP for name in row]) - np.array([widths[name] / 2 for name in row])
            moved = isotonic_regression(np.array([wanted[name] for name in row]) - middles).x + middles
            places.update(zip(row, map(float, moved), strict=True))
    return places


def _middle(places: Sequence[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise
