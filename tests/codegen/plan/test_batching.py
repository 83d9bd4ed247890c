"""Which rule vmap applies to the calls of an operator: what the schema tells, and what the entry says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.paths import BATCHING_RULES, Paths, project_paths
from codegen.pipeline import Result
from codegen.plan.plan import Plan
from codegen.python_source import FunctionIndex, SourcePart
from codegen.rules.batching import rule_names
from codegen.source import Diagnostics
from runtime.operators.batching.rules import RANDOM_RULES, RULES

KERNELS = """\
def one(self): return self
def two(self, other): return self
def along(self, dim): return self
def reduce(self, dim, keepdim=False): return self
def pair(dim0, self, dim1): return self
def joined(tensors, dim): return tensors[0]
def picked(self, dim, index): return self
def made(size): return size
def drawn(self, generator): return self
def maybe(self, other=None): return self
"""
CASES = [
    ("f(Tensor self) -> Tensor", "one", "tags: pointwise", ("pointwise", (0,), ())),
    ("f(Tensor self, Tensor other) -> Tensor", "two", "tags: [core, pointwise]", ("pointwise", (0, 1), ())),
    ("f(Tensor self, Tensor? other=None) -> Tensor", "maybe", "tags: pointwise", ("pointwise", (0, 1), ())),
    ("f(Tensor self, int dim) -> Tensor", "along", "", ("along", (0,), (1,))),
    ("f(int dim0, Tensor self, int dim1) -> Tensor", "pair", "", ("along", (1,), (0, 2))),
    ("f(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor", "reduce", "", ("reduction", (0,), (1,))),
    ("f(Tensor self, int dim, bool keepdim=False) -> Tensor", "reduce", "batching: loop", ("loop", (0,), (1,))),
    ("f(Tensor self, int dim, Tensor index) -> Tensor", "picked", "", ("loop", (0, 2), (1,))),
    ("f(Tensor self, int dim, Tensor index) -> Tensor", "picked", "batching: along", ("along", (0, 2), (1,))),
    ("f(Tensor[] tensors, int dim) -> Tensor", "joined", "", ("loop", (0,), (1,))),
    ("f(Tensor self) -> Tensor", "one", "", ("loop", (0,), ())),
    ("f(SymInt[] size) -> Tensor", "made", "", None),
    (
        "f(Tensor self, *, Generator? generator) -> Tensor",
        "drawn",
        "tags: nondeterministic_seeded",
        ("random", (0,), ()),
    ),
]


@pytest.fixture(autouse=True)
def rules(small_paths: Paths) -> None:
    folder = small_paths.operators / "batching" / "rules"
    folder.mkdir(parents=True)
    (folder / "small.py").write_text(
        "def along(level, operator, values): ...\ndef loop(level, operator, values): ...\n"
    )


@pytest.mark.parametrize(("schema", "kernel", "line", "expected"), CASES)
def test_rule(
    planned: Callable[..., Plan], schema: str, kernel: str, line: str, expected: tuple[object, ...] | None
) -> None:
    plan = planned(f"- func: {schema}\n  dispatch: {{CPU: {kernel}}}\n  {line}\n", "[]", "", KERNELS)
    found = plan.operators[0].compute.batching
    assert (None if found is None else (found.rule, found.tensors, found.dims)) == expected


def test_a_composite_operator_needs_no_rule(planned: Callable[..., Plan]) -> None:
    plan = planned("- func: f(Tensor self) -> Tensor\n", "[]", composites="def f(self): return self\n")
    assert plan.operators[0].compute.batching is None


def test_private_functions_are_no_rules(analysed: Callable[..., Result], small_paths: Paths) -> None:
    Path(small_paths.operators / "batching" / "rules" / "more.py").write_text(
        "def _mine(level, operator, values): ...\n"
    )
    text = "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: one}\n  batching: _mine\n"
    messages = [item.message for item in analysed(text, "[]", "", KERNELS).diagnostics.items]
    assert messages == ["no rule '_mine' in runtime/operators/batching/rules"]


def test_the_rule_goes_into_the_output(emitted: Callable[..., dict[str, str]]) -> None:
    text = "- func: f(Tensor self, int dim) -> Tensor\n  dispatch: {CPU: along}\n"
    assert 'batching=("along", (0,), (1,)),' in emitted(text, "[]", "", KERNELS)["operators.py"]


def test_words_are_the_rules_that_vmap_has() -> None:
    diagnostics = Diagnostics()
    part = SourcePart(project_paths().operators_part(BATCHING_RULES), diagnostics)
    assert rule_names(FunctionIndex([part])) == RULES.keys() | RANDOM_RULES.keys()
    assert not diagnostics
    assert {"pointwise", "reduction", "along", "loop"} <= set(RULES)


@pytest.mark.parametrize("word", ["aligned", "fallback_warnings", "perform"])
def test_functions_that_are_no_rules_are_no_words(
    analysed: Callable[..., Result], small_paths: Paths, word: str
) -> None:
    (small_paths.operators / "batching/rules/small.py").unlink()
    for path in (project_paths().operators / "batching" / "rules").glob("*.py"):
        (small_paths.operators / "batching/rules" / path.name).write_text(path.read_text())
    entry = f"- func: f(Tensor self) -> Tensor\n  variants: function\n  batching: {word}\n  dispatch: {{CPU: one}}\n"
    result = analysed(entry, "[]", kernels=KERNELS)
    assert [item.message for item in result.diagnostics.items] == [
        f"no rule '{word}' in runtime/operators/batching/rules"
    ]
