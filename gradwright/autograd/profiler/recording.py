"""What a profile writes down while it runs, and the events that this becomes."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from math import prod
from time import perf_counter_ns
from types import FrameType
from typing import Any

import numpy as np

from gradwright.autograd.profiler.event_list import EventList
from gradwright.autograd.profiler.events import MEMORY_EVENT_NAME, FunctionEvent, Scope
from gradwright.autograd.profiler.observing import Call
from runtime.base.identity import PACKAGES
from runtime.base.memory import owner_of
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.graph.node import Node

_STEP_NAME = "ProfilerStep#"

_next_thread: Callable[[], int] = itertools.count(1).__next__


class _Thread(ThreadState):
    """A small number for each thread, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.number = _next_thread()


_thread = _Thread()


class Record:
    """One thing that began; `memory` counts what was allocated and freed in it and in nothing inside of it."""

    __slots__ = (
        "call",
        "concrete_inputs",
        "end",
        "id",
        "inputs",
        "memory",
        "parent",
        "sequence_nr",
        "shapes",
        "stack",
        "start",
        "thread",
    )

    def __init__(self, id: int, call: Call, parent: Record | None) -> None:
        self.id = id
        self.call = call
        self.parent = parent
        self.thread = _thread.number
        self.sequence_nr = call.sequence_nr
        self.shapes: list[Any] = []
        self.concrete_inputs: list[Any] = []
        self.stack: list[str] = []
        self.memory = 0
        self.inputs: dict[int, np.ndarray[Any, Any]] = {}  # whose memory the arguments are, by id
        self.start = 0
        self.end: int | None = None


class Recorder:
    """An observer that writes everything down.

    Memory is that of the arrays that operators return: it counts as allocated by the innermost operator that returns
    it, unless it is that of an argument, and as freed by the event that is open when NumPy frees it. Memory that a
    kernel takes and gives back itself is not seen, nor is what was allocated before.

    Args:
        record_shapes: keep shapes and values of arguments.
        profile_memory: follow the memory of results.
        with_stack: keep the Python stack.
        with_flops: count floating point operations.
        overload_names: keep the names of overloads.
    """

    def __init__(
        self, record_shapes: bool, profile_memory: bool, with_stack: bool, with_flops: bool, overload_names: bool
    ) -> None:
        self.record_shapes = record_shapes or with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.overload_names = overload_names
        self.records: list[Record] = []
        self.begun_ns = perf_counter_ns()
        self.native_thread = threading.get_native_id()
        self._ident = threading.get_ident()
        self._open: list[Record] = []
        self._recorded_here: set[int] = set()
        self._next_id = itertools.count(1).__next__
        self._alive: dict[int, weakref.ref[np.ndarray[Any, Any]]] = {}  # memory that came up here, by its owner's id
        self._finished = False

    # -- the observer

    def begin(self, call: Call) -> Record:
        """Write down that `call` begins."""
        record = Record(self._next_id(), call, self._open[-1] if self._open else None)
        if self.record_shapes:
            record.shapes = call.input_shapes()
            record.concrete_inputs = call.concrete_inputs()
        if self.with_stack:
            record.stack = _python_stack()
        if self.profile_memory:
            owners = [owner_of(tensor._array) for tensor in _tensors(call.values)]
            record.inputs = {id(owner): owner for owner in owners}
        call.values = ()  # results must not live longer than they would
        self.records.append(record)
        self._open.append(record)
        record.start = perf_counter_ns()
        return record

    def end(self, record: Record, result: Any) -> None:
        """Write down that `record` has ended; after the end of the recording this does nothing."""
        if record.end is not None:
            return
        record.end = perf_counter_ns()
        if self.profile_memory:
            for tensor in _tensors((result,)):
                self._allocated(owner_of(tensor._array), record)
            record.inputs = {}
        if record in self._open:
            del self._open[self._open.index(record) :]

    def recorded(self, node: Node) -> None:
        """Note the number of a new Node with the operators that are running, unless they have recorded one before."""
        self._recorded_here.add(node.sequence_nr)
        for record in reversed(self._open):
            if record.call.scope is not Scope.FUNCTION or record.call.node is not None:
                return
            if record.sequence_nr < 0:
                record.sequence_nr = node.sequence_nr

    def finish(self) -> None:
        """Stop: events that are still open end now."""
        now = perf_counter_ns()
        for record in self.records:
            if record.end is None:
                record.end = now
        self._open.clear()
        self._alive.clear()
        self._finished = True

    # -- memory

    def _allocated(self, owner: np.ndarray[Any, Any], record: Record) -> None:
        key, nbytes = id(owner), owner.nbytes
        if not nbytes or key in record.inputs or key in self._alive:
            return
        record.memory += nbytes

        def freed(reference: object) -> None:
            if self._alive.pop(key, None) is not None:
                self._freed(nbytes)

        self._alive[key] = weakref.ref(owner, freed)

    def _freed(self, nbytes: int) -> None:
        if self._finished:
            return
        if self._open and threading.get_ident() == self._ident:
            self._open[-1].memory -= nbytes
            return
        record = Record(self._next_id(), Call(MEMORY_EVENT_NAME, Scope.FUNCTION), None)
        record.memory = -nbytes
        record.start = record.end = perf_counter_ns()
        self.records.append(record)

    # -- the result

    def events(self) -> EventList:
        """What was written down, as events that know how they nest."""
        memory: dict[int, int] = {record.id: record.memory for record in self.records}
        for record in reversed(self.records):  # what is inside of something began later
            if record.parent is not None:
                memory[record.parent.id] += memory[record.id]
        events = EventList(
            [self._event(record, memory[record.id]) for record in self.records],
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
        )
        events._build_tree()
        return events

    def _event(self, record: Record, memory: int) -> FunctionEvent:
        call = record.call
        assert record.end is not None
        # A Node that this profile saw being recorded was recorded in this thread.
        known = call.node is not None and record.sequence_nr in self._recorded_here
        return FunctionEvent(
            id=record.id,
            name="ProfilerStep*" if call.name.startswith(_STEP_NAME) else call.name,
            trace_name=call.name,
            overload_name=call.overload if self.overload_names else "",
            thread=record.thread,
            fwd_thread=record.thread if known else 0,
            start_us=(record.start - self.begun_ns) / 1000,
            end_us=(record.end - self.begun_ns) / 1000,
            input_shapes=record.shapes,
            concrete_inputs=record.concrete_inputs,
            kwinputs={},
            stack=record.stack,
            scope=int(call.scope),
            cpu_memory_usage=memory,
            sequence_nr=record.sequence_nr,
            device_resource_id=self.native_thread,
            flops=_flops(call.name, record.shapes) if self.with_flops else 0,
            is_user_annotation=call.scope is Scope.USER_SCOPE,
        )


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _python_stack() -> list[str]:
    """Where the caller's code stands, innermost first, without the library's own frames."""
    entries = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in PACKAGES:
            code = frame.f_code
            entries.append(f"{_short_path(code.co_filename)}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return entries


def _short_path(path: str) -> str:
    """`path` as seen from the folder that modules are found in."""
    folders = [folder.rstrip(os.sep) + os.sep for folder in sys.path if folder]
    known = [folder for folder in folders if path.startswith(folder)]
    return path.removeprefix(max(known, key=len)) if known else path


def _flops(name: str, shapes: list[Any]) -> int:
    """Floating point operations of the operators where they follow from the shapes; 0 for the others."""
    try:
        match name, shapes:
            case "aten::mm", [[rows, inner], [_, columns], *_]:
                return 2 * rows * inner * columns  # type: ignore[no-any-return]
            case "aten::addmm", [_, [rows, inner], [_, columns], *_]:
                return 2 * rows * inner * columns  # type: ignore[no-any-return]
            case "aten::bmm", [[batch, rows, inner], [_, _, columns], *_]:
                return 2 * batch * rows * inner * columns  # type: ignore[no-any-return]
            case "aten::baddbmm", [_, [batch, rows, inner], [_, _, columns], *_]:
                return 2 * batch * rows * inner * columns  # type: ignore[no-any-return]
            case "aten::add" | "aten::mul", [first, *_]:
                return prod(first)
    except TypeError:
        pass
    return 0
