"""A list of events: how they nest, sums of them, and files."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from os import PathLike
from typing import Any

from gradwright.autograd.profiler.events import FunctionEvent, FunctionEventAvg, Scope, total
from gradwright.autograd.profiler.table import table_text
from gradwright.autograd.profiler.timeline_svg import draw_profile

_STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]
_NOT_IN_STACKS = str.maketrans(" ;\t\n", "____")  # what has a meaning in files of stacks


class EventList(list[Any]):
    """FunctionEvents of a profile, or FunctionEventAvgs made of them.

    Args:
        args: what a list is made of.
        use_device: the device whose kernels the events hold.
        profile_memory: whether tables show memory.
        with_flops: whether tables show floating point operations.
    """

    def __init__(
        self,
        *args: Iterable[Any],
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(*args)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def _build_tree(self) -> None:
        """Find out which event is inside of which."""
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Make each event a child of the shortest that holds it, among those of its thread and process."""
        threads: dict[tuple[int, int], list[FunctionEvent]] = defaultdict(list)
        for event in self:
            if event._nests:
                threads[event.thread, event.node_id].append(event)
        for events in threads.values():
            events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
            around: list[FunctionEvent] = []
            for event in events:
                time = event.time_range
                while around and (time.start >= around[-1].time_range.end or time.end > around[-1].time_range.end):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """Drop what is alone inside of an event of the same name: an operator that calls an overload of its own."""
        dropped: set[int] = set()
        for event in self:
            if id(event) in dropped:
                continue
            while len(event.cpu_children) == 1 and event.cpu_children[0].name == event.name:
                (child,) = event.cpu_children
                dropped.add(id(child))
                event.cpu_children = child.cpu_children
                event.kernels = event.kernels or child.kernels
                for grandchild in event.cpu_children:
                    grandchild.set_cpu_parent(event)
        self[:] = [event for event in self if id(event) not in dropped]

    def _set_backward_stacktraces(self) -> None:
        """Give a Node that ran, and all inside of it, the stack of the call that recorded it."""
        recorded = {
            event.sequence_nr: event.stack
            for event in self
            if event.sequence_nr >= 0 and event.scope == Scope.FUNCTION and not event.fwd_thread
        }
        for event in self:
            inside: FunctionEvent | None = event
            while inside is not None and inside.scope != Scope.BACKWARD_FUNCTION:
                inside = inside.cpu_parent
            stack = None if inside is None else recorded.get(inside.sequence_nr)
            if stack:
                event.stack = stack

    # -- sums

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, none of it counted twice."""
        return total(self).self_cpu_time_total

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums of the events with the same name.

        Args:
            group_by_input_shapes: tell calls with arguments of other shapes apart.
            group_by_stack_n: tell calls apart by so many entries of their stack.
            group_by_overload_name: tell the overloads of an operator apart.

        Returns:
            A list of FunctionEventAvg, in the order in which the names appear.

        Raises:
            AssertionError: the nesting of the events is not known yet.
        """
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        sums: dict[tuple[Any, ...], FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = [event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation]
            if group_by_overload_name:
                key.append(event.overload_name)
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            key += (event.stack or [])[:group_by_stack_n]
            sums[tuple(key)].add(event)
        result = EventList(
            sums.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for average in result:
            average.stack = (average.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return result

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events; time inside of other events counts again."""
        return total(self)

    # -- text

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table of plain text.

        Args:
            sort_by: an attribute, such as `cpu_time_total`, `self_cpu_memory_usage` or `count`; the largest comes
                first.  None: in the order of the list.
            row_limit: show no more rows; negative: all.
            max_src_column_width: the longest entry of a stack.
            max_name_column_width: the longest name.
            max_shapes_column_width: the longest list of shapes.
            header: a line above the table.
            top_level_events_only: leave out what happened inside of other events.
            time_unit: s, ms or us for all times; None: for each what fits.

        Raises:
            AttributeError: events have no attribute `sort_by`.
        """
        return table_text(
            self,
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
            self._profile_memory,
            self._with_flops,
        )

    def __str__(self) -> str:
        return self.table()

    def _repr_svg_(self) -> str | None:
        """The events over time as a picture, for notebooks; None for sums, which have no place in time."""
        single = all(isinstance(event, FunctionEvent) for event in self)
        return draw_profile(self, self._profile_memory) if self._tree_built and single else None

    # -- files

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the events for Chrome's trace viewer (`chrome://tracing`), as a JSON array."""
        entries = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in self
            if event.trace_name is not None
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(entries, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can count."""
        return list(_STACK_METRICS)

    def export_stacks(self, path: str | PathLike[str], metric: str) -> None:
        """Write a line for each event that has a stack: the stack, outermost first, and a number.

        Args:
            path: a file, such as tools for flame graphs read.
            metric: the attribute to count; events where it is less than 1 are left out.

        Raises:
            ValueError: `metric` is none of `supported_export_stacks_metrics()`.
        """
        if metric not in _STACK_METRICS:
            raise ValueError(f"metric should be one of: {_STACK_METRICS}")
        if metric != "self_cpu_time_total":
            metric = "self_device_time_total"
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                count = int(getattr(event, metric))
                if event.stack and count > 0:
                    entries = [entry.translate(_NOT_IN_STACKS) for entry in reversed(event.stack)]
                    file.write(f"{';'.join(entries)} {count}\n")
