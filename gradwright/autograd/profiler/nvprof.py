"""Profiles that NVIDIA's nvprof wrote of a program under `emit_nvtx`: an SQLite file."""

from __future__ import annotations

import bisect
import sqlite3
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any

from gradwright.autograd.profiler.event_list import EventList
from gradwright.autograd.profiler.events import FunctionEvent

_LAUNCH = 211  # the callback id of cudaLaunchKernel

# A range is two markers of one id, of which the first has a name.
_RANGES = """
    SELECT first.id AS id, first.name AS name, first.timestamp AS start, last.timestamp AS end
    FROM CUPTI_ACTIVITY_KIND_MARKER AS first JOIN CUPTI_ACTIVITY_KIND_MARKER AS last ON first.id = last.id
    WHERE first.name != 0 AND last.name = 0
"""
_KERNELS = """
    SELECT runtime._id_ AS runtime_id, runtime.cbid AS cbid, runtime.start AS launched,
           kernel.start AS start, kernel.end AS end, kernel.name AS name
    FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS runtime ON runtime.correlationId = kernel.correlationId
"""


class EnforceUnique:
    """Raises an error when something is seen for the second time."""

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Note `key`.

        Raises:
            RuntimeError: it was seen before.
        """
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


def load_nvprof(path: str | PathLike[str]) -> EventList:
    """The events in a file that nvprof wrote.

    Args:
        path: the file.

    Returns:
        An event for each range, in the order in which they began, with the kernels that were launched during it.
        Times are microseconds, and kernels have names, where PyTorch leaves nvprof's nanoseconds and numbers.

    Raises:
        sqlite3.OperationalError: there is no such file, or it does not hold nvprof's tables.
        sqlite3.DatabaseError: it is another kind of file.
        AssertionError: kernels were launched in a way that is not known.
    """
    events = EventList(parse_nvprof_trace(path))
    events._build_tree()
    return events


def parse_nvprof_trace(path: str | PathLike[str]) -> list[FunctionEvent]:
    """The events in a file that nvprof wrote, without their nesting; see `load_nvprof`."""
    address = f"{Path(path).absolute().as_uri()}?mode=ro"  # a file that is not there must not be made
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        strings = {row["_id_"]: row["value"] for row in connection.execute("SELECT _id_, value FROM StringTable")}
        events = _ranges(connection, strings)
        _add_kernels(connection, strings, events)
    return events


def _ranges(connection: sqlite3.Connection, strings: dict[int, str]) -> list[FunctionEvent]:
    unique = EnforceUnique()
    events = []
    for row in connection.execute(_RANGES):
        unique.see(row["id"])
        event = FunctionEvent(
            id=row["id"],
            node_id=0,  # nvprof does not say which process it was
            name=strings[row["name"]],
            trace_name=strings[row["name"]],
            start_us=row["start"] / 1000,
            end_us=row["end"] / 1000,
            thread=0,  # nor which thread
        )
        events.append(event)
    return sorted(events, key=lambda event: event.time_range.start)


def _add_kernels(connection: sqlite3.Connection, strings: dict[int, str], events: list[FunctionEvent]) -> None:
    """Give each kernel to all ranges during which it was launched."""
    unique = EnforceUnique()
    starts = [event.time_range.start for event in events]
    for row in connection.execute(_KERNELS):
        launched = row["launched"] / 1000
        begun = bisect.bisect_left(starts, launched)
        for event in events[:begun]:
            if launched >= event.time_range.end:
                continue
            unique.see(event.id, row["runtime_id"])
            if row["cbid"] != _LAUNCH:
                raise AssertionError(f"Expected cbid to be {_LAUNCH}, but got {row['cbid']}")
            event.append_kernel(strings[row["name"]], 0, (row["end"] - row["start"]) / 1000)
