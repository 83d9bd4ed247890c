"""The profiler against PyTorch's: structure, text and errors, never times."""

from __future__ import annotations

import json
import random
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gradwright

pytestmark = [
    # PyTorch says this once for each process.
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events:UserWarning"),
]

EVALUATE = "autograd::engine::evaluate_function: "


def both(body: Callable[[Any], Any]) -> Any:
    """What `body` gives with either library, which must be the same."""
    ours, theirs = body(gradwright), body(torch)
    assert ours == theirs
    return ours


def error(body: Callable[[], Any]) -> Any:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        body()
    return type(caught.value)


# -- recorded operators and Nodes

# What both libraries are made of in the same way; PyTorch has more operators below these.
SHARED = (
    "aten::linear",
    "aten::matmul",
    "aten::mm",
    "aten::relu",
    "aten::exp",
    "aten::mul",
    "aten::mul_",
    "aten::sum",
    "aten::cat",
    "aten::expand",
    "aten::threshold_backward",
)


def is_shared(name: str) -> bool:
    return name in SHARED or "Backward0" in name or "AccumulateGrad" in name or not name.startswith(("aten::", "["))


def shown(event: Any) -> tuple[str, str | None]:
    """The name, and the name of the next event around it that both libraries have."""
    parent = event.cpu_parent
    while parent is not None and not is_shared(parent.name):
        parent = parent.cpu_parent
    return event.name, None if parent is None else parent.name


def program(torch: Any) -> Any:
    x = torch.ones(3, 4, requires_grad=True)
    w = torch.ones(5, 4, requires_grad=True)
    with torch.autograd.profiler.record_function("forward"):
        y = torch.nn.functional.linear(x, w).relu()
        z = (y * y.exp()).sum()
    z.backward()
    with torch.no_grad():
        torch.cat([x, x], 1).mul_(x.sum())


def test_the_same_operators_and_nodes_in_the_same_places() -> None:
    def body(torch: Any) -> Any:
        with torch.autograd.profiler.profile() as prof:
            program(torch)
        return Counter(
            shown(event) for event in prof.function_events if is_shared(event.name) and event.name != "detach"
        )

    counts = both(body)
    assert counts["aten::mm", "aten::matmul"] == 1
    assert counts["MulBackward0", EVALUATE + "MulBackward0"] == 1
    assert counts[EVALUATE + "torch::autograd::AccumulateGrad", None] == 2


def test_numbers_of_nodes_scopes_and_threads() -> None:
    def body(torch: Any) -> Any:
        with torch.autograd.profiler.profile() as prof:
            program(torch)
        events = [event for event in prof.function_events if is_shared(event.name) and event.name != "detach"]
        numbers = sorted({event.sequence_nr for event in events if event.scope == 1 and event.sequence_nr >= 0})
        ranks = {number: rank for rank, number in enumerate(numbers)}
        return sorted(
            (event.name, ranks.get(event.sequence_nr, -1), event.scope, bool(event.fwd_thread))
            for event in events
            # Where nothing is recorded, PyTorch still shows the number that would come next.
            if event.scope or event.sequence_nr in ranks
        )

    assert ("MmBackward0", 1, 1, True) in both(body)


def test_input_shapes_and_flops() -> None:
    def body(torch: Any) -> Any:
        a, b, c = torch.ones(2, 3), torch.ones(3, 5), torch.ones(4, 2, 3)
        with torch.autograd.profiler.profile(with_flops=True) as prof:
            torch.mm(a, b)
            torch.addmm(torch.ones(2, 5), a, b)
            torch.bmm(c, torch.ones(4, 3, 5))
            torch.baddbmm(torch.ones(4, 2, 5), c, torch.ones(4, 3, 5))
            a * c
            a + c
            torch.cat([a, a])
            torch.add(a, a, out=a)
            a.exp()
        named = ("mm", "addmm", "bmm", "baddbmm", "mul", "add", "cat", "exp")
        return [
            (event.name, event.input_shapes, event.flops)
            for event in prof.function_events
            if event.name.removeprefix("aten::") in named
        ]

    assert len(both(body)) == 9


def test_memory() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, 4)
        with torch.autograd.profiler.profile(profile_memory=True) as prof:
            y = x.exp()
            z = torch.nn.functional.linear(x, y)
            x.mul_(y)
            x.t()
            with torch.autograd.profiler.record_function("block"):
                del z
        named = ("exp", "linear", "matmul", "mm", "mul_", "t")
        return [
            (event.name, event.cpu_memory_usage)
            for event in prof.function_events
            if event.name.removeprefix("aten::") in named or event.name == "block"
        ]

    found = both(body)
    assert ("aten::mm", 36) in found
    assert ("block", -36) in found


def test_other_threads_are_not_seen() -> None:
    def body(torch: Any) -> Any:
        from threading import Thread

        x = torch.ones(2)
        with torch.autograd.profiler.profile() as prof:
            thread = Thread(target=x.exp)
            thread.start()
            thread.join()
            x.sin()
        return [event.name for event in prof.function_events]

    assert both(body) == ["aten::sin"]


def test_attributes_and_columns() -> None:
    def titles(text: str) -> list[str]:
        return [title.strip() for title in text.splitlines()[1].split("  ") if title.strip()]

    def body(torch: Any, **options: Any) -> Any:
        with torch.autograd.profiler.profile(**options) as prof:
            torch.mm(torch.ones(2, 2), torch.ones(2, 2))
        by_shape = prof.key_averages(group_by_input_shape=True)
        return [titles(events.table()) for events in (prof, prof.key_averages(), by_shape)]

    for options in ({}, {"record_shapes": True}, {"profile_memory": True}, {"with_flops": True}):
        both(lambda torch, options=options: body(torch, **options))

    with gradwright.autograd.profiler.profile() as prof:
        gradwright.ones(2)
    for kind, ours in (
        (torch.autograd.profiler_util.FunctionEvent(1, "a", 1, 0, 1), prof.function_events[0]),
        (torch.autograd.profiler_util.FunctionEventAvg(), prof.total_average()),
        (torch.autograd.profiler_util.EventList([]), prof.function_events),
        (torch.autograd.profiler.profile, prof),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = {name for name in dir(kind) if not name.startswith("_")}
            missing = {name for name in theirs if not hasattr(ours, name)}
        assert {name for name in missing if "cuda" not in name} <= NOT_HERE


# What is of devices, of other libraries' traces, and of Python functions as events.
NOT_HERE = {
    "activity_type",
    "config",
    "create_trace_id",
    "default_trace_id",
    "event_metadata",
    "external_id",
    "flow_id",
    "flow_start",
    "flow_type",
    "input_dtypes",
    "is_python_function",
    "linked_correlation_id",
    "metadata_json",
    "python_id",
    "python_module_id",
    "python_parent_id",
    "self_cpu_percent",
    "structured_input_shapes",
    "structured_input_strides",
    "toggle_collection_dynamic",
    "total_cpu_percent",
    "total_device_percent",
}


def test_errors() -> None:
    def body(torch: Any) -> Any:
        profiler = torch.autograd.profiler
        with profiler.profile() as prof:
            entered = error(prof.__enter__)
        averages = prof.key_averages()
        unique = profiler.EnforceUnique()
        unique.see("a", 1)
        emitter = profiler.emit_itt(enabled=False)
        with emitter as nothing, profiler.profile(enabled=False) as nobody:
            pass
        return [
            entered,
            error(prof.__enter__),
            error(lambda: prof.export_stacks("unused")),
            error(lambda: prof.function_events.export_stacks("unused", "beauty")),
            error(lambda: profiler.profile(use_cpu=False)),
            error(lambda: profiler.record_function("x").__exit__(None, None, None)),
            error(lambda: profiler.record_function(3).__enter__()),
            error(lambda: unique.see("a", 1)),
            error(averages.key_averages),
            error(lambda: profiler.load_nvprof("/nowhere/file")),
            nothing,
            nobody,
        ]

    assert both(body)[0] is RuntimeError


# -- lists of events, made by hand so that the times are the same


def events_of(torch: Any, rows: list[dict[str, Any]], **options: Any) -> Any:
    util = torch.autograd.profiler_util
    rows = [{"overload_name": "", "stack": [], "input_shapes": [], "flops": 0, **row} for row in rows]
    result = util.EventList([util.FunctionEvent(trace_name=row["name"], **row) for row in rows], **options)
    result._build_tree()
    return result


def row(id: int, name: str, start_us: float, end_us: float, thread: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "thread": thread, "start_us": start_us, "end_us": end_us, **more}


ROWS = [
    row(1, "outer", 0, 100, scope=7, is_user_annotation=True),
    row(2, "aten::linear", 10, 60, input_shapes=[[3, 4], [5, 4], []], cpu_memory_usage=2048),
    row(3, "aten::mm", 20, 50, input_shapes=[[3, 4], [5, 4]], cpu_memory_usage=3 << 20, flops=7200),
    row(4, "aten::sum", 70, 90, cpu_memory_usage=-5000),
    row(5, "aten::sum", 71, 89, input_shapes=[[3]]),
    row(6, "aten::x", 72, 80, overload_name="Tensor"),
    row(7, "aten::other", 10, 60000, thread=2, node_id=3),
    row(8, "a" * 70, 200, 3000000, flops=5 * 10**9),
    row(9, "async", 0, 10, is_async=True),
    row(10, "aten::mm", 3000000, 3000007.5, input_shapes=[[3, 4], [5, 4]]),
]
TABLES: list[dict[str, Any]] = [
    {},
    {"sort_by": "cpu_time_total", "row_limit": 3, "header": "Header"},
    {"sort_by": "count"},
    {"top_level_events_only": True, "row_limit": 2},
    {"max_name_column_width": 20, "max_shapes_column_width": 10},
    {"row_limit": 0},
    {"row_limit": -1, "time_unit": "ms"},
    {"time_unit": "s"},
    {"time_unit": "us", "sort_by": "self_cpu_memory_usage"},
]


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("options", [{}, {"profile_memory": True}, {"with_flops": True}], ids=str)
def test_tables(table: dict[str, Any], options: dict[str, Any]) -> None:
    both(lambda torch: events_of(torch, ROWS, **options).table(**table))
    for grouping in ({}, {"group_by_input_shapes": True}, {"group_by_overload_name": True}):
        both(lambda torch, grouping=grouping: events_of(torch, ROWS, **options).key_averages(**grouping).table(**table))


@pytest.mark.parametrize("width", [5, 9, 10, 11, 13, 75])
def test_tables_with_stacks(width: int) -> None:
    rows = [
        row(1, "f", 0, 10, stack=["abcdefghij", "b.py(4): g", "c"]),
        row(2, "g", 20, 30),
        row(3, "h", 30, 40, stack=["x"]),
    ]
    both(lambda torch: events_of(torch, rows).table(max_src_column_width=width))
    both(lambda torch: events_of(torch, rows).key_averages(group_by_stack_n=2).table(max_src_column_width=width))


@pytest.mark.parametrize("length", range(49, 58))
def test_long_names(length: int) -> None:
    both(lambda torch: str(events_of(torch, [row(1, "a" * length, 0, 1, overload_name="b" * length)])))


@pytest.mark.parametrize("flops", [[999], [1000], [10**15], [10**18, 1], [10**25], [0], [5 * 10**6, 3 * 10**9]])
def test_units_of_flops(flops: list[int]) -> None:
    rows = [row(i, "f", i, i + 1, flops=number) for i, number in enumerate(flops)]
    both(lambda torch: str(events_of(torch, rows, with_flops=True)))


@pytest.mark.parametrize("nbytes", [0, 1023, 1024, 1025, (1 << 20) - 1, 1 << 20, 1 << 30, 3 << 40, -5000])
@pytest.mark.parametrize("time", [0, 0.0004, 999.9999, 1000, 999999, 1e6, 5e9])
def test_units_of_times_and_memory(time: float, nbytes: int) -> None:
    both(lambda torch: str(events_of(torch, [row(1, "f", 0, time, cpu_memory_usage=nbytes)], profile_memory=True)))


@pytest.mark.parametrize("seed", range(30))
def test_nesting(seed: int) -> None:
    """Events that begin and end anywhere, so that some only overlap, and names that repeat."""
    chance = random.Random(seed)
    rows = []
    for id in range(40):
        start = chance.randrange(50)
        names = chance.choice("abc")
        rows.append(row(id, names, start, start + chance.randrange(1, 30), thread=chance.randrange(2)))

    def body(torch: Any) -> Any:
        events = events_of(torch, rows)
        return [
            (e.id, e.cpu_parent and e.cpu_parent.id, [c.id for c in e.cpu_children], e.self_cpu_time_total)
            for e in events
        ], [(a.key, a.count, a.cpu_time_total, a.self_cpu_time_total, a.cpu_time) for a in events.key_averages()]

    both(body)


def test_names_that_repeat_inside() -> None:
    rows = [row(id, "s", id, 20 - id) for id in range(4)] + [row(9, "t", 5, 7), row(10, "s", 8, 9)]
    both(lambda torch: [(e.id, [c.id for c in e.cpu_children]) for e in events_of(torch, rows)])


def test_files_of_lists(tmp_path: Path) -> None:
    rows = [
        row(1, "forward", 0, 10, sequence_nr=3, stack=["a.py(1): f", "b.py(2): g h;i"]),
        row(2, "Backward0", 20, 30, sequence_nr=3, thread=2, fwd_thread=1, scope=1),
        row(3, "aten::mul", 21, 22, thread=2),
        row(4, "free", 40, 40.5, thread=2, stack=["c"]),
    ]
    path = tmp_path / "file"

    def body(torch: Any) -> Any:
        events = events_of(torch, rows)
        events.export_stacks(str(path), "self_cpu_time_total")
        stacks = path.read_text()
        events.export_chrome_trace(str(path))
        return stacks, json.loads(path.read_text()), [event.stack for event in events]

    stacks, _, _ = both(body)
    assert stacks.count("\n") == 3


def test_totals() -> None:
    def body(torch: Any) -> Any:
        events = events_of(torch, ROWS)
        total = events.total_average()
        names = ("key", "count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage")
        strings = ("cpu_time_str", "cpu_time_total_str", "self_cpu_time_total_str")
        return events.self_cpu_time_total, [getattr(total, name) for name in (*names, *strings)]

    both(body)


def test_files_of_nvprof(tmp_path: Path) -> None:
    path = tmp_path / "n.prof"
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringTable VALUES (1, 'outer'), (2, 'aten::mul'), (3, 'a kernel');
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY, timestamp INT, id INT, name INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (timestamp, id, name)
            VALUES (3000, 8, 2), (1000, 7, 1), (9000, 8, 0), (20000, 7, 0);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
            (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, correlationId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, correlationId)
            VALUES (211, 3500, 4000, 77), (211, 10000, 11000, 78);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
            (_id_ INTEGER PRIMARY KEY, start INT, end INT, correlationId INT, name INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start, end, correlationId, name)
            VALUES (50000, 60000, 77, 3), (70000, 90000, 78, 3);
    """)
    connection.commit()
    connection.close()

    def body(torch: Any) -> Any:
        # PyTorch leaves nanoseconds where everything else has microseconds.
        unit = 1000 if torch is gradwright else 1
        return [
            (e.id, e.name, e.thread, e.node_id, e.time_range.start * unit, [k.duration * unit for k in e.kernels])
            for e in torch.autograd.profiler.load_nvprof(str(path))
        ]

    assert len(both(body)) == 2


# -- the modern names


@pytest.mark.parametrize(
    "plan",
    [
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
        {"wait": 0, "warmup": 1, "active": 3},
        {"wait": 3, "warmup": 2, "active": 1, "repeat": 1},
    ],
    ids=str,
)
def test_schedules(plan: dict[str, int]) -> None:
    def body(torch: Any) -> Any:
        action = torch.profiler.schedule(**plan)
        return [action(step).name for step in range(20)], error(lambda: action(-1))

    both(body)


def test_steps() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def ready(prof: Any) -> None:
            seen.append((prof.step_num, [e.name for e in prof.events() if e.name in ("ProfilerStep*", "aten::exp")]))

        x = torch.ones(2)
        plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
        with torch.profiler.profile(schedule=plan, on_trace_ready=ready) as prof:
            for _ in range(10):
                x.exp()
                prof.step()
        with torch.profiler.profile(on_trace_ready=ready):
            x.exp()
        with torch.profiler.profile(
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=9), on_trace_ready=ready
        ) as prof:
            for _ in range(3):
                x.exp()
                prof.step()
        return seen

    assert len(both(body)) == 4


def test_errors_of_the_modern_names() -> None:
    def body(torch: Any) -> Any:
        prof = torch.profiler.profile()
        plan = torch.profiler.schedule
        return [
            error(prof.events),
            error(prof.key_averages),
            error(lambda: prof.export_chrome_trace("unused")),
            error(lambda: plan(wait=-1, warmup=1, active=1)),
            error(lambda: plan(wait=1, warmup=1, active=0)),
            error(lambda: torch.profiler.profile(activities=[]).start()),
            sorted(activity.name for activity in torch.profiler.supported_activities()),
        ]

    both(body)
