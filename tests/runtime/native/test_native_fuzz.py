"""Random programs with the native core on and off: `tools/native_fuzz.py` draws, runs, compares and shrinks them.

`GRADWRIGHT_FUZZ=20000` says how many, `GRADWRIGHT_FUZZ_SEED` which.
"""

from __future__ import annotations

import ast
import os
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradwright
from generated.registry import OPERATORS
from support.native_core import needs_core
from tools.native_fuzz import (
    Broken,
    Fuzzer,
    Program,
    Worker,
    _Drawing,
    _Running,
    difference,
    draw,
    make,
    run,
    smaller_ones,
)

COUNT = int(os.environ.get("GRADWRIGHT_FUZZ", "300"))
SEED = int(os.environ.get("GRADWRIGHT_FUZZ_SEED", "0"))


@needs_core
def test_random_programs_with_the_core_on_and_off() -> None:
    with Fuzzer(SEED) as fuzzer:
        failures = list(fuzzer.check(0, COUNT))
    assert not failures, "\n\n".join(map(str, failures))


def test_a_mistake_of_the_fuzzer_comes_back_from_a_worker() -> None:
    worker = Worker(native=False)
    worker.send([{"steps": [{"kind": "nonsense"}], "end": {"which": 0, "how": "backward"}}])
    ((outcome, _),) = worker.receive()
    worker.close()
    assert isinstance(outcome, Broken)
    assert "_nonsense" in outcome
    assert difference(outcome, outcome) is not None


def test_a_worker_whose_answer_nobody_reads_can_be_closed() -> None:
    worker = Worker(native=False)
    worker.send([{**PROGRAM, "steps": [STEP] * 60}])
    assert worker.process.stdout is not None
    worker.process.stdout.peek(1)  # it has begun to write more than a pipe holds
    worker.close()
    assert worker.process.returncode == 0


def test_samples_of_every_maker_are_drawn() -> None:
    drawing = _Drawing(random.Random(0))
    calls = [ast.parse(f"f({sample})", mode="eval").body for info in OPERATORS.values() for sample in info.samples]
    nodes = [node for call in calls for node in ast.walk(call) if isinstance(node, ast.Call)]
    given = {ast.unparse(node.func): drawing.value(node, None) for node in nodes if ast.unparse(node.func) != "f"}
    running = _Running()
    assert {"T", "C", "P", "V"} <= set(given)
    for maker, argument in given.items():
        assert running.argument(argument), maker


def test_programs_do_not_depend_on_the_run() -> None:
    assert draw(3, 14) == draw(3, 14)
    assert draw(3, 14) != draw(3, 15)
    first, second = (run(draw(3, 15)) for _ in range(2))
    assert difference(first[0], second[0]) is None
    assert first[1] == second[1]


def test_most_steps_do_something() -> None:
    outcomes = [told for number in range(60) for told in run(draw(1, number))[0]]
    raised = [told for told in outcomes if isinstance(told, tuple)]
    assert len(outcomes) > 200
    assert 0 < len(raised) < len(outcomes) / 3


STEP = {
    "kind": "call",
    "name": "exp",
    "form": "method",
    "args": [{"shape": [2], "dtype": "float64", "seed": 1}],
    "kwargs": {},
}
PROGRAM: Program = {"steps": [STEP, STEP], "end": {"which": 0, "how": "backward"}}


def test_what_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(PROGRAM)[0]
    assert difference(before, run(PROGRAM)[0]) is None
    exp = gradwright.Tensor.exp
    for wrong, words in {
        lambda t: exp(t) * 1.0001: "data",
        lambda t: exp(t).float(): "dtype",
        lambda t: exp(t).requires_grad_(): "requires_grad",
        lambda t: exp(t).add_(0): "version",
        lambda t: exp(t)[:1]: "shape",
        lambda t: exp(t).expand(2, 2)[0] if False else gradwright.stack([exp(t)] * 2, 1)[:, 0]: "stride",
        lambda t: [][0]: "raises",
    }.items():
        monkeypatch.setattr(gradwright.Tensor, "exp", wrong)
        assert words in (difference(before, run(PROGRAM)[0]) or "nothing")


@pytest.mark.parametrize("layout", ["plain", "transposed", "sliced", "stepped", "reversed", "expanded", "offset"])
def test_layouts(layout: str) -> None:
    t: Any = make((2, 3), "float64", layout)
    assert t.shape == (2, 3)
    assert t._array.flags.c_contiguous == (layout in ("plain", "offset"))


def test_failing_programs_are_made_smaller() -> None:
    class Only(Fuzzer):
        """Fails where a step calls `tanh` on more than one element."""

        def __init__(self) -> None:
            pass

        def compare(self, programs: Sequence[Program]) -> list[tuple[str | None, str]]:
            def fails(step: dict[str, Any]) -> bool:
                return step.get("name") == "tanh" and int(np.prod(step["args"][0]["shape"])) > 1

            return [("differs" if any(map(fails, p["steps"])) else None, "") for p in programs]

    tanh = {
        **STEP,
        "name": "tanh",
        "mode": "no_grad",
        "args": [{"shape": [3, 4], "dtype": "complex64", "seed": 5, "pick": 3}],
    }
    small = Only().shrink({**PROGRAM, "steps": [STEP, tanh, STEP]})
    (step,) = small["steps"]
    assert step == {**STEP, "name": "tanh", "form": "function", "args": [{"shape": [4], "dtype": "float32", "seed": 0}]}
    assert all(smaller != small for smaller in smaller_ones(small))
