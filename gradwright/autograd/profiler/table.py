"""Events as a table of plain text, laid out as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradwright.autograd.profiler.events import format_memory, format_time

_GAP = "  "
_NUMBER_WIDTH = 12
_MARGIN = 4  # what a column of text is wider than its longest text
_PREFIXES = ("", "K", "M", "G", "T", "P")


class _Column(NamedTuple):
    title: str
    width: int
    cell: Callable[[Any], str]
    align: str = ">"

    def show(self, text: str) -> str:
        return f"{text:{self.align}{self.width}}"


def table_text(
    events: Sequence[Any],
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int,
    max_name_column_width: int,
    max_shapes_column_width: int,
    header: str | None,
    top_level_events_only: bool,
    time_unit: str | None,
    profile_memory: bool,
    with_flops: bool,
) -> str:
    """The table; empty where there are no events.

    Args:
        events: single events or sums of them.
        sort_by: an attribute; the largest comes first.
        row_limit: show no more rows; negative: all.
        max_src_column_width: what is longer loses its beginning.
        max_name_column_width: what is longer loses its end.
        max_shapes_column_width: what is longer loses its end.
        header: a line above the table.
        top_level_events_only: leave out what happened inside of other events.
        time_unit: s, ms or us for all times; None: for each what fits.
        profile_memory: show columns of memory.
        with_flops: show a column of floating point operations.

    Raises:
        AttributeError: events have no attribute `sort_by`.
    """
    if not events:
        return ""
    if sort_by is not None:
        events = sorted(events, key=lambda event: getattr(event, sort_by), reverse=True)
    total_time = sum(event.self_cpu_time_total for event in events)
    columns = [
        *_name_columns(events, max_name_column_width),
        *_time_columns(total_time, time_unit),
        *(_memory_columns() if profile_memory else ()),
        *_count_columns(events),
        *_shape_columns(events, max_shapes_column_width),
        *(_flops_columns(events) if with_flops else ()),
    ]
    source = _source_column(events, max_src_column_width)
    shown = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    if row_limit >= 0:
        shown = shown[:row_limit]
    rule = _line("-" * column.width for column in (*columns, *source))
    double = "=" * (len(rule) - len(_GAP))
    lines = [] if header is None else [double, header]
    if top_level_events_only:
        lines += [double, "This report only display top-level ops statistics"]
    lines += [rule, _line(column.show(column.title) for column in (*columns, *source)), rule]
    for event in shown:
        lines += _rows(event, columns, source)
    lines += [rule, f"Self CPU time total: {format_time(total_time, time_unit)}"]
    return "\n".join(lines) + "\n"


def _line(cells: Any) -> str:
    return "".join([cell + _GAP for cell in cells])


def _rows(event: Any, columns: Sequence[_Column], source: Sequence[_Column]) -> list[str]:
    cells = [column.show(column.cell(event)) for column in columns]
    if not source:
        return [_line(cells)]
    # A stack takes a row for each of its entries, and an empty row ends it.
    (stack,) = source
    blank = [" " * column.width for column in columns]
    entries = event.stack or [""]
    lines = [_line([*cells, stack.show(_end_of(entries[0], stack.width))])]
    lines += [_line([*blank, stack.show(_end_of(entry, stack.width))]) for entry in entries[1:]]
    return [*lines, _line([*blank, stack.show("")])]


def _name_columns(events: Sequence[Any], max_width: int) -> list[_Column]:
    width = _width([event.key for event in events], max_width)
    columns = [_Column("Name", width, lambda event: _beginning_of(event.key, max_width))]
    if any(event.overload_name for event in events):
        columns.append(
            _Column("Overload Name", width, lambda event: _beginning_of(event.overload_name or "", max_width))
        )
    return columns


def _time_columns(total_time: float, time_unit: str | None) -> list[_Column]:
    def share(time: float) -> str:
        return "NaN" if total_time == 0 else f"{time * 100.0 / total_time:.2f}%"

    return [
        _Column("Self CPU %", _NUMBER_WIDTH, lambda event: share(event.self_cpu_time_total)),
        _Column("Self CPU", _NUMBER_WIDTH, lambda event: format_time(event.self_cpu_time_total, time_unit)),
        _Column("CPU total %", _NUMBER_WIDTH, lambda event: "0" if event.is_async else share(event.cpu_time_total)),
        _Column("CPU total", _NUMBER_WIDTH, lambda event: format_time(event.cpu_time_total, time_unit)),
        _Column("CPU time avg", _NUMBER_WIDTH, lambda event: format_time(event.cpu_time, time_unit)),
    ]


def _memory_columns() -> list[_Column]:
    return [
        _Column("CPU Mem", _NUMBER_WIDTH, lambda event: format_memory(event.cpu_memory_usage)),
        _Column("Self CPU Mem", _NUMBER_WIDTH, lambda event: format_memory(event.self_cpu_memory_usage)),
    ]


def _count_columns(events: Sequence[Any]) -> list[_Column]:
    columns = [_Column("# of Calls", _NUMBER_WIDTH, lambda event: str(event.count))]
    if any(event.node_id != -1 for event in events):
        columns.append(_Column("Node ID", _NUMBER_WIDTH, lambda event: str(event.node_id)))
    return columns


def _shape_columns(events: Sequence[Any], max_width: int) -> list[_Column]:
    if not any(event.input_shapes for event in events):
        return []
    width = _width([str(event.input_shapes) for event in events], max_width)
    return [_Column("Input Shapes", width, lambda event: str(event.input_shapes)[:width])]


def _flops_columns(events: Sequence[Any]) -> list[_Column]:
    known = [event.flops for event in events if event.flops]
    if not known:
        return []
    # One unit for the whole column: the one that the smallest number is read best in.
    power = 0
    while power + 1 < len(_PREFIXES) and min(known) >= 1000 ** (power + 1):
        power += 1
    return [
        _Column(
            f"Total {_PREFIXES[power]}FLOPs",
            _NUMBER_WIDTH,
            lambda event: f"{event.flops / 1000**power:.3f}" if event.flops else "--",
        )
    ]


def _source_column(events: Sequence[Any], max_width: int) -> list[_Column]:
    entries = [entry for event in events for entry in event.stack or ()]
    return [_Column("Source Location", _width(entries, max_width), str, "<")] if entries else []


def _width(texts: Sequence[str], limit: int) -> int:
    return min(max(map(len, texts)) + _MARGIN, limit)


def _beginning_of(text: str, width: int) -> str:
    """`text` without its end, where it would come close to filling `width`."""
    return text if len(text) < width - 3 else f"{text[: width - 3]}..."


def _end_of(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    return text[-width:] if width <= 3 else f"...{text[3 - width :]}"
