"""`derive`: an expression is derived in steps, which are right."""

from __future__ import annotations

import math
import re

import pytest

from support.documents import ROOT
from support.in_process import codegen

# Expressions, and the values of their names.
EXPRESSIONS = {
    "x * tanh(exp(x))": {"x": 0.3},
    "sigmoid(a * x) - y": {"a": 1.5, "x": -0.4, "y": 2.0},
    "x * x": {"x": 1.25},
    "(x + y) * (x + y) / x": {"x": 0.7, "y": -0.2},
    "log1p(exp(-x)) + sin(x) * cos(y)": {"x": 0.9, "y": 0.1},
    "sqrt(x) * n": {"x": 2.0, "n": 3.0},
}
FUNCTIONS = {
    "exp": math.exp, "tanh": math.tanh, "sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "log1p": math.log1p,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "sigmoid_backward": lambda grad, y: grad * y * (1 - y),
    "tanh_backward": lambda grad, y: grad * (1 - y * y),
}  # fmt: skip


def parts_of(text: str) -> dict[str, list[str]]:
    """The lines below each title."""
    parts: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("  "):
            parts[list(parts)[-1]].append(line.strip())
        else:
            parts[line.removesuffix(":")] = []
    return parts


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_steps_give_the_value_and_the_gradients(expression: str) -> None:
    values = EXPRESSIONS[expression]
    numbers = [word for name in values if name == "n" for word in ("--number", name)]
    finished = codegen("derive", expression, *numbers)
    assert finished.returncode == 0, finished.stderr
    parts = parts_of(finished.stdout)
    scope = {**FUNCTIONS, **values, "grad": 1.0}
    for line in (*parts["forward"], *parts["backward"]):
        exec(line, scope)
    assert math.isclose(scope["result"], eval(expression, {**FUNCTIONS, **values}))
    compared = 0
    for name in values.keys() - {"n"}:
        ends = [eval(expression, {**FUNCTIONS, **values, name: values[name] + step}) for step in (1e-6, -1e-6)]
        assert math.isclose(scope[f"grad_{name}"], (ends[0] - ends[1]) / 2e-6, rel_tol=1e-6), name
        compared += 1
    assert compared >= 1
    together = next(text for title, text in parts.items() if title.startswith("together"))
    written = dict(line.split(": ", 1) for line in together)
    for name in values.keys() - {"n"}:
        formula = eval(written[name], {**FUNCTIONS, **values, "grad": 1.0, "result": scope["result"]})
        assert math.isclose(formula, scope[f"grad_{name}"])


def test_a_step_that_is_used_twice_is_computed_once() -> None:
    parts = parts_of(codegen("derive", "exp(x) * exp(x) + exp(x)").stdout)
    assert [line for line in parts["forward"] if "exp" in line] == ["t1 = exp(x)"]
    assert [line.partition(" ")[0] for line in parts["backward"]].count("grad_t1") == 2
    assert sum(" += " in line for line in parts["backward"]) == 1


def test_gradients_of_complex_tensors_are_conjugated() -> None:
    assert "grad_x = grad * y\n" in codegen("derive", "x * y").stdout
    assert "grad_x = grad * y.conj()\n" in codegen("derive", "x * y", "--complex").stdout


def test_slopes_where_there_are_none() -> None:
    refused = codegen("derive", "x > 0 ? x : 0.1 * x")
    assert refused.returncode == 1
    assert re.search(r"EXPRESSION:2:17: error: 'expression' has no derivative where x is 0", refused.stderr)
    assert "x > 0" in codegen("derive", "x > 0 ? x : 0.1 * x", "--slope-at", "{0: 1}").stdout


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("x * (", "unbalanced parenthesis"),
        ("x * tanhh(x)", "unknown function 'tanhh'"),
        ("max(x)", "'max' is no element-wise operator"),
        ("", "the formula is empty"),
    ],
)
def test_what_is_wrong_is_shown_where_it_stands(expression: str, message: str) -> None:
    finished = codegen("derive", expression)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert re.search(rf"^EXPRESSION:2:\d+: error: {re.escape(message)}", finished.stderr)


def test_the_page_shows_what_is_printed() -> None:
    page = (ROOT / "docs" / "autograd.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```console\n\$ gradwright derive '(.*)'\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert codegen("derive", shown[0]).stdout == shown[1]


def test_a_number_that_is_no_name_is_wrong_usage() -> None:
    finished = codegen("derive", "x * x", "--number", "y")
    assert finished.returncode == 2
    assert "'y' is no name in the expression" in finished.stderr
