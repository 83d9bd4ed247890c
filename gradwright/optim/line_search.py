"""The search of a step length along a direction: one that lowers the loss enough, and flattens its slope enough.

The method is that of Nocedal and Wright, "Numerical Optimization", 2006, algorithms 3.5 and 3.6, with the safeguards of
Schmidt's minFunc: first steps grow until an interval must hold what is looked for, then that interval shrinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from runtime.base.tensor import Tensor

# Numbers here are Python's, or Tensors of one element in the dtype of the parameters.
Number = Any


class Point(NamedTuple):
    """What is known at a step length.

    Attributes:
        length: the step length.
        loss: the loss there.
        grad: its gradient.
        slope: the product of that and the direction.
    """

    length: Number
    loss: float
    grad: Tensor
    slope: Number


def strong_wolfe(
    evaluate: Callable[[Number], Point],
    start: Point,
    length: Number,
    size: Number,
    smallest_change: float,
    most: int,
    *,
    decrease: float = 1e-4,
    flatness: float = 0.9,
) -> tuple[Point, int]:
    """A point that meets the strong conditions of Wolfe, or the best one that was found.

    Args:
        evaluate: the point at a step length.
        start: the point at length 0.
        length: the first length to try.
        size: the largest magnitude in the direction.
        smallest_change: an interval in which no parameter changes by more is not searched.
        most: how many lengths are tried after the first.
        decrease: which part of the decrease that the slope at the start promises is enough.
        flatness: which part of that slope is flat enough.

    Returns:
        The point, and how often `evaluate` was called.
    """

    def too_high(point: Point) -> bool:
        return bool(point.loss > start.loss + decrease * point.length * start.slope)

    def is_flat(point: Point) -> bool:
        return bool(abs(point.slope) <= -flatness * start.slope)

    before, point, tried = start, evaluate(length), 0
    while tried < most:
        if too_high(point) or (tried > 1 and point.loss >= before.loss):
            break
        if is_flat(point):
            return point, tried + 1
        if point.slope >= 0:
            break
        bounds = point.length + 0.01 * (point.length - before.length), point.length * 10
        length = cubic_minimum(before, point, bounds)
        before, point = point, evaluate(length)
        tried += 1
    else:
        before = start

    ends = [before, point]
    best = 0 if before.loss <= point.loss else 1
    was_near_an_end = False
    while tried < most and abs(ends[1].length - ends[0].length) * size >= smallest_change:
        length = cubic_minimum(ends[0], ends[1])
        low, high = min(end.length for end in ends), max(end.length for end in ends)
        margin = 0.1 * (high - low)
        is_near_an_end = bool(min(high - length, length - low) < margin)
        if is_near_an_end and (was_near_an_end or length >= high or length <= low):
            length = high - margin if abs(length - high) < abs(length - low) else low + margin
            is_near_an_end = False
        was_near_an_end = is_near_an_end

        point = evaluate(length)
        tried += 1
        if too_high(point) or point.loss >= ends[best].loss:
            ends[1 - best] = point
            best = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        done = is_flat(point)
        if not done and point.slope * (ends[1 - best].length - ends[best].length) >= 0:
            ends[1 - best] = ends[best]
        ends[best] = point
        if done:
            break
    return ends[best], tried + 1


def cubic_minimum(one: Point, other: Point, bounds: tuple[Number, Number] | None = None) -> Number:
    """The length at which the cubic through two points with their slopes is lowest (Nocedal and Wright, 3.59).

    Args:
        one: a point.
        other: another one.
        bounds: between which the length lies; None for those of the points.
    """
    left, right = (one, other) if one.length <= other.length else (other, one)
    low, high = (left.length, right.length) if bounds is None else bounds
    mean = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.length - other.length)
    square = mean**2 - one.slope * other.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square.sqrt() if isinstance(square, Tensor) else square**0.5
    part = (right.slope + root - mean) / (right.slope - left.slope + 2 * root)
    return min(max(right.length - (right.length - left.length) * part, low), high)
