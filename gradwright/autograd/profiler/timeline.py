"""What the picture of a profile shows: for each recording, bars over time in rows by nesting, and its memory.

Bars that are too narrow to be seen are merged with their neighbours, so that the number of bars is bounded however many
events there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from gradwright.autograd.profiler.events import MEMORY_EVENT_NAME, FunctionEvent, Scope

MOST_LANES = 8
MOST_ROWS = 16
MOST_BARS = 1000
_WIDEST_MERGED = 8  # how many times the narrowest width that is drawn, so that dense stretches keep their structure


class BarKind(Enum):
    """What a bar stands for."""

    OPERATOR = "operator"
    NODE = "node"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Bar:
    """Events side by side, one where it is wide enough: from `left` to `right` in pixels."""

    left: float
    right: float
    kind: BarKind  # that of most of the time
    events: tuple[FunctionEvent, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """The events of one thread in one recording.

    Attributes:
        thread: its number.
        rows: bars from left to right; those of a row are inside of those above.
        memory: times in pixels, and the bytes that are allocated from then on. Empty where memory was not followed.
    """

    thread: int
    rows: tuple[tuple[Bar, ...], ...]
    memory: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The picture of a profile.

    Attributes:
        lanes: one below the other.
        start_us: the time at the left edge.
        length_us: the time over the whole width.
        narrowest: the width in pixels below which bars are merged.
        merged: how many events share their bar with others.
        merged_bars: how many such bars there are.
        hidden: how many events are not shown: too deep, in too many lanes, or without a place in the nesting.
    """

    lanes: tuple[Lane, ...]
    start_us: float
    length_us: float
    narrowest: float
    merged: int
    merged_bars: int
    hidden: int


def timeline_of(events: Sequence[FunctionEvent], width: float, follow_memory: bool) -> Timeline:
    """Lay out the events of a profile.

    The event around a Node that ran, `autograd::engine::evaluate_function`, has no bar of its own.

    Args:
        events: single events that know how they nest; those of one recording in the order in which they began.
        width: in pixels.
        follow_memory: whether the events know of memory.
    """
    spans = [event for event in events if event.name != MEMORY_EVENT_NAME]
    depths = _depths(spans)
    start = min((event.time_range.start for event in events), default=0.0)
    length = max((event.time_range.end for event in events), default=0.0) - start or 1.0
    recordings = _recordings(events)[:MOST_LANES]
    shown = [
        [event for event in recording if id(event) in depths and depths[id(event)] < MOST_ROWS]
        for recording in recordings
    ]
    scale = width / length
    narrowest, rows = 1.0, [_rows(lane, depths, start, scale, 1.0) for lane in shown]
    while sum(len(row) for lane in rows for row in lane) > MOST_BARS:
        narrowest *= 2
        rows = [_rows(lane, depths, start, scale, narrowest) for lane in shown]
    lanes = tuple(
        Lane(recording[0].thread, lane, _memory(recording, start, scale) if follow_memory else ())
        for recording, lane in zip(recordings, rows, strict=True)
    )
    merged = [len(bar.events) for lane in lanes for row in lane.rows for bar in row if len(bar.events) > 1]
    left_out = sum(_is_evaluation(event) for event in spans)
    hidden = len(spans) - left_out - sum(map(len, shown))
    return Timeline(lanes, start, length, narrowest, sum(merged), len(merged), hidden)


def kind_of(event: FunctionEvent) -> BarKind:
    """What kind of bar an event has."""
    if event.is_user_annotation or event.scope == Scope.USER_SCOPE:
        return BarKind.BLOCK
    return BarKind.NODE if event.scope == Scope.BACKWARD_FUNCTION else BarKind.OPERATOR


def _is_evaluation(event: FunctionEvent) -> bool:
    """Whether an event is around a Node that ran, which says the same."""
    return len(event.cpu_children) == 1 and event.name == (
        f"autograd::engine::evaluate_function: {event.cpu_children[0].name}"
    )


def _depths(events: Iterable[FunctionEvent]) -> Mapping[int, int]:
    """In how many bars an event is, by its id; without those that have no bar."""
    levels: dict[int, int] = {}  # also of events without a bar
    for event in events:
        chain: list[FunctionEvent] = []
        inner: FunctionEvent | None = event
        while inner is not None and id(inner) not in levels:
            chain.append(inner)
            inner = inner.cpu_parent
        for each in reversed(chain):
            parent = each.cpu_parent
            levels[id(each)] = 0 if parent is None else levels[id(parent)] + (not _is_evaluation(parent))
    return {id(event): levels[id(event)] for event in events if event._nests and not _is_evaluation(event)}


def _recordings(events: Iterable[FunctionEvent]) -> list[list[FunctionEvent]]:
    """The events of each thread. Where time goes back another recording begins: each counts from its own beginning."""
    recordings: list[list[FunctionEvent]] = []
    newest: dict[tuple[int, int], list[FunctionEvent]] = {}
    for event in events:
        if not event._nests:
            continue
        thread = (event.node_id, event.thread)
        known = newest.get(thread)
        if known is None or event.time_range.start < known[-1].time_range.start:
            newest[thread] = known = []
            recordings.append(known)
        known.append(event)
    return recordings


def _rows(
    events: Iterable[FunctionEvent], depths: Mapping[int, int], start: float, scale: float, narrowest: float
) -> tuple[tuple[Bar, ...], ...]:
    rows: dict[int, list[FunctionEvent]] = defaultdict(list)
    for event in events:
        rows[depths[id(event)]].append(event)
    return tuple(_bars(rows[depth], start, scale, narrowest) for depth in range(max(rows, default=-1) + 1))


def _bars(events: Sequence[FunctionEvent], start: float, scale: float, narrowest: float) -> tuple[Bar, ...]:
    """The bars of a row; what is narrow is merged with what is narrow and near."""
    bars: list[Bar] = []
    group: list[FunctionEvent] = []
    left = right = 0.0
    for event in sorted(events, key=lambda event: event.time_range.start):
        begin, end = ((time - start) * scale for time in (event.time_range.start, event.time_range.end))
        narrow = end - begin < narrowest
        joins = narrow and begin - right < narrowest and end - left <= _WIDEST_MERGED * narrowest
        if group and not joins:
            bars.append(_bar(left, right, group))
            group = []
        if not narrow:
            bars.append(_bar(begin, end, [event]))
            continue
        if not group:
            left = right = begin
        group.append(event)
        right = max(right, end)
    if group:
        bars.append(_bar(left, right, group))
    return tuple(bars)


def _bar(left: float, right: float, events: Sequence[FunctionEvent]) -> Bar:
    times: dict[BarKind, float] = defaultdict(float)
    for event in events:
        times[kind_of(event)] += event.time_range.elapsed_us()
    return Bar(left, right, max(times, key=times.__getitem__), tuple(events))


def _memory(events: Iterable[FunctionEvent], start: float, scale: float) -> tuple[tuple[float, int], ...]:
    """What is allocated after each change, one or two for each pixel: the most, and the last."""
    changes = sorted((event.time_range.end, event.self_cpu_memory_usage) for event in events)
    columns: dict[int, list[int]] = defaultdict(list)
    allocated = 0
    for time, change in changes:
        if change:
            allocated += change
            columns[int((time - start) * scale)].append(allocated)
    steps: list[tuple[float, int]] = [(0.0, 0)]
    for column, values in columns.items():
        steps += [(float(column), value) for value in dict.fromkeys((max(values), values[-1]))]
    return tuple(steps)
