"""A whole profile as a file for Chrome's trace viewer and Perfetto."""

from __future__ import annotations

import gzip
import json
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from gradwright.autograd.profiler.events import MEMORY_EVENT_NAME, FunctionEvent, Scope


def write_trace(path: str | PathLike[str], events: Iterable[FunctionEvent], header: Mapping[str, Any]) -> None:
    """Write `events` in the Trace Event Format, as an object.

    Args:
        path: the file; compressed where its name ends in `.gz`.
        events: single events of one process.
        header: what goes beside them.
    """
    document = {
        "schemaVersion": 1,
        "deviceProperties": [],
        **header,
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "traceName": os.fspath(path),
        "traceEvents": list(_entries(list(events))),
    }
    text = json.dumps(document, default=str).encode()
    Path(path).write_bytes(gzip.compress(text) if os.fspath(path).endswith(".gz") else text)


def _entries(events: list[FunctionEvent]) -> Iterator[dict[str, Any]]:
    pid = os.getpid()
    yield _about(pid, 0, "process_name", {"name": os.path.basename(sys.executable) or "python"})
    yield _about(pid, 0, "process_labels", {"labels": "CPU"})
    for thread in dict.fromkeys([event.device_resource_id for event in events]):
        yield _about(pid, thread, "thread_name", {"name": f"thread {thread}"})
    allocated = 0
    for event in events:
        if event.name == MEMORY_EVENT_NAME:
            allocated += event.cpu_memory_usage
            yield _memory(pid, event, allocated)
        else:
            allocated += event.self_cpu_memory_usage
            yield _span(pid, event)
    yield from _arrows(pid, events)


def _about(pid: int, tid: int | None, name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "ts": 0, "pid": pid, "tid": tid, "args": args}


def _span(pid: int, event: FunctionEvent) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id, "Ev Idx": event.id - 1}
    if event.sequence_nr >= 0:
        args |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
    if event.input_shapes:
        args |= {"Input Dims": event.input_shapes, "Concrete Inputs": _texts(event.concrete_inputs or ())}
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    return {
        "ph": "X",
        "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.trace_name or event.name,
        "pid": pid,
        "tid": event.device_resource_id,
        "ts": event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": args,
    }


def _texts(values: Iterable[Any]) -> list[str]:
    return ["" if value is None else str(value) for value in values]


def _memory(pid: int, event: FunctionEvent, allocated: int) -> dict[str, Any]:
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": event.name,
        "pid": pid,
        "tid": event.device_resource_id,
        "ts": event.time_range.start,
        "args": {"Bytes": event.cpu_memory_usage, "Total Allocated": allocated, "Device Type": 0, "Device Id": -1},
    }


def _arrows(pid: int, events: list[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """From the operator that recorded a Node to where the Node ran."""
    recorded: dict[int, FunctionEvent] = {}
    for event in events:
        if event.sequence_nr >= 0 and event.scope == Scope.FUNCTION and not event.fwd_thread:
            recorded[event.sequence_nr] = event  # of nested ones the innermost, which began last
    number = 0
    for event in events:
        source = recorded.get(event.sequence_nr)
        if event.scope != Scope.BACKWARD_FUNCTION or source is None or not event.fwd_thread:
            continue
        number += 1
        for phase, end in (("s", source), ("f", event)):
            yield {
                "ph": phase,
                "id": number,
                "cat": "fwdbwd",
                "name": "fwdbwd",
                "pid": pid,
                "tid": end.device_resource_id,
                "ts": end.time_range.start,
                **({"bp": "e"} if phase == "f" else {}),
            }
