"""The arithmetic of the benchmark, on times that are made up; and that the operators that stand for others run."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gradwright
from bench.__main__ import mean_row
from bench.budget import NATIVE_TARGET, PYTHON_TARGET, budget_of
from bench.functions import FUNCTIONS
from bench.inputs import below, normal
from bench.known import KNOWN, UNKNOWN, by_reason, reason_of
from bench.machines import (
    NETWORKS,
    TRAININGS,
    Network,
    Training,
    allreduce,
    doubling,
    fixed_batch,
    halving,
    last_worth_it,
    ring,
    step,
    table,
)
from bench.measure import Bytes, Measurement, compare, interleave
from bench.operators import CASES, FAMILIES, Case, operator
from bench.processes import process
from bench.report import Failure, Row, cells, distance_text, over_budget, print_json, print_report, seconds_text
from bench.workloads import BESIDE, SMOKE, WHOLE, workloads
from support.documents import ROOT

WAYS = ("forward", "backward")


def side(name: str, times: list[float], log: list[str]) -> Callable[[], dict[str, float]]:
    remaining = iter(times)

    def run() -> dict[str, float]:
        log.append(name)
        return {"row": next(remaining)}

    return run


def test_rounds_are_interleaved_in_alternating_order() -> None:
    log: list[str] = []
    interleave([side("A", [1.0] * 3, log), side("B", [1.0] * 3, log)], 3)
    assert log == ["A", "B", "B", "A", "A", "B"]


def test_the_ratio_is_the_median_of_the_ratios_of_the_rounds() -> None:
    # The second round met a machine ten times as slow: both sides did, so its ratio is as good as the others'.
    subject, reference = side("A", [1.0, 20.0, 3.0], []), side("B", [2.0, 10.0, 2.0], [])
    (measurement,) = compare(subject, reference, 3, warm_up=False)
    assert measurement == Measurement("row", 3.0, 2.0, 1.5, 3)


def test_without_a_reference_times_are_absolute() -> None:
    (measurement,) = compare(side("A", [9.0, 1.0, 2.0, 3.0], []), None, 3)
    assert measurement == Measurement("row", 2.0, None, None, 3)


def test_memory_has_rows_of_its_own() -> None:
    def used(seconds: float, count: float) -> Callable[[], dict[str, float]]:
        return lambda: {"row": seconds, "row: peak memory": Bytes(count)}

    time, memory = compare(used(1.0, 3 * 2**20), used(2.0, 2 * 2**20), 1)
    assert (time.unit, memory.unit) == ("s", "B")
    assert cells(Row("codegen", memory, None))[:4] == ("row: peak memory", "3 MiB", "2 MiB", "1.50x")


def test_a_process_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import array; numbers = array.array('b', bytes(200 << 20)); print('done')"]
    measured = process("row", command, tmp_path / "out")()
    assert measured["row"] > 0
    assert 200 < measured["row: peak memory"] / 2**20 < 600


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such luck"):
        process("row", [sys.executable, "-c", "raise SystemExit('no such luck')"], tmp_path / "out")()


def test_mean_row() -> None:
    rows = [Measurement("forward: add", 1.0, 2.0, 0.5, 3), Measurement("forward: mul", 3.0, 2.0, 1.5, 3)]
    assert mean_row(rows) == Measurement("forward: mean", 2.0, 2.0, 1.0, 3)


def test_distance_to_the_budget() -> None:
    row = Row("backward", Measurement("row", 1.0, 2.0, 0.5, 3), PYTHON_TARGET["backward"])
    assert distance_text(row.distance) == "0.10 to spare"
    assert distance_text(0.25) == "0.25 over"
    assert Row("forward", row.measurement, None).distance is None


def test_sums_of_many_machines_on_paper() -> None:
    network = Network("", 1.0, 8.0)
    assert [way(4, 64.0, network) for way in (ring, doubling, halving)] == [2 * 3 * 3.0, 2 * 9.0, 4 + 2 * 0.75 * 8]
    training = Training("", 1.0, 2.0, 8.0, bucket=4.0, hidden=0.5, handling=0.0)
    assert step(1, training, network, 1.0) == 3.0
    # Two buckets of 1.5 s on two machines: one of them is hidden by half of the backward pass, but for 0.5 s.
    assert allreduce(2, 4.0, network) == 1.5
    assert step(2, training, network, 1.0) == 3.0 + 2.0
    assert step(2, training, network, 0.5) == 1.5 + 2.5
    free = Network("", 0.0, 1e12)
    assert fixed_batch(64, training, free) == pytest.approx(64)
    assert last_worth_it(Training("", 1.0, 2.0, 1e12, handling=0.0), free) == 2


def test_the_page_has_the_table_of_many_machines() -> None:
    page = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    assert "\n".join(table(TRAININGS, NETWORKS)) in page


def test_seconds() -> None:
    assert [seconds_text(s) for s in (2.5, 0.0025, 2.5e-6, 2.5e-8, None)] == ["2.5 s", "2.5 ms", "2.5 us", "25 ns", ""]


def test_reports() -> None:
    rows = [Row("backward", Measurement("mul", 1e-6, 2e-6, 0.5, 3), 0.6)]
    failures = [Failure("block", "RuntimeError: no")]
    with redirect_stdout(io.StringIO()) as text:
        print_report(rows, failures, ("gradwright", "torch"), {"threads": 1}, {"processes": "no MPI"})
    assert text.getvalue().splitlines() == [
        "threads 1",
        "work  gradwright  torch  ratio  budget       distance",
        "mul         1 us   2 us  0.50x   0.60x  0.10 to spare",
        "skipped: processes: no MPI",
        "failed: block: RuntimeError: no",
    ]
    with redirect_stdout(io.StringIO()) as text:
        print_json(rows, failures, {"threads": 1}, {"processes": "no MPI"})
    report = json.loads(text.getvalue())
    assert report["rows"][0]["ratio"] == 0.5
    assert report["failures"] == [{"group": "block", "message": "RuntimeError: no"}]
    assert report["skipped"] == {"processes": "no MPI"}


def test_the_budget_is_that_of_what_runs() -> None:
    def library(core: bool) -> Any:
        return SimpleNamespace(native=SimpleNamespace(is_available=lambda: core))

    assert budget_of(library(True)) is NATIVE_TARGET
    assert budget_of(library(False)) is PYTHON_TARGET
    assert budget_of(SimpleNamespace()) is PYTHON_TARGET


def test_the_representatives_of_operators_are_named_once() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    families = [case.family for case in CASES]
    assert [family for family, _ in itertools.groupby(families)] == list(FAMILIES)


def test_each_family_of_operators_has_a_budget() -> None:
    for scale, groups in (
        (WHOLE, {"operators, small", *(f"operators, large: {family}" for family in FAMILIES)}),
        (SMOKE, {"operators, small"}),
    ):
        measured = {w.group for w in workloads(Path(), scale) if w.group.startswith("operators")}
        assert measured == groups
        assert all(NATIVE_TARGET[group] for group in groups)
    assert NATIVE_TARGET["operators, large: convolution"] == 2.0
    assert NATIVE_TARGET["operators, large: linear algebra"] == 1.3
    assert NATIVE_TARGET["operators, large: pooling"] == 1.5


def test_an_operator_is_measured_forward_and_backward_where_it_has_a_gradient() -> None:
    calls = []

    def call(library: Any, x: Any, index: Any) -> Any:
        calls.append((x.requires_grad, index.requires_grad))
        return x.gather(0, index)

    case = Case("family", "gather", call, [normal(4), below(4, 2)], [normal(8), below(8, 2)])
    rows = operator(case, gradwright, "large", 0)()
    assert list(rows) == ["gather, large: forward", "gather, large: backward"]
    assert all(seconds > 0 for seconds in rows.values())
    assert set(calls) == {(True, False)}
    count = Case("family", "numel", lambda library, x: x.detach() + 1, [normal(4)], [normal(4)])
    assert list(operator(count, gradwright, "small", 0)()) == ["numel, small: forward"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_representatives_of_operators_run(case: Case) -> None:
    assert f"{case.name}, small: forward" in operator(case, gradwright, "small", 0)()


def test_reasons_are_of_rows_that_there_are() -> None:
    rows = [f"{case.name}, {size}: {way}" for case in CASES for size in ("small", "large") for way in WAYS]
    rows += [f"{name}, 4,000,000 elements: {way}" for name in FUNCTIONS for way in WAYS]
    rows += [f"8x8: {name}" for name in BESIDE]
    rows.append("tanh(x*w+b)*sigmoid(x), 4,000,000 elements: backward")
    for known in KNOWN:
        for beginning in known.rows:
            assert any(row.startswith(beginning) for row in rows), beginning


def test_a_row_has_the_first_reason_that_holds() -> None:
    assert reason_of("det, small: backward") == "the gradient is composed of operators, and each is a call of its own"
    assert reason_of("det, small: forward") != reason_of("det, small: backward")
    assert reason_of("add, small: forward") is None


def test_rows_over_budget_are_listed_by_their_reasons() -> None:
    rows = ["add, small: forward", "rfft, large: forward", "fft2, large: backward"]
    assert by_reason(rows) == {"SciPy's pocketfft; PyTorch's is MKL": rows[1:], UNKNOWN: rows[:1]}
    over = Row("operators", Measurement("rfft, large: forward", 2.0, 1.0, 2.0, 1), 1.5)
    inside = Row("operators", Measurement("fft2, large: forward", 1.0, 1.0, 1.0, 1), 1.5)
    assert list(over_budget([over, inside])) == [
        "over budget: SciPy's pocketfft; PyTorch's is MKL: rfft, large: forward 2.00x"
    ]
