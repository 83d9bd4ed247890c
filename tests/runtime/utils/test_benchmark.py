"""Timers with clocks that count, what Measurements say of times that are given, tables, and Tensors at random."""

from __future__ import annotations

import pickle
from itertools import count
from typing import Any

import numpy as np
import pytest

import runtime
from runtime.utils import benchmark
from runtime.utils.benchmark import (
    Compare,
    FuzzedParameter,
    FuzzedTensor,
    Fuzzer,
    Language,
    Measurement,
    ParameterAlias,
    TaskSpec,
    Timer,
)


class Clock:
    """Stands still, but for what a statement takes: `tick` is a millisecond."""

    def __init__(self, overhead: float = 0.0) -> None:
        self.now = 0.0
        self.ticks = 0
        self.overhead = overhead

    def __call__(self) -> float:
        self.now += self.overhead
        return self.now

    def tick(self, seconds: float = 1e-3) -> None:
        self.ticks += 1
        self.now += seconds


def timer(clock: Clock, stmt: str = "tick()", **arguments: Any) -> Timer:
    return Timer(stmt, timer=clock, globals={"tick": clock.tick}, **arguments)


def measurement(*times: float, number: int = 1, **task: Any) -> Measurement:
    return Measurement(number, list(times), TaskSpec(**{"stmt": "f(x)", "setup": "pass"} | task))


# -- timers


def test_timeit_warms_up() -> None:
    clock = Clock()
    found = timer(clock, label="ticks").timeit(1000)
    assert clock.ticks == 1010
    assert found.number_per_run == 1000
    assert found.raw_times == [pytest.approx(1.0)]
    assert found.label == found.title == "ticks"
    assert found.median == found.mean == pytest.approx(1e-3)


def test_at_least_a_nanosecond() -> None:
    assert timer(Clock(), "pass").timeit(1).raw_times == [1e-9]


def test_blocks_grow_until_the_clock_does_not_matter() -> None:
    clock = Clock(overhead=1e-6)
    seen: list[tuple[int, float]] = []
    found = timer(clock).blocked_autorange(lambda *block: seen.append(block), min_run_time=0.2)
    assert found.number_per_run == 10  # 1e-6 of a millisecond is too much, of ten milliseconds it is not
    assert len(found.raw_times) == 20
    assert seen == [(10, time) for time in found.raw_times]
    assert timer(Clock(overhead=1e-4)).blocked_autorange(min_run_time=0.2).number_per_run == 1000
    assert timer(Clock()).blocked_autorange(min_run_time=5).number_per_run == 10  # no shorter than 5 milliseconds


def test_adaptive_autorange_ends_when_times_agree() -> None:
    clock = Clock()
    assert len(timer(clock).adaptive_autorange().raw_times) == 10

    clock, steps = Clock(), count(1)
    uneven = Timer("tick(next(steps) % 2 + 1e-3)", timer=clock, globals={"tick": clock.tick, "steps": steps})
    found = uneven.adaptive_autorange(max_run_time=10)
    assert 10 < sum(found.raw_times) < 12
    assert not found.meets_confidence()
    clock, steps = Clock(), count(1)
    uneven = Timer("tick(next(steps) % 2 + 1e-3)", timer=clock, globals={"tick": clock.tick, "steps": steps})
    assert len(uneven.adaptive_autorange(threshold=3).raw_times) == 4


def test_threads_are_set_while_it_runs() -> None:
    before = runtime.get_num_threads()
    seen: list[int] = []
    names = {"seen": seen}
    Timer("seen.append(torch.get_num_threads())", globals=names, num_threads=3, timer=Clock()).timeit(2)
    assert seen == [3] * 4
    assert runtime.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0", num_threads=3).timeit(1)
    assert runtime.get_num_threads() == before
    assert names == {"seen": seen}
    with benchmark.set_torch_threads(2):
        assert runtime.get_num_threads() == 2
    assert runtime.get_num_threads() == before


def test_statements_stand_flush_left() -> None:
    found = Timer(
        """
        y = x + torch.ones(2)
        if y.sum() != 4:
            raise ValueError
        """,
        "\n    x = torch.ones(2)\n",
        timer=Clock(),
    ).timeit(1)
    assert found.stmt == "y = x + torch.ones(2)\nif y.sum() != 4:\n    raise ValueError"
    assert found.setup == "x = torch.ones(2)"
    assert found.title.startswith("stmt:\n  y = x")


def test_what_timers_refuse() -> None:
    with pytest.raises(ValueError, match="Currently only a `str` stmt is supported"):
        Timer(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="global_setup is C\\+\\+ only, got `#include <x>`"):
        Timer(global_setup="#include <x>")
    for language in (Language.CPP, "cpp", "c++"):
        with pytest.raises(NotImplementedError, match="language C\\+\\+ is not there"):
            Timer(language=language)
    with pytest.raises(ValueError, match="Invalid language `fortran`"):
        Timer(language="fortran")
    with pytest.raises(NotImplementedError, match="collect_callgrind is not there"):
        Timer().collect_callgrind()
    for refused in (Timer().repeat, Timer().autorange):
        with pytest.raises(NotImplementedError, match="blocked_autorange"):
            refused()


def test_the_clock() -> None:
    assert isinstance(benchmark.timer(), float)
    assert benchmark.timer() <= benchmark.timer()


# -- measurements


def test_statistics() -> None:
    found = measurement(4.0, 1.0, 3.0, 2.0, 10.0, number=2)
    assert found.times == [2.0, 0.5, 1.5, 1.0, 5.0]
    assert (found.median, found.mean, found.iqr) == (1.5, 2.0, 1.0)
    assert found.has_warnings
    assert not found.meets_confidence()
    assert found.meets_confidence(0.7)
    assert measurement(1.0, 1.0).significant_figures == 4
    assert measurement(1.0, 1.5, 2.0, 3.0).significant_figures == 1
    assert measurement(1.0, 1.01, 1.02, 1.03).significant_figures == 2
    with pytest.raises(ValueError, match="no times"):
        measurement().significant_figures


def test_what_a_measurement_prints() -> None:
    first, *rest = repr(measurement(4e-6, 4e-6, 9e-6, 8e-6, num_threads=2, sub_label="4x8", setup="x = 1")).split("\n")
    assert "Measurement object at 0x" in first
    assert rest == [
        "f(x): 4x8",
        "setup: x = 1",
        "  Median: 6.00 us",
        "  IQR:    4.25 us (4.00 to 8.25)",
        "  4 measurements, 1 runs per measurement, 2 threads",
        "  WARNING: Interquartile range is 70.8% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]


def test_names_of_the_task_only() -> None:
    found = measurement(1.0, env="here", description="n=1")
    assert (found.env, found.description, found.num_threads) == ("here", "n=1", 1)
    assert found.as_row_name == "f(x)"
    assert measurement(1.0, stmt="").as_row_name == "[Unknown]"
    with pytest.raises(AttributeError, match="no attribute 'taskspec'"):
        found.taskspec


def test_measurements_are_saved() -> None:
    found = measurement(1.0, 2.0)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.median == 1.5


def test_merge() -> None:
    merged = Measurement.merge([measurement(2.0, number=2), measurement(5.0, label="b"), measurement(3.0)])
    assert [(found.label, found.raw_times) for found in merged] == [(None, [1.0, 3.0]), ("b", [5.0])]
    assert all(found.number_per_run == 1 for found in merged)


@pytest.mark.parametrize(
    ("seconds", "unit"),
    [(1e-12, "s"), (5e-9, "ns"), (9.99e-7, "ns"), (1e-6, "us"), (2e-3, "ms"), (1.0, "s"), (5e3, "s")],
)
def test_units(seconds: float, unit: str) -> None:
    assert benchmark.select_unit(seconds)[0] == unit
    assert benchmark.unit_to_english(unit).endswith("second")


def test_figures() -> None:
    assert benchmark.trim_sigfig(3.14159, 2) == pytest.approx(3.1)
    assert benchmark.trim_sigfig(31415.9, 1) == 30000.0
    assert benchmark.trim_sigfig(-2.5, 1) == -2.0
    with pytest.raises(AssertionError, match="must be an integer"):
        benchmark.trim_sigfig(1.0, 1.5)  # type: ignore[arg-type]
    assert benchmark.ordered_unique("abcab") == ["a", "b", "c"]


# -- tables


def test_a_table() -> None:
    results = [
        measurement(10e-6, label="add", sub_label="small", description="n=1"),
        measurement(23.46e-6, label="add", sub_label="small", description="n=2"),
        measurement(90e-6, label="add", sub_label="large", description="n=1"),
        measurement(40e-6, label="add", sub_label="large", description="n=1", num_threads=2),
    ]
    table = Compare(results)
    assert str(table).split("\n") == [
        "[----------- add -----------]",
        "             |  n=1   |  n=2 ",
        "1 threads: ------------------",
        "      small  |  10.0  |  23.5",
        "      large  |  90.0  |      ",
        "2 threads: ------------------",
        "      large  |  40.0  |      ",
        "",
        "Times are in microseconds (us).",
        "",
    ]
    table.trim_significant_figures()
    assert "|   23" in str(table)
    assert "23.5" not in str(table)


def test_tables_of_what_has_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    table = Compare([measurement(1.0), measurement(2.0, env="b")])
    table.print()
    assert capsys.readouterr().out.split("\n")[3:5] == ["       f(x)  |  1.0", "  (b)  f(x)  |  2.0"]
    assert str(Compare([])) == ""
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`, got <class 'int'> instead"):
        table.extend_results([1])  # type: ignore[list-item]


def test_colours() -> None:
    table = Compare([measurement(t, sub_label=str(t), description="") for t in (1.0, 1.05, 1.5, 3.0, 9.0)])
    table.colorize()
    best, good, middle, bad, worst = str(table).split("\n")[3:8]
    assert "\033[92m\033[1m" in best
    assert "\033[34m\033[1m" in good
    assert "\033" not in middle
    assert "\033[2m\033[91m" in bad
    assert "\033[31m\033[1m" in worst
    table.colorize(rowwise=True)
    assert str(table).count("\033[92m") == 5


# -- Tensors at random


def fuzzer(**arguments: Any) -> Fuzzer:
    choices = {1: 0.3, ParameterAlias("n"): 0.7}
    return Fuzzer(
        [
            FuzzedParameter("dim", 1, 3, "uniform"),
            [FuzzedParameter("n", 2, 64, "loguniform"), FuzzedParameter("m", distribution=choices)],
            FuzzedParameter("p", 0.0, 1.0, "uniform", strict=True),
        ],
        [
            FuzzedTensor("x", ("n", "m", 3), steps=(1, 2), dim_parameter="dim", min_elements=8, max_elements=2000),
            FuzzedTensor("i", ("m",), dtype=runtime.int16, probability_contiguous=1),
        ],
        seed=5,
        **arguments,
    )


def test_fuzzer() -> None:
    drawn = list(fuzzer().take(40))
    dims = set()
    for tensors, properties, params in drawn:
        x = tensors["x"]
        assert tuple(x.shape) == (params["n"], params["m"], 3)[: params["dim"]]
        assert properties["x"]["numel"] == x.numel()
        assert 8 <= x.numel() <= 2000
        assert properties["x"]["is_contiguous"] == x.is_contiguous()
        assert params["m"] in (1, params["n"])
        assert 0 <= params["p"] <= 1
        assert tensors["i"].dtype is runtime.int16
        assert 1 <= tensors["i"].min().item() <= tensors["i"].max().item() <= 126
        dims.add(x.dim())
    assert dims == {1, 2, 3}
    again = list(fuzzer().take(40))
    assert all(runtime.equal(a[0]["x"], b[0]["x"]) for a, b in zip(drawn, again, strict=True))


def test_constraints() -> None:
    made = fuzzer(constraints=[lambda params: params["dim"] == 2])
    assert made.rejection_rate == 0.0
    assert all(tensors["x"].dim() == 2 for tensors, _, _ in made.take(5))
    assert 0.0 < made.rejection_rate < 1.0
    with pytest.raises(ValueError, match="Failed to generate"):
        next(fuzzer(constraints=[lambda params: False]).take(1))
    circle = [FuzzedParameter(a, distribution={ParameterAlias(b): 1.0}) for a, b in ("xy", "yx")]
    with pytest.raises(ValueError, match="cycle"):
        next(Fuzzer(circle, []).take(1))
    with pytest.raises(ValueError, match="Duplicate names"):
        Fuzzer([FuzzedParameter("x", 1, 2, "uniform")], [FuzzedTensor("x", (1,))])


def test_strict_parameters_are_kept_when_others_are_drawn_again() -> None:
    """Drawn once, the strict one decides nothing about what is rejected."""
    parameters = [FuzzedParameter("s", 0, 9, "uniform", strict=True), FuzzedParameter("t", 0, 9, "uniform")]
    seen: list[tuple[int, int]] = []

    def allows(params: dict[str, Any]) -> bool:
        seen.append((params["s"], params["t"]))
        return params["t"] == 0

    next(Fuzzer(parameters, [], [allows], seed=1).take(1))
    assert len(seen) > 1
    assert len({s for s, _ in seen}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distribution": "normal"}, "Unknown distribution: normal"),
        ({"distribution": {1: -0.5, 2: 1.5}}, "cannot be negative"),
        ({"distribution": {1: 0.5, 2: 0.2}}, "not normalized"),
        ({"distribution": {1: 1.0}, "minval": 1}, "'minval' must be None"),
        ({"distribution": {1: 1.0}, "maxval": 1}, "'maxval' must be None"),
    ],
)
def test_wrong_parameters(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        FuzzedParameter("a", **arguments)
    with pytest.raises(TypeError, match="parameter 'a' needs minval and maxval"):
        FuzzedParameter("a", distribution="uniform").sample(np.random.RandomState(0))
