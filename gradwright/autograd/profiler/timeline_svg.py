"""The picture of a profile as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10

from gradwright.autograd.drawing.writing import CHARACTER, Svg, svg_document
from gradwright.autograd.profiler.events import FunctionEvent, format_memory, format_time
from gradwright.autograd.profiler.timeline import Bar, BarKind, Lane, Timeline, timeline_of

# Pixels.
_WIDTH, _MARGIN, _ROW, _TEXT, _GAP, _MEMORY = 960, 12, 18, 22, 0.6, 36
_TICKS = 8  # about so many
_NAMES = 3  # of events that are merged
_LABELS = {BarKind.OPERATOR: "operator", BarKind.NODE: "Node", BarKind.BLOCK: "block"}
_STYLE = """
  .profile text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
  .profile .page { fill: #ffffff; stroke: #d0d7de; } .profile .quiet { fill: #57606a; }
  .profile line { stroke: #d0d7de; }
  .profile .operator rect { fill: #cfe5fb; } .profile .node rect { fill: #ffd8a8; }
  .profile .block rect { fill: #c6f0cf; } .profile .merged rect { fill-opacity: 0.65; }
  .profile .memory path { fill: #e3d5f7; stroke: #8250df; }
  @media (prefers-color-scheme: dark) {
    .profile text { fill: #e6edf3; }
    .profile .page { fill: #161b22; stroke: #30363d; } .profile .quiet { fill: #9aa4af; }
    .profile line { stroke: #30363d; }
    .profile .operator rect { fill: #1b4a7a; } .profile .node rect { fill: #7a4a12; }
    .profile .block rect { fill: #1f5130; } .profile .memory path { fill: #3a2a5c; stroke: #a98ae8; }
  }
"""


def draw_profile(events: Sequence[FunctionEvent], follow_memory: bool = False) -> Svg:
    """The events of a profile over time, those that are inside of others below them, 960 pixels wide.

    The height follows from how deep events nest, up to 16 rows, and not from how many there are or how long they take.
    A bar shows what it knows when the mouse rests on it, where the picture is part of a page.

    Args:
        events: single events that know how they nest; those of one recording in the order in which they began.
        follow_memory: also show what is allocated.
    """
    timeline = timeline_of(events, _WIDTH - 2 * _MARGIN, follow_memory)
    lines = list(_heading(timeline, len(events)))
    top = 3.0 * _TEXT
    bottom = top + sum(_lane_height(lane, timeline) for lane in timeline.lanes)
    lines += _axis(timeline, top, bottom)
    for number, lane in enumerate(timeline.lanes):
        lines += _lane(lane, number, timeline, top)
        top += _lane_height(lane, timeline)
    height = bottom + _MARGIN
    page = f'<rect class="page" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1:.1f}" rx="6"/>'
    body = "\n".join([page, *lines])
    return svg_document(_WIDTH, height, _STYLE, f'<g class="profile">\n{body}\n</g>')


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{escape(text)}</text>'


def _heading(timeline: Timeline, count: int) -> Iterator[str]:
    """How much there is, what colours mean, and what is not shown one by one."""
    peaks = [max((size for _, size in lane.memory), default=0) for lane in timeline.lanes if lane.memory]
    memory = f", at most {format_memory(max(peaks))} allocated" if peaks else ""
    length = format_time(timeline.length_us) if count else format_time(0)
    yield _text(_MARGIN, 0.75 * _TEXT, f"{count:,} events in {length}{memory}")
    x = _WIDTH - _MARGIN - sum(len(label) * CHARACTER + 30 for label in _LABELS.values())
    for kind, label in _LABELS.items():
        yield f'<g class="{kind.value} legend"><rect x="{x:.1f}" y="6" width="12" height="12" rx="2"/></g>'
        yield _text(x + 16, 0.75 * _TEXT, label)
        x += len(label) * CHARACTER + 30
    notes = []
    if timeline.merged:
        width = "a pixel" if timeline.narrowest == 1 else f"{timeline.narrowest:.0f} pixels"
        bars = f"{timeline.merged_bars:,} bar{'s' if timeline.merged_bars > 1 else ''}"
        notes.append(f"{timeline.merged:,} events narrower than {width} are merged into {bars}")
    if timeline.hidden:
        notes.append(f"{timeline.hidden:,} events are not shown")
    if notes:
        yield _text(_MARGIN, 1.75 * _TEXT, "; ".join(notes), "quiet")


def _axis(timeline: Timeline, top: float, bottom: float) -> Iterator[str]:
    """Lines at round times from the beginning."""
    step = _round_step(timeline.length_us / _TICKS)
    for number in range(int(timeline.length_us / step) + 1):
        time = number * step
        x = _MARGIN + time / timeline.length_us * (_WIDTH - 2 * _MARGIN)
        yield f'<line x1="{x:.1f}" y1="{top - 4:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
        label = _short_time(time)
        if x + len(label) * CHARACTER < _WIDTH - _MARGIN:
            yield _text(x, top - 7, label, "quiet")


def _round_step(least: float) -> float:
    """The next larger number that is 1, 2 or 5 times a power of ten."""
    power: float = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _short_time(time_us: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if time_us >= size:
            return f"{time_us / size:.4g} {unit}"
    return f"{time_us:.4g} us" if time_us else "0"


def _has_heading(timeline: Timeline) -> bool:
    return len(timeline.lanes) > 1


def _lane_height(lane: Lane, timeline: Timeline) -> float:
    return _TEXT * _has_heading(timeline) + len(lane.rows) * _ROW + (_TEXT + _MEMORY if lane.memory else 0) + 4


def _lane(lane: Lane, number: int, timeline: Timeline, top: float) -> Iterator[str]:
    if _has_heading(timeline):
        yield _text(_MARGIN, top + 0.75 * _TEXT, f"recording {number + 1}, thread {lane.thread}", "quiet")
        top += _TEXT
    for depth, row in enumerate(lane.rows):
        for bar in row:
            yield _bar(bar, top + depth * _ROW)
    if lane.memory:
        yield _memory(lane.memory, top + len(lane.rows) * _ROW)


def _bar(bar: Bar, top: float) -> str:
    x, width = _MARGIN + bar.left, max(bar.right - bar.left - _GAP, 1.0)
    single = len(bar.events) == 1
    name = bar.events[0].name.removeprefix("aten::")
    room = int((width - 6) / CHARACTER)
    label = ""
    if single and room >= 2:
        label = _text(x + 3, top + 0.72 * _ROW, name if len(name) <= room else f"{name[: room - 1]}…")
    about = _about(bar.events[0]) if single else _about_several(bar.events)
    return (
        f'<g class="{bar.kind.value}{"" if single else " merged"}"><title>{escape(about)}</title>'
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_ROW - 1}"/>{label}</g>'
    )


def _about(event: FunctionEvent) -> str:
    parts = [event.name, f"total {event.cpu_time_total_str}", f"self {event.self_cpu_time_total_str}"]
    if event.cpu_memory_usage:
        parts.append(f"memory {format_memory(event.cpu_memory_usage)}")
    if event.input_shapes:
        parts.append(f"shapes {event.input_shapes}")
    if event.sequence_nr >= 0:
        parts.append(f"sequence number {event.sequence_nr}")
    return ", ".join(parts)


def _about_several(events: Sequence[FunctionEvent]) -> str:
    names = Counter(event.name for event in events).most_common()
    shown = ", ".join(f"{name} x{count}" for name, count in names[:_NAMES])
    more = ", ..." if len(names) > _NAMES else ""
    total = format_time(sum(event.cpu_time_total for event in events))
    return f"{len(events):,} events, total {total}: {shown}{more}"


def _memory(steps: Sequence[tuple[float, int]], top: float) -> str:
    """The allocated bytes as an area over the time."""
    most, least = max(size for _, size in steps), min(0, *(size for _, size in steps))
    scale = (_MEMORY - 2) / ((most - least) or 1)
    ground = top + _TEXT + _MEMORY + least * scale
    path = f"M{_MARGIN} {ground:.1f}"
    for x, size in steps:
        path += f"H{_MARGIN + x:.0f}V{ground - size * scale:.1f}"
    path += f"H{_WIDTH - _MARGIN}V{ground:.1f}Z"
    about = f"allocated, at most {format_memory(most)}"
    label = _text(_MARGIN, top + 0.75 * _TEXT, about, "quiet")
    return f'<g class="memory"><title>{about}</title><path d="{path}"/>{label}</g>'
