"""Plots of operators on one Tensor, element by element: the value and the derivative, as small drawings in SVG.

The values come from the runtime: a grid stands in the place of the Tensor, and the other arguments are those of the
operator's first sample.  Colours are those of the page, dark or light.
"""

from __future__ import annotations

import ast
import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import gradwright
from codegen.plan.operator import OperatorPlan
from codegen.read.samples import parse_sample

_MAKERS = ("T", "D")  # of Tensors of floats, in samples
_POINTS = 241
_RANGES = ((-5.0, 5.0), (-1.0, 1.0), (0.0, 5.0), (1.0, 6.0), (0.0, 1.0))
_WIDTH, _HEIGHT, _MARGIN, _LEFT = 440.0, 220.0, 22.0, 46.0
_LARGEST = 8.0  # of values that are shown, in size, where they go to infinity

Place = Callable[[float, float], str]
"""Where a point of the plane stands in a drawing."""


@dataclass(frozen=True)
class Plot:
    """A drawing, and whether it has a derivative."""

    markup: str
    has_derivative: bool


@dataclass(frozen=True)
class Curve:
    """Values over a grid; NaN where there are none."""

    grid: NDArray[np.float64]
    values: NDArray[np.float64]
    slopes: NDArray[np.float64] | None


def plot(operators: Sequence[OperatorPlan]) -> Plot | None:
    """The plot of the first of these overloads that is a function of one real Tensor, element by element."""
    for operator in operators:
        arguments = _other_arguments(operator)
        if arguments is not None and (curve := _best_curve(operator, *arguments)) is not None:
            others, named = arguments
            said = [*map(repr, others), *(f"{name}={value!r}" for name, value in named.items())]
            call = f"{operator.name.base}({', '.join(('x', *said))})"
            return Plot(_drawing(call, curve), curve.slopes is not None)
    return None


def _other_arguments(operator: OperatorPlan) -> tuple[list[object], dict[str, object]] | None:
    """The arguments behind the Tensor, as the first sample has them; None where there is no such sample."""
    if "pointwise" not in operator.source.tags or operator.source.is_random or not operator.samples:
        return None
    if len(operator.schema.returns) != 1 or operator.returns_list:
        return None
    call = parse_sample(operator.samples[0])
    first, *others = call.args or (ast.Constant(None),)
    if not (isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id in _MAKERS):
        return None
    try:
        named = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
        return [ast.literal_eval(other) for other in others], named
    except ValueError:
        return None  # another Tensor


def _best_curve(operator: OperatorPlan, others: list[object], named: dict[str, object]) -> Curve | None:
    """The values over the first range on which most of them are numbers, and not all the same."""
    packet = getattr(gradwright.ops, operator.name.base)
    best: Curve | None = None
    for low, high in _RANGES:
        curve = _curve(packet, low, high, others, named)
        if curve is None:
            return None
        count = np.isfinite(curve.values).sum()
        if best is None or count > np.isfinite(best.values).sum():
            best = curve
        if count > 0.97 * _POINTS:
            break
    if (
        best is None
        or np.isfinite(best.values).sum() < 0.5 * _POINTS
        or np.nanmax(best.values) == np.nanmin(best.values)
    ):
        return None
    return best


def _curve(packet: object, low: float, high: float, others: list[object], named: dict[str, object]) -> Curve | None:
    grid = np.linspace(low, high, _POINTS)
    x = gradwright.tensor(grid.tolist(), dtype=gradwright.float64, requires_grad=True)
    try:
        with np.errstate(all="ignore"):
            y = packet(x, *others, **named)  # type: ignore[operator]
            if tuple(y.shape) != grid.shape or not (y.is_floating_point() or y.dtype == gradwright.bool):
                return None
            slopes = None
            if y.requires_grad:
                (gradient,) = gradwright.autograd.grad(y, x, gradwright.ones_like(y))
                slopes = _numbers(gradient)
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return None
    values = _numbers(y.detach().to(gradwright.float64))
    return Curve(grid, values, slopes)


def _numbers(tensor: object) -> NDArray[np.float64]:
    array: NDArray[np.float64] = np.array(tensor.tolist(), dtype=np.float64)  # type: ignore[attr-defined]
    array[~np.isfinite(array)] = math.nan
    return array


def _drawing(call: str, curve: Curve) -> str:
    """The two curves over axes, with the ends of both ranges as numbers."""
    low, high = float(curve.grid[0]), float(curve.grid[-1])
    shown = [curve.values] if curve.slopes is None else [curve.values, curve.slopes]
    joined = np.concatenate(shown)
    bottom, top = (float(limit) for limit in (np.nanmin(joined), np.nanmax(joined)))
    bottom, top = max(bottom, -_LARGEST), min(top, _LARGEST)
    if top - bottom < 1e-9:
        bottom, top = bottom - 1, top + 1
    space = 0.06 * (top - bottom)
    bottom, top = bottom - space, top + space

    def place(x: float, y: float) -> str:
        across = _LEFT + (x - low) / (high - low) * (_WIDTH - _LEFT - _MARGIN)
        down = _HEIGHT - _MARGIN - (y - bottom) / (top - bottom) * (_HEIGHT - 2 * _MARGIN)
        return f"{across:.1f} {down:.1f}"

    parts = []
    if bottom < 0 < top:
        parts.append(f'<path class="axis" d="M{place(low, 0)}L{place(high, 0)}"/>')
    if low < 0 < high:
        parts.append(f'<path class="axis" d="M{place(0, bottom)}L{place(0, top)}"/>')
    for kind, values in zip(("slope", "value"), reversed(shown) if len(shown) == 2 else (None, shown[0]), strict=True):
        if values is not None:
            path = "".join(_pieces(curve.grid, values, bottom, top, place))
            parts.append(f'<path class="{kind}" d="{path}"/>')
    below, right = f"{_HEIGHT - 6:.0f}", f"{_WIDTH - _MARGIN:.0f}"
    parts += [
        f'<text x="{_LEFT:.0f}" y="{below}">{low:g}</text>',
        f'<text x="{right}" y="{below}" text-anchor="end">{high:g}</text>',
        f'<text x="{_LEFT - 6:.0f}" y="{place(0, top - space).split()[1]}" text-anchor="end">{top - space:.3g}</text>',
        f'<text x="{_LEFT - 6:.0f}" y="{place(0, bottom + space).split()[1]}" text-anchor="end">{bottom + space:.3g}'
        "</text>",
    ]
    about = f"{call} from {low:g} to {high:g}" + ("" if curve.slopes is None else ", and its derivative")
    legend = f'<span class="value"><code>{html.escape(call)}</code></span>'
    if curve.slopes is not None:
        legend += ' <span class="slope">derivative</span>'
    box, label = f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}", html.escape(about)
    picture = f'<svg viewBox="{box}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f'<figure class="plot">{picture}<figcaption>{legend}</figcaption></figure>'


def _pieces(
    grid: NDArray[np.float64], values: NDArray[np.float64], bottom: float, top: float, place: Place
) -> Iterator[str]:
    """A path with a gap where there is no number, where a value leaves the drawing, and at jumps."""
    height = top - bottom
    last: float | None = None
    for x, y in zip(grid.tolist(), values.tolist(), strict=True):
        inside = not math.isnan(y) and bottom <= y <= top
        if inside:
            goes_on = last is not None and abs(y - last) < 0.25 * height
            yield f"{'L' if goes_on else 'M'}{place(x, y)}"
        last = y if inside else None
