"""Profiles: what they hold, how it nests, and the files and tables that are made of it."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gradwright
from generated import operators
from gradwright.autograd import profiler
from gradwright.autograd.profiler import EventList, FunctionEvent, profile, record_function
from gradwright.nn.parameter import Parameter
from gradwright.profiler import ProfilerAction, ProfilerActivity
from runtime.base import modes
from runtime.call.dispatch import Operator
from runtime.graph.node import peek_sequence_nr

EVALUATE = "autograd::engine::evaluate_function: "


@pytest.fixture(autouse=True)
def _modes_are_left() -> Iterator[None]:
    matmul: Any = operators.matmul_default_op
    plain, function = set(modes.plain), matmul.composite
    assert Parameter in plain  # its module is loaded, so no test adds its classes
    yield
    assert modes.plain == plain
    assert matmul.composite is function
    assert modes.thread_handlers.calls == modes.thread_handlers.nodes == modes.thread_handlers.recorded == ()


def names(events: Any) -> list[str]:
    return [event.name for event in events]


def find(prof: profile, name: str) -> FunctionEvent:
    (event,) = [event for event in prof.function_events if event.name == name]
    return event


def tree(events: Any) -> Any:
    """Names, each with what is directly inside."""
    return [(event.name, tree(event.cpu_children)) for event in events]


def top(prof: profile) -> Any:
    return tree([event for event in prof.function_events if event.cpu_parent is None])


def test_composite_operators_contain_their_parts() -> None:
    x, w = gradwright.ones(3, 4), gradwright.ones(5, 4)
    with profile() as prof:
        gradwright.nn.functional.linear(x, w).relu()
    assert top(prof) == [
        ("aten::linear", [("aten::t", []), ("aten::matmul", [("aten::mm", [])])]),
        ("aten::relu", []),
    ]
    for event in prof.function_events:
        for child in event.cpu_children:
            assert child.cpu_parent is event
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
    assert [event.id for event in prof.function_events] == [1, 2, 3, 4, 5]


def test_variants_have_the_names_of_their_operators() -> None:
    x = gradwright.ones(3)
    with profile() as prof:
        x.add_(1).relu_()
        x.copy_(x)
        x[0] = 2
        gradwright.exp(x, out=x)
    assert top(prof) == [
        ("aten::add_", []),
        ("aten::relu_", []),
        ("aten::copy_", []),
        ("aten::select", []),
        ("aten::copy_", []),
        ("aten::exp", []),
    ]


def test_nodes_are_inside_of_their_evaluation() -> None:
    x = gradwright.ones(2, requires_grad=True)
    with profile() as prof:
        y = (x * x).exp()
        y.sum().backward()
    assert top(prof) == [
        ("aten::mul", []),
        ("aten::exp", []),
        ("aten::sum", []),
        (EVALUATE + "SumBackward0", [("SumBackward0", [("aten::expand", [])])]),
        (EVALUATE + "ExpBackward0", [("ExpBackward0", [("aten::mul", [])])]),
        (EVALUATE + "MulBackward0", [("MulBackward0", [("aten::mul", []), ("aten::mul", [])])]),
        ("aten::add", []),
        (EVALUATE + "torch::autograd::AccumulateGrad", [("torch::autograd::AccumulateGrad", [])]),
    ]
    assert x.grad.tolist() == (2 * x * y).tolist()


def test_sequence_numbers_tie_operators_to_nodes() -> None:
    x, w = gradwright.ones(3, 4, requires_grad=True), gradwright.ones(5, 4)
    with profile() as prof:
        y = gradwright.nn.functional.linear(x, w)
        node = y.grad_fn
        with gradwright.no_grad():
            y.exp()
        y.sum().backward()
    number = node.sequence_nr
    by_name = {event.name: event for event in prof.function_events if event.sequence_nr == number}
    assert set(by_name) == {"aten::linear", "aten::matmul", "aten::mm", EVALUATE + "MmBackward0", "MmBackward0"}
    assert find(prof, "aten::exp").sequence_nr == -1
    assert by_name["aten::mm"].fwd_thread == 0
    assert by_name["MmBackward0"].fwd_thread == by_name["aten::mm"].thread
    assert (by_name["MmBackward0"].scope, by_name["aten::mm"].scope) == (1, 0)
    assert find(prof, "torch::autograd::AccumulateGrad").sequence_nr == -1


def test_nodes_of_an_earlier_recording_have_no_known_thread() -> None:
    x = gradwright.ones(3, requires_grad=True)
    y = x.exp().sum()
    with profile() as prof:
        y.backward()
    assert find(prof, "ExpBackward0").fwd_thread == 0
    assert find(prof, "ExpBackward0").sequence_nr == y.grad_fn.next_functions[0][0].sequence_nr


def test_backward_for_inputs_shows_what_runs() -> None:
    x = gradwright.ones(3, requires_grad=True)
    y = x.exp()
    z = y.sin().sum()
    with profile() as prof:
        gradwright.autograd.grad(z, y, retain_graph=True)
        gradwright.autograd.grad(z, x)
    shown = [name for name in names(prof.function_events) if name.endswith("Backward0") and EVALUATE not in name]
    assert shown == ["SumBackward0", "SinBackward0", "SumBackward0", "SinBackward0", "ExpBackward0"]
    assert "torch::autograd::AccumulateGrad" not in names(prof.function_events)


def test_create_graph_gives_operators_of_the_backward_numbers() -> None:
    x = gradwright.ones(3, requires_grad=True)
    with profile() as prof:
        gradwright.autograd.grad((x * x * x).sum(), x, create_graph=True)
    recorded = [event.sequence_nr for event in prof.function_events if event.cpu_parent and event.name == "aten::mul"]
    assert recorded
    assert all(number > 0 for number in recorded)
    assert len(set(recorded)) == len(recorded)


def test_hooks_and_multi_output_nodes() -> None:
    x = gradwright.ones(2, 3, requires_grad=True)
    with profile(record_shapes=True) as prof:
        a, b = x.unbind()
        a.register_hook(lambda grad: grad.tan())
        (a + b).sum().backward()
    assert find(prof, "UnbindBackward0").input_shapes == [[3], [3]]
    assert find(prof, "aten::tan").cpu_parent is find(prof, "UnbindBackward0")


def test_a_profile_does_not_change_where_gradients_are_kept() -> None:
    x = gradwright.ones(3, requires_grad=True)
    x.sum().backward()
    kept = x.grad
    with profile() as prof:
        (x * 2.0).sum().backward()
    assert x.grad is kept
    assert kept.tolist() == [3.0, 3.0, 3.0]
    accumulate = find(prof, "torch::autograd::AccumulateGrad")
    assert names(accumulate.cpu_children) == ["aten::add_"]


def test_named_blocks() -> None:
    @record_function("double")
    def double(x: Any) -> Any:
        """Twice."""
        return x * 2

    x = gradwright.ones(2)
    with profile() as prof:
        with record_function("outer"):
            double(x)
            double(x)
        with pytest.raises(ValueError, match="no"), record_function("fails"):
            raise ValueError("no")
        block = record_function("again")
        with block, block:
            x.exp()
            x.sin()
    assert (double.__name__, double.__doc__) == ("double", "Twice.")
    assert top(prof) == [
        ("outer", [("double", [("aten::mul", [])])] * 2),
        ("fails", []),
        ("again", [("aten::exp", []), ("aten::sin", [])]),
    ]
    assert {event.scope for event in prof.function_events if event.is_user_annotation} == {7}
    with record_function("nobody"):
        pass


def test_blocks_need_not_begin_and_end_with_the_profile() -> None:
    early, late = record_function("early"), record_function("late")
    first, second = record_function("first"), record_function("second")
    early.__enter__()
    with profile() as prof:
        early.__exit__(None, None, None)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        gradwright.ones(2)
        second.__exit__(None, None, None)
        late.__enter__()
    late.__exit__(None, None, None)
    assert names(prof.function_events) == ["first", "second", "aten::ones", "late"]
    assert find(prof, "aten::ones").cpu_parent is find(prof, "second")


def test_shapes_values_and_flops() -> None:
    x, y = gradwright.ones(3, 4), gradwright.ones(4, 5)
    with profile(with_flops=True) as prof:
        gradwright.mm(x, y)
        gradwright.cat([x, x], 1)
        gradwright.add(x, x, alpha=2, out=x)
    assert find(prof, "aten::mm").input_shapes == [[3, 4], [4, 5]]
    assert find(prof, "aten::mm").flops == 2 * 3 * 4 * 5
    assert find(prof, "aten::cat").input_shapes == [[], []]
    assert find(prof, "aten::cat").concrete_inputs == [None, 1]
    assert find(prof, "aten::add").input_shapes == [[3, 4], [3, 4], [], [3, 4]]
    assert "Total FLOPs" in prof.table()
    averages = prof.key_averages(group_by_input_shape=True)
    assert [average.input_shapes for average in averages if average.key == "aten::mm"] == [[[3, 4], [4, 5]]]


def test_memory_is_that_of_results() -> None:
    x = gradwright.ones(10)
    with profile(profile_memory=True) as prof:
        y = x.exp()  # 40 bytes
        x.view(2, 5)
        x.mul_(2)
        gradwright.nn.functional.linear(gradwright.ones(3, 4), gradwright.ones(5, 4))  # 60 bytes, freed at once
        with record_function("block"):
            z = y * 2
            del y
    memory = {event.name: event.cpu_memory_usage for event in prof.function_events if event.name != "[memory]"}
    own = {event.name: event.self_cpu_memory_usage for event in prof.function_events}
    assert memory["aten::exp"] == 40
    assert memory["aten::view"] == memory["aten::mul_"] == memory["aten::t"] == 0
    assert (memory["aten::linear"], own["aten::linear"]) == (60, 0)
    assert (memory["aten::mm"], own["aten::mm"]) == (60, 60)
    assert (memory["block"], own["block"]) == (0, -40)
    freed = [event.cpu_memory_usage for event in prof.function_events if event.name == "[memory]"]
    assert sorted(freed) == [-80, -60, -48]
    assert prof.total_average().self_cpu_memory_usage == z._array.nbytes
    assert "Self CPU Mem" in prof.table()


def test_stacks(tmp_path: Path) -> None:
    def called(x: Any) -> Any:
        return x.exp()

    x = gradwright.ones(3, requires_grad=True)
    with profile(with_stack=True) as prof:
        y = called(x)
        y.sum().backward()
    stack = find(prof, "aten::exp").stack
    assert "test_profiler.py(" in stack[0]
    assert [entry.rpartition(": ")[2] for entry in stack[:2]] == ["called", "test_stacks"]
    # What runs for an operator in the backward is shown where the operator was called.
    assert find(prof, "ExpBackward0").stack == find(prof, "aten::mul").stack == stack
    assert {
        tuple(average.stack) for average in prof.key_averages(group_by_stack_n=1) if average.key == "aten::exp"
    } == {(stack[0],)}
    assert "Source Location" in prof.table()

    file = tmp_path / "stacks"
    prof.export_stacks(file)
    lines = file.read_text().splitlines()
    assert any(line.rpartition(" ")[0].endswith(":_test_stacks;" + stack[0].replace(" ", "_")) for line in lines)
    assert all(int(line.rpartition(" ")[2]) > 0 for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(file, "cpu_time")


def test_using_a_profile_at_the_wrong_time() -> None:
    prof = profile()
    with prof:
        for use in (prof.table, prof.key_averages, prof.total_average, lambda: prof.function_events):
            with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
                use()
        with pytest.raises(RuntimeError, match="not reentrant"):
            prof.__enter__()
        assert "unfinished" in str(prof)
        assert "unfinished" in repr(prof)
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        prof.export_stacks("unused")
    assert str(prof) == ""
    with pytest.raises(AssertionError, match="Expected record to be set"):
        record_function("x").__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="str"), record_function(3):  # type: ignore[arg-type]
        pass


def test_options_without_a_meaning_here() -> None:
    with pytest.raises(AssertionError):
        profile(use_cpu=False)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        profile(use_device="cuda")
    with pytest.warns(UserWarning, match="abacus is not a valid device"):
        profile(use_device="abacus")
    with profile(enabled=False) as nothing:
        gradwright.ones(2)
    assert nothing is None


def test_exceptions_leave_everything_as_it_was() -> None:
    x = gradwright.ones(2, requires_grad=True)

    def fail(grad: Any) -> Any:
        raise NotImplementedError

    y = x.exp()
    y.register_hook(fail)
    with pytest.raises(NotImplementedError), profile() as prof:
        y.sum().backward()
    assert names(prof.function_events)[-2:] == [EVALUATE + "ExpBackward0", "ExpBackward0"]
    with pytest.raises(RuntimeError, match="size of tensor"), profile() as prof:
        x + gradwright.ones(3)
    gradwright.zeros(2)
    assert names(prof.function_events) == ["aten::ones", "aten::add"]


def test_a_profile_is_of_one_thread() -> None:
    ready = threading.Barrier(2)
    found: dict[str, list[str]] = {}

    def work(name: str) -> None:
        with profile() as prof:
            ready.wait()
            getattr(gradwright, name)(gradwright.ones(2))
            ready.wait()
        found[name] = names(prof.function_events)
        threads[name] = {event.thread for event in prof.function_events}

    threads: dict[str, set[int]] = {}
    with profile() as outside:
        workers = [threading.Thread(target=work, args=(name,)) for name in ("exp", "sin")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert found == {"exp": ["aten::ones", "aten::exp"], "sin": ["aten::ones", "aten::sin"]}
    assert names(outside.function_events) == []
    assert len(threads["exp"] | threads["sin"]) == 2


def test_profiles_may_be_inside_of_profiles() -> None:
    x = gradwright.ones(2)
    with profile() as outer:
        x.exp()
        with profile() as inner:
            x.sin()
        x.cos()
    assert names(inner.function_events) == ["aten::sin"]
    assert names(outer.function_events) == ["aten::exp", "aten::sin", "aten::cos"]


def test_overload_names_are_kept_on_request() -> None:
    config = gradwright.profiler._ExperimentalConfig(capture_overload_names=True)
    x = gradwright.ones(2)
    with profile(experimental_config=config) as prof:
        x * 2
        x * x
    averages = prof.key_averages(group_by_overload_name=True)
    assert {(average.key, average.overload_name) for average in averages} == {
        ("aten::mul", "Scalar"),
        ("aten::mul", "Tensor"),
    }
    assert "Overload Name" in averages.table()
    assert len(prof.key_averages()) == 1


# -- lists, sums and tables


def event(id: int, name: str, start: float, end: float, **more: Any) -> FunctionEvent:
    return FunctionEvent(id, name, more.pop("thread", 1), start, end, **more)


def built(*events: FunctionEvent, **options: Any) -> EventList:
    result = EventList(list(events), **options)
    result._build_tree()
    return result


def test_table_text() -> None:
    events = built(
        event(1, "block", 0, 100, is_user_annotation=True, scope=7),
        event(2, "aten::mm", 10, 60, input_shapes=[[3, 4], [4, 5]], cpu_memory_usage=2048),
        event(3, "aten::mm", 2000, 4000, input_shapes=[[3, 4], [4, 5]], cpu_memory_usage=60),
        profile_memory=True,
    )
    rule = "------------  " * 9
    assert events.key_averages().table(sort_by="count", header="Two products").splitlines() == [
        "=" * (len(rule) - 2),
        "Two products",
        rule,
        "        Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg       CPU Mem  "
        "Self CPU Mem    # of Calls  ",
        rule,
        "    aten::mm        97.62%       2.050ms        97.62%       2.050ms       1.025ms       2.06 KB  "
        "     2.06 KB             2  ",
        "       block         2.38%      50.000us         4.76%     100.000us     100.000us           0 B  "
        "    -2.00 KB             1  ",
        rule,
        "Self CPU time total: 2.100ms",
    ]
    assert events.table(row_limit=1).count("\n") == 6
    assert events.table(top_level_events_only=True).count("aten::mm") == 1
    assert EventList([]).table() == ""


def test_flops_and_sources_stand_under_their_titles() -> None:
    table = built(event(1, "f", 0, 1, flops=2000, stack=["a.py(1): f", "b.py(2): g"]), with_flops=True).table()
    title, _, first, second, last = table.splitlines()[1:6]
    assert title.index("Total KFLOPs") + len("Total KFLOPs") == first.index("2.000") + len("2.000")
    assert title.index("Source Location") == first.index("a.py(1): f") == second.index("b.py(2): g")
    assert not last.strip()


def test_sums_refuse_what_does_not_fit() -> None:
    one, other = event(1, "a", 0, 1), event(2, "b", 0, 1)
    average = profiler.FunctionEventAvg().add(one)
    average += event(3, "a", 2, 5)
    assert (average.count, average.cpu_time_total, average.cpu_time) == (2, 4, 2)
    with pytest.raises(AssertionError, match="Expected keys to match, but got b vs a"):
        average.add(other)
    with pytest.raises(AssertionError):
        average.add(3)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="tree"):
        EventList([one]).key_averages()
    with pytest.raises(AssertionError):
        one.set_cpu_parent(3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        built(one).table(sort_by="beauty")


def test_trace_for_chrome(tmp_path: Path) -> None:
    x = gradwright.ones(3, requires_grad=True)
    with profile(record_shapes=True, profile_memory=True) as prof, record_function("block"):
        x.exp().sum().backward()
    for name in ("trace.json", "trace.json.gz"):
        path = tmp_path / name
        prof.export_chrome_trace(path, metadata={"note": "x"})
        data = path.read_bytes()
        trace = json.loads(gzip.decompress(data) if name.endswith(".gz") else data)
        assert trace["note"] == "x"
        assert trace["record_shapes"] == 1
        entries = trace["traceEvents"]
        assert {entry["ph"] for entry in entries} <= {"M", "X", "i", "s", "f"}
        for entry in entries:
            assert {"name", "ph", "pid", "tid", "ts"} <= entry.keys()
            assert entry["ph"] != "X" or entry["dur"] >= 0
        spans = [entry for entry in entries if entry["ph"] == "X"]
        assert Counter(entry["name"] for entry in spans) == Counter(
            event.name for event in prof.function_events if event.name != "[memory]"
        )
        assert [entry["cat"] for entry in spans if entry["name"] == "block"] == ["user_annotation"]
        (exp,) = [entry for entry in spans if entry["name"] == "aten::exp"]
        assert exp["args"]["Input Dims"] == [[3]]
        arrows = {entry["id"]: {} for entry in entries if entry["ph"] == "s"}
        for entry in entries:
            if entry["ph"] in "sf":
                arrows[entry["id"]][entry["ph"]] = entry["ts"]
        assert len(arrows) == 2  # of exp and of sum
        assert all(arrow["s"] < arrow["f"] for arrow in arrows.values())
    path = tmp_path / "list.json"
    prof.function_events.export_chrome_trace(path)
    assert [entry["name"] for entry in json.loads(path.read_text())] == names(prof.function_events)


# -- other tools


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the stand-ins for `nvtx` and `ittapi` were told."""
    told: list[str] = []
    nvtx, itt = ModuleType("nvtx"), ModuleType("ittapi")
    nvtx.push_range = told.append  # type: ignore[attr-defined]
    nvtx.pop_range = lambda: told.append("end")  # type: ignore[attr-defined]
    itt.domain = lambda name: ("domain", name)  # type: ignore[attr-defined]
    itt.string_handle = lambda name: [name]  # type: ignore[attr-defined]
    itt.task_begin = lambda domain, name: told.append(name[0])  # type: ignore[attr-defined]
    itt.task_end = lambda domain: told.append("end")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nvtx", nvtx)
    monkeypatch.setitem(sys.modules, "ittapi", itt)
    return told


@pytest.mark.parametrize("emit", [profiler.emit_nvtx, profiler.emit_itt])
def test_ranges_of_other_tools(emit: Any, ranges: list[str]) -> None:
    x = gradwright.ones(2, 3, requires_grad=True)
    with emit(record_shapes=True), record_function("block"):
        number = peek_sequence_nr()
        y = x.exp()
        assert y.grad_fn.sequence_nr == number
        with gradwright.no_grad():
            x.sin()
        y.backward(gradwright.ones_like(x))
    accumulate = EVALUATE + "torch::autograd::AccumulateGrad"
    assert [line for line in ranges if "ones_like" not in line] == [
        "block",
        f"aten::exp, seq = {number}, sizes = [[2, 3]]",
        "end",
        "aten::sin, sizes = [[2, 3]]",
        "end",
        "end",  # of ones_like
        f"{EVALUATE}ExpBackward0, stashed seq = {number}",
        f"ExpBackward0, stashed seq = {number}, sizes = [[2, 3]]",
        "aten::mul, sizes = [[2, 3], [2, 3]]",
        "end",
        "end",
        "end",
        accumulate,
        "torch::autograd::AccumulateGrad, sizes = [[2, 3]]",
        "end",
        "end",
        "end",
    ]
    ranges.clear()
    with emit():
        x.exp()
    assert ranges == [f"aten::exp, seq = {peek_sequence_nr() - 1}", "end"]
    ranges.clear()
    with emit(enabled=False) as nothing:
        x.exp()
    assert nothing is None
    assert ranges == []


@pytest.mark.parametrize("emit", [profiler.emit_nvtx, profiler.emit_itt])
def test_ranges_end_with_exceptions_and_begin_once(emit: Any, ranges: list[str]) -> None:
    emitter = emit()
    with pytest.raises(RuntimeError, match="size of tensor"), emitter:  # noqa: PT012
        with pytest.raises(RuntimeError, match="not reentrant"):
            emitter.__enter__()
        gradwright.ones(2) + gradwright.ones(3)
    assert ranges.count("end") * 2 == len(ranges)


@pytest.mark.parametrize(
    ("emit", "package", "extra"),
    [(profiler.emit_nvtx, "nvtx", "nvtx"), (profiler.emit_itt, "ittapi", "itt")],
)
def test_the_package_of_the_tool_is_missing(
    emit: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"'{package}'.*\[{extra}\]"), emit():
        pass


def nvprof_file(path: Path, markers: list[Any], launches: list[Any], kernels: list[Any]) -> Path:
    """A file with the tables of nvprof: times in nanoseconds."""
    strings = [(1, "outer"), (2, "aten::mul"), (3, "mul_kernel"), (4, "add_kernel")]
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER
            (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
            (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, threadId INT, correlationId INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
            (_id_ INTEGER PRIMARY KEY, start INT, end INT, deviceId INT, correlationId INT, name INT);
    """)
    connection.executemany("INSERT INTO StringTable VALUES (?, ?)", strings)
    connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (timestamp, id, name) VALUES (?, ?, ?)", markers)
    connection.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, correlationId) VALUES (?, ?, ?, ?)", launches
    )
    connection.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start, end, correlationId, name) VALUES (?, ?, ?, ?)",
        kernels,
    )
    connection.commit()
    connection.close()
    return path


MARKERS = [(3000, 8, 2), (1000, 7, 1), (9000, 8, 0), (20000, 7, 0)]


def test_files_of_nvprof(tmp_path: Path) -> None:
    path = nvprof_file(
        tmp_path / "n.prof",
        MARKERS,
        [(211, 3500, 4000, 77), (211, 10000, 11000, 78), (211, 30000, 31000, 79)],
        [(50000, 60000, 77, 3), (70000, 90000, 78, 4), (90000, 91000, 79, 4)],
    )
    outer, inner = profiler.load_nvprof(path)
    assert [(e.id, e.name, e.time_range.start, e.time_range.end) for e in (outer, inner)] == [
        (7, "outer", 1.0, 20.0),
        (8, "aten::mul", 3.0, 9.0),
    ]
    assert inner.cpu_parent is outer
    assert inner.kernels == [("mul_kernel", 0, 10.0)]
    assert outer.kernels == [("mul_kernel", 0, 10.0), ("add_kernel", 0, 20.0)]
    assert [average.key for average in profiler.load_nvprof(path).key_averages()] == ["outer", "aten::mul"]


def test_files_that_are_not_what_nvprof_writes(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        profiler.load_nvprof(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    (tmp_path / "text").write_text("words" * 500)
    with pytest.raises(sqlite3.DatabaseError):
        profiler.load_nvprof(tmp_path / "text")
    with pytest.raises(AssertionError, match="Expected cbid to be 211, but got 13"):
        profiler.load_nvprof(nvprof_file(tmp_path / "other", MARKERS, [(13, 3500, 4000, 77)], [(50000, 60000, 77, 3)]))
    with pytest.raises(RuntimeError, match=r"duplicate key: \(7,\)"):
        profiler.load_nvprof(nvprof_file(tmp_path / "twice", [*MARKERS, (1, 7, 1)], [], []))


# -- gradwright.profiler


def steps_of(prof: gradwright.profiler.profile) -> list[str]:
    return [event.trace_name for event in prof.events() if event.is_user_annotation]


def test_a_profile_in_steps(tmp_path: Path) -> None:
    seen: list[tuple[int, list[str]]] = []
    plan = gradwright.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    assert [plan(step).name for step in range(5)] == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
    x = gradwright.ones(2)
    with gradwright.profiler.profile(
        activities=[ProfilerActivity.CPU],
        schedule=plan,
        on_trace_ready=lambda prof: seen.append((prof.step_num, steps_of(prof))),
    ) as prof:
        for _ in range(10):
            x.exp()
            prof.step()
    assert seen == [
        (4, ["ProfilerStep#2", "ProfilerStep#3"]),
        (8, ["ProfilerStep#6", "ProfilerStep#7"]),
    ]
    assert prof.current_action is ProfilerAction.NONE
    counts = {average.key: average.count for average in prof.key_averages()}
    assert counts == {"ProfilerStep*": 2, "aten::exp": 2}


def test_all_cycles_together() -> None:
    with gradwright.profiler.profile(
        schedule=gradwright.profiler.schedule(wait=0, warmup=1, active=1), acc_events=True
    ) as prof:
        for _ in range(6):
            gradwright.ones(2)
            prof.step()
    assert steps_of(prof) == ["ProfilerStep#1", "ProfilerStep#3", "ProfilerStep#5"]
    assert {average.key: average.count for average in prof.key_averages()}["aten::ones"] == 3


def test_a_profile_without_steps(tmp_path: Path) -> None:
    x = gradwright.ones(2)
    write = gradwright.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "worker", use_gzip=True)
    with gradwright.profiler.profile(on_trace_ready=write, custom_trace_id_callback=lambda: "me") as prof:
        prof.add_metadata("note", "text")
        prof.add_metadata_json("numbers", "[1, 2]")
        x.exp()
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("worker.")
    assert file.name.endswith(".pt.trace.json.gz")
    trace = json.loads(gzip.decompress(file.read_bytes()))
    assert (trace["note"], trace["numbers"], trace["trace_id"]) == ("text", [1, 2], "me")
    assert names(prof.events()) == ["aten::exp"]
    assert prof.get_trace_id() == "me"


def test_mistakes_with_steps() -> None:
    prof = gradwright.profiler.profile()
    for use in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace("unused")):
        with pytest.raises(AssertionError, match="must be initialized"):
            use()
    with pytest.raises(AssertionError, match="activities"):
        gradwright.profiler.profile(activities=[])
    with pytest.raises(AssertionError, match="active=0"):
        gradwright.profiler.schedule(wait=1, warmup=1, active=0)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        gradwright.profiler.schedule(wait=1, warmup=0, active=1)
    plan = [ProfilerAction.RECORD, ProfilerAction.NONE]
    with (
        pytest.warns(UserWarning, match="RECORD followed by NONE"),
        gradwright.profiler.profile(schedule=lambda step: plan[step % 2]) as prof,
    ):
        prof.step()


def test_handlers_of_nodes() -> None:
    seen: list[Any] = []

    def handler(label: str) -> modes.NodeHandler:
        def handle(node: Any, proceed: Any) -> Any:
            seen.append(f"{label} {node.name()}")
            results = proceed()
            seen.append([None if result is None else result.tolist() for result in results])
            return results

        return handle

    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    c = gradwright.tensor([3.0, 4.0])
    with modes.handle_nodes(handler("old")), modes.handle_nodes(handler("new")):
        (x * c).backward(gradwright.ones(2))
        gradwright.autograd.grad(x * c, x, gradwright.ones(2))
    products = ["new MulBackward0", "old MulBackward0", [[3.0, 4.0], None], [[3.0, 4.0], None]]
    assert seen == [*products, "new AccumulateGrad", "old AccumulateGrad", [], [], *products]
    (x * c).backward(gradwright.ones(2))
    assert len(seen) == 12
    assert x.grad.tolist() == [6.0, 8.0]


def test_a_handler_may_change_what_a_node_gives() -> None:
    def zero(node: Any, proceed: Any) -> Any:
        return [None if result is None else result * 0 for result in proceed()]

    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    with modes.handle_nodes(zero):
        x.exp().backward(gradwright.ones(2))
    assert x.grad.tolist() == [0.0, 0.0]


def test_handlers_see_composite_operators_in_this_thread_only() -> None:
    x, w = gradwright.ones(3, 4), gradwright.ones(5, 4)
    seen: list[str] = []

    def handle(operator: Operator, variant: Any, values: Any, proceed: Any) -> Any:
        seen.append(operator.name)
        return proceed(values)

    with modes.handle_calls(handle):
        thread = threading.Thread(target=lambda: gradwright.nn.functional.linear(x, w))
        thread.start()
        thread.join()
        assert seen == []
        gradwright.matmul(x, w.t())
        with pytest.raises(RuntimeError, match="3x4"):
            gradwright.matmul(x, x)
    assert seen == ["t", "matmul", "mm", "matmul", "mm"]
