"""Mistakes in formulas and helpers are found: a part of them in each run, and what kinds there are."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from generated.registry import OPERATORS
from gradwright import complex64, float64, tensor
from gradwright.verify import prove
from gradwright.verify.mutation import faults
from gradwright.verify.mutation.__main__ import numbered
from gradwright.verify.mutation.changes import changes, faulty
from gradwright.verify.mutation.subjects import KernelSubject, subjects
from gradwright.verify.table import BY_NAME
from support.documents import ROOT

KNOWN = Path(__file__).with_name("equivalent.json")
PARTS = 120


def mistakes(source: str, *tensors: str) -> set[tuple[str, str]]:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return {(each.kind, each.after) for each in changes(function, frozenset(tensors), False)}


@pytest.mark.parametrize(
    ("expression", "kind", "after"),
    [
        ("grad * x", "factor", "x"),
        ("ops.mul_Tensor(grad, x)", "factor", "grad"),
        ("grad / x", "swapped", "x / grad"),
        ("ops.sub_Tensor(grad, x)", "swapped", "ops.sub_Tensor(x, grad)"),
        ("x if x._array.dtype.kind != 'c' else ops.conj_default(x)", "conj", "x"),
        ("x.conj()", "conj", "x"),
        ("-x", "sign", "x"),
        ("ops.neg_default(x)", "sign", "x"),
        ("grad + x", "sign", "grad - x"),
        ("x.t()", "transpose", "x"),
        ("x.mH", "transpose", "x"),
        ("x * 2", "other variable", "grad"),
        ("x * 2", "detached", "x.detach()"),
        ("grad.sum(dim)", "dim", "grad.sum(dim - 1)"),
        ("x < 0", "edge", "x <= 0"),
        ("ops.ge_Scalar(x, 0)", "edge", "ops.gt_Scalar(x, 0)"),
    ],
)
def test_a_mistake_of_each_kind(expression: str, kind: str, after: str) -> None:
    assert (kind, after) in mistakes(f"def f(grad, x, dim):\n    return {expression}\n", "grad", "x")


@pytest.mark.parametrize("expression", ["x.shape", "x.dtype", "x is None", "grad.to(dtype=x.dtype)"])
def test_what_is_asked_for_no_numbers_is_left_alone(expression: str) -> None:
    assert not {after for _, after in mistakes(f"def f(grad, x):\n    return {expression}\n", "x", "y")}


def test_what_reads_alike_is_told_apart() -> None:
    (function,) = ast.parse("def f(x, y):\n    return (x - y) * (x - y)\n").body
    assert isinstance(function, ast.FunctionDef)
    names = [name for name, _ in numbered(changes(function, frozenset("xy"), False))]
    assert len(set(names)) == len(names)
    assert {"sign: x - y -> x + y", "sign: x - y -> x + y [2]", "detached: y -> y.detach() [2]"} <= set(names)


def test_what_a_helper_only_asks_for_its_shape_is_left_alone() -> None:
    (tree,) = ast.parse("def f(x, y):\n    return g(x) * y\n").body
    assert isinstance(tree, ast.FunctionDef)
    made = [change.before for change in changes(tree, frozenset("xy"), False, asks=lambda call: (0,))]
    assert "x" not in made
    assert "y" in made


def test_what_conjugates_does_nothing_to_real_numbers() -> None:
    (tree,) = ast.parse("def f(x):\n    return x if x.dtype != 'c' else conj(x)\n").body
    assert isinstance(tree, ast.FunctionDef)
    kinds = [[change.kind for change in changes(tree, frozenset("x"), False, flag)] for flag in (True, False)]
    assert kinds == [["conj", "detached", "conj", "detached"], ["detached"]]


NODE = """
def apply(self, grad_0):
    other = self._other
    alpha = self._alpha
    if self._self_edge is not None:
        self_gradient = times(grad_0, other, alpha)
    return (self_gradient,)
"""


def test_mistakes_that_show_for_some_numbers_alone() -> None:
    (tree,) = ast.parse(NODE).body
    assert isinstance(tree, ast.FunctionDef)
    made = {(each.kind, each.before, each.after) for each in faulty(tree, frozenset(("other",)), frozenset(("alpha",)))}
    whole = "times(grad_0, other, alpha)"
    assert made == {
        ("width", whole, f"faults.wide({whole})"),
        ("digits", whole, f"faults.off({whole})"),
        ("range", whole, f"faults.off_far({whole}, other)"),
        ("overflow", whole, f"faults.overflowing({whole}, other)"),
        ("second at zero", "other", "faults.constant_at_zero(other)"),
        ("one value", "alpha", "faults.first(alpha, 'alpha')"),
        ("order", "alpha", "faults.in_order(alpha)"),
    }


def test_a_mistake_knows_whether_it_was_reached() -> None:
    near, far = tensor([1.0, 2.0], dtype=float64), tensor([1.0, -3.0], dtype=float64)
    for change, value, others in (
        (faults.off, near, ()),
        (faults.off_far, near, (far,)),
        (faults.overflowing, near, (far * 1000 * -1,)),
        (faults.summed, near, ()),
        (faults.wide, near.float(), ()),
        (faults.wide, near.to(dtype=complex64), ()),
        (faults.constant_at_zero, (near - 1).requires_grad_(), ()),
        (faults.in_order, [2, 0], ()),
    ):
        faults.start()
        change(value, *others)  # type: ignore[operator]
        assert faults.is_reached(), change
    for change, value, others in (
        (faults.off, near * 0, ()),
        (faults.off_far, near, (near,)),
        (faults.off_far, near, (far[:1],)),
        (faults.overflowing, near, (far,)),
        (faults.wide, near, ()),
        (faults.constant_at_zero, near, ()),
        (faults.in_order, [0, 2], ()),
    ):
        faults.start()
        change(value, *others)  # type: ignore[operator]
        assert not faults.is_reached(), change


def test_a_value_stays_what_it_was_first() -> None:
    faults.start()
    assert [faults.first(each, "alpha") for each in (2.0, 2.0, True)] == [2.0, 2.0, True]
    assert not faults.is_reached()
    assert faults.first(3.5, "alpha") == 2.0
    assert faults.is_reached()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradwright.verify.mutation", "--known", str(KNOWN), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


def test_a_part_of_all_mistakes_is_found() -> None:
    """`GRADWRIGHT_PART` names another part; `.ci/run` another one each day."""
    part = os.environ.get("GRADWRIGHT_PART") or f"1/{PARTS}"
    finished = run("--part", part)
    assert finished.returncode == 0, f"part {part}\n{finished.stdout}{finished.stderr}"


def test_what_is_found_is_counted() -> None:
    finished = run("sin", "--jobs", "1")
    assert finished.returncode == 0, finished.stdout
    assert re.search(
        r"^\d+ functions, (\d+) mistakes: \1 found, 0 make no difference, 0 survived: 100", finished.stdout, re.M
    )


@pytest.mark.parametrize("name", ["abs", "mean", "new_full", "rand_like", "sum", "mul.Tensor"])
def test_a_kernel_in_twice_the_width_is_found_with_any_promotion_and_any_dtype_that_is_named(name: str) -> None:
    (subject,) = (each for each in subjects(OPERATORS, [name]) if isinstance(each, KernelSubject))
    (change,) = (each for each in subject.changes() if each.kind == "width")
    with subject.with_mistake(change):
        (cell,) = prove(OPERATORS[name], [BY_NAME["returns"]], until_wrong=True)
    assert cell.failures
    (cell,) = prove(OPERATORS[name], [BY_NAME["returns"]])
    assert not cell.failures


def test_kernels_are_altered_too() -> None:
    finished = run("softplus", "--jobs", "1", "--every")
    assert finished.returncode == 0, finished.stdout
    assert "memory\t2 of 2" in finished.stdout
    assert "width\t2 of 2" in finished.stdout
    assert "one value\t2 of 2" in finished.stdout


def test_what_is_altered_is_what_runs() -> None:
    """At ties the second derivative says nothing: these are found only where the altered formula itself runs."""
    finished = run("maximum", "leaky_relu", "--jobs", "2")
    assert finished.returncode == 0, finished.stdout
    assert "edge\t6 of 6" in finished.stdout


def test_a_survivor_that_is_not_listed_is_an_error(tmp_path: Path) -> None:
    none = tmp_path / "none.json"
    none.write_text("[]", encoding="utf-8")
    finished = run("floor", "--jobs", "1", "--known", str(none))
    assert finished.returncode == 1
    (line,) = finished.stdout.splitlines()[:1]
    name = line.removeprefix("survived: ")
    none.write_text(json.dumps([{"reason": "a test", "missed": True, "mistakes": [re.escape(name)]}]), encoding="utf-8")
    finished = run("floor", "--jobs", "1", "--known", str(none))
    assert finished.returncode == 0
    assert ", 1 survived" in finished.stdout


def test_equivalent_mistakes_have_reasons() -> None:
    for each in json.loads(KNOWN.read_text(encoding="utf-8")):
        assert each["reason"]
        for pattern in each["mistakes"]:
            re.compile(pattern)
