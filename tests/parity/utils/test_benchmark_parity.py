"""What PyTorch's benchmark prints of times that are given, and what its timers do with a clock that counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.benchmark as theirs

import runtime
import runtime.utils.benchmark as ours

pytestmark = pytest.mark.parity

TASKS: list[dict[str, Any]] = [
    {"stmt": "f(x)", "setup": "pass"},
    {"stmt": "f(x)", "setup": "", "label": "f", "sub_label": "4x8", "description": "n = 1", "num_threads": 4},
    {"stmt": "f(x)", "setup": "x = 1", "sub_label": "4x8"},
    {"stmt": "y = f(x)\ng(y)", "setup": "x = 1\nz = 2", "sub_label": "both", "env": "here"},
    {"stmt": "y = f(x)\ng(y)", "setup": "pass", "description": "several\nlines"},
    {"stmt": "y\n\x0c\n", "setup": "pass", "label": ""},
]
TIMES = [
    [3.2e-7],
    [1e-3, 1.2e-3],
    [5.0, 1.0, 3.0],
    [1.0, 1.05, 1.11, 1.4],
    [2e-6, 1e-6, 9e-6, 4e-6, 3.3e-6],
    [1e-12] * 4,
]
POWERS = [10.0**k * (1 + d * 2.0**-24) for k in range(-13, 6) for d in (-40, -9, -3, -1, 0, 1, 2, 8, 30)]


def measurements(library: Any, count: int = 1, seed: int = 0, **task: Any) -> list[Any]:
    random = np.random.RandomState(seed)
    spread = random.uniform(0.0, 0.5, count)
    return [
        library.Measurement(
            int(random.randint(1, 1000)),
            (10 ** random.uniform(-9, 1) * (1 + spread[i] * random.uniform(size=random.randint(1, 40)))).tolist(),
            library.TaskSpec(**{"stmt": "f(x)", "setup": "pass"} | task),
        )
        for i in range(count)
    ]


def printed(measurement: Any) -> list[str]:
    """Without the line of the object itself."""
    first, *rest = repr(measurement).split("\n")
    assert "Measurement object at 0x" in first
    return rest


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("times", TIMES)
def test_what_a_measurement_prints(task: dict[str, Any], times: list[float]) -> None:
    mine, yours = (library.Measurement(7, times, library.TaskSpec(**task)) for library in (ours, theirs))
    assert printed(mine) == printed(yours)
    assert mine.title == yours.title
    assert mine.as_row_name == yours.as_row_name
    assert mine.env == yours.env
    assert mine.task_spec.summarize() == yours.task_spec.summarize()


def test_statistics() -> None:
    for mine, yours in zip(measurements(ours, 400), measurements(theirs, 400), strict=True):
        assert printed(mine) == printed(yours)
        assert mine.times == yours.times
        assert (mine.median, mine.iqr) == (yours.median, yours.iqr)
        assert mine.mean == pytest.approx(yours.mean, rel=1e-14)
        assert mine.significant_figures == yours.significant_figures
        assert mine.has_warnings == yours.has_warnings
        assert mine.meets_confidence(0.05) == yours.meets_confidence(0.05)


def test_numbers() -> None:
    for value in [*POWERS, *(10 ** np.random.RandomState(1).uniform(-11, 4, 500)).tolist()]:
        assert ours.select_unit(value) == theirs.select_unit(value)
        for figures in (1, 2, 4):
            assert ours.trim_sigfig(value, figures) == theirs.trim_sigfig(value, figures)
    for unit in ("ns", "us", "ms", "s"):
        assert ours.unit_to_english(unit) == theirs.unit_to_english(unit)
    for call in ("select_unit(0.0)", "select_unit(-1.0)", "trim_sigfig(0.0, 2)", "unit_to_english('h')"):
        raised = []
        for library in (ours, theirs):
            with pytest.raises((ValueError, OverflowError, KeyError)) as caught:
                eval(f"library.{call}", {"library": library})
            raised.append((caught.type, str(caught.value)))
        assert raised[0] == raised[1]


def table(library: Any, seed: int) -> Any:
    """A table of a few labels, rows, columns, numbers of threads and environments, not all of them everywhere."""
    random = np.random.RandomState(seed)
    envs = [["", "x86"], ["here"], ["here", "there", "elsewhere"]][random.randint(3)]
    scale = 10 ** random.uniform(-9, 0)
    results = []
    for _ in range(random.randint(1, 25)):
        label = [None, "add", "a long label, which is wider than what is below"][random.randint(3)]
        task = library.TaskSpec(
            "f(x)",
            "pass",
            label=label,
            sub_label=[None, "", "small", "of another size"][random.randint(4)],
            description=["n", "a wide column", ""][random.randint(3)],
            env=envs[random.randint(len(envs))],
            num_threads=int(random.randint(1, 4)),
        )
        spread = random.uniform(0, [1e-4, 0.3, 2.0][random.randint(3)])
        times = scale * 10 ** random.uniform(0, random.uniform(0, 3)) * (1 + spread * random.uniform(size=9))
        results.append(library.Measurement(int(random.randint(1, 3)), times.tolist(), task))
    return library.Compare(results)


@pytest.mark.parametrize("seed", range(60))
def test_tables(seed: int) -> None:
    mine, yours = table(ours, seed), table(theirs, seed)
    assert str(mine) == str(yours)
    for change in (
        lambda t: t.trim_significant_figures(),
        lambda t: t.highlight_warnings(),
        lambda t: t.colorize(),
        lambda t: t.colorize(rowwise=True),
    ):
        change(mine)
        change(yours)
        assert str(mine) == str(yours)


class Clock:
    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = np.random.RandomState(seed)
        self.calls: list[str] = []

    def __call__(self) -> float:
        self.now += 1e-7
        self.calls.append("clock")
        return self.now

    def tick(self) -> None:
        self.calls.append("tick")
        self.now += float(self.random.uniform(1e-3, 2e-3))


@pytest.mark.parametrize(
    "call",
    [
        *("timeit(1)", "timeit(500)", "blocked_autorange()", "blocked_autorange(min_run_time=0.01)"),
        *(
            "adaptive_autorange(max_run_time=1)",
            "adaptive_autorange(0.3)",
            "adaptive_autorange(1e-4, max_run_time=0.5)",
        ),
        *("adaptive_autorange(0.01, min_run_time=0.2, max_run_time=0.3)", "blocked_autorange(seen.append)"),
        *("blocked_autorange(lambda n, t: seen.append((n, t)))", "repeat()", "autorange()", "repeat(3, 4)"),
    ],
)
def test_timers(call: str) -> None:
    outcomes = []
    for library in (ours, theirs):
        clock, seen = Clock(0), []  # type: ignore[var-annotated]
        timer = library.Timer("\n    tick()\n", "  x = 1\n  y = 2  ", timer=clock, globals={"tick": clock.tick})
        try:
            found = eval(f"timer.{call}", {"timer": timer, "seen": seen})
            outcome: Any = (found.number_per_run, found.raw_times, printed(found))
        except Exception as error:
            outcome = (type(error), str(error).replace("list", "append"))
        outcomes.append((outcome, clock.calls, seen))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("wrong", [{"stmt": 3}, {"global_setup": "x"}, {"language": "fortran"}])
def test_wrong_timers(wrong: dict[str, Any]) -> None:
    raised = []
    for library in (ours, theirs):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            library.Timer(**wrong)
        raised.append(str(caught.value))
    assert raised[0] == raised[1]


def test_fuzzers() -> None:
    """The same draws of both: parameters, orders of memory, steps, and the elements as well."""
    drawn = []
    for library, benchmark in ((runtime, ours), (torch, theirs)):
        fuzzer = benchmark.Fuzzer(
            [
                benchmark.FuzzedParameter("dim", 1, 3, "uniform"),
                [benchmark.FuzzedParameter(f"n{i}", 1, 40, "loguniform", strict=i == 0) for i in range(3)],
                benchmark.FuzzedParameter("p", 0.5, 2.0, "uniform"),
            ],
            [
                benchmark.FuzzedTensor("x", ("n0", "n1", "n2"), ("n2", 2), 0.25, 4, 4000, 16000, "dim"),
                [benchmark.FuzzedTensor("i", ("n1", 3), dtype=library.int32)],
            ],
            [lambda params: params["n1"] != 2],
            seed=11,
        )
        for tensors, properties, params in fuzzer.take(25):
            found = {
                name: (tensor.tolist(), tensor.stride(), properties[name]["order"].tolist())
                for name, tensor in tensors.items()
            }
            rest = [{**each, "order": None, "dtype": None} for each in properties.values()]
            drawn.append((found, rest, params))
        drawn.append(fuzzer.rejection_rate)
    assert drawn[:26] == drawn[26:]


def test_probabilities_that_pytorch_refuses() -> None:
    """Choices with probabilities that sum to one are what a parameter is documented to take; PyTorch 2.13 raises."""
    with pytest.raises(AssertionError, match="not normalized"):
        theirs.FuzzedParameter("a", distribution={1: 0.5, 2: 0.5})
    assert ours.FuzzedParameter("a", distribution={1: 0.5, 2: 0.5}).sample(np.random.RandomState(0)) in (1, 2)
    aliases = [library.ParameterAlias("x") for library in (ours, theirs)]
    assert repr(aliases[0]) == repr(aliases[1])
