"""What generated code looks like: statements, kinds of quotes, and a formula above each gradient."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.plan.plan import Plan
from codegen.targets.literals import literal
from codegen.targets.python.code import Lines, all_of, any_of, call, choice
from support.documents import ROOT
from support.own_project import own_analysis

GENERATED = ROOT / "generated"
PYTHON = sorted([*GENERATED.glob("*.py"), *GENERATED.glob("*.pyi")])
CPP = sorted([*GENERATED.glob("cpp/*.cpp"), *GENERATED.glob("cpp/*.hpp")])


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_a_line_holds_one_statement(path: Path) -> None:
    """But the `...` of a stub stands behind its head."""
    statements = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.stmt)]
    lines = [node.lineno for node in statements if not isinstance(getattr(node, "value", None), ast.Constant)]
    assert len(lines) == len(set(lines))


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_strings_have_double_quotes(path: Path) -> None:
    """But those that contain some."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    single = [token for token in tokens if token.type == tokenize.STRING and token.string.startswith("'")]
    assert [token.string for token in single if '"' not in token.string] == []


@pytest.fixture(scope="module")
def plan() -> Plan:
    own_plan = own_analysis().plan
    assert own_plan is not None
    return own_plan


FORMULA = re.compile(
    r"^ *(?:#|//) (derivatives|native_functions)\.yaml:(\d+)  (?!elementwise|composite|foreach)(.*)", re.MULTILINE
)


def test_each_gradient_of_python_has_its_formula_above_it(plan: Plan) -> None:
    text = (GENERATED / "nodes.py").read_text(encoding="utf-8")
    derived = {
        text.value
        for operator in plan.operators
        if operator.compute.elementwise is not None
        for text, _ in operator.autograd.formulas
        if text.file.path == "native_functions.yaml"
    }
    yaml = (ROOT / "derivatives.yaml").read_text(encoding="utf-8").splitlines()
    formulas = [gradient for node in plan.nodes for gradient in node.gradients]
    comments = FORMULA.findall(text)
    assert len(comments) == len(formulas)
    for (file, line, formula), gradient in zip(comments, formulas, strict=True):
        names, _, expression = formula.partition(": ")
        assert names == ", ".join(gradient.names)
        word = expression.split()[0]
        if file == "native_functions":
            assert any(each.startswith(word) for each in derived), (line, formula)
            continue
        assert any(word in yaml[number - 1] for number in (int(line), int(line) + 1)), (line, formula)


def test_each_jvp_has_its_formula_above_it(plan: Plan) -> None:
    forwards = [operator.autograd.forward for operator in plan.operators if operator.autograd.forward is not None]
    comments = FORMULA.findall((GENERATED / "operators.py").read_text(encoding="utf-8"))
    assert len(comments) == sum(len(forward.formulas) for forward in forwards) > 200


def test_each_gradient_of_cpp_has_its_formula_above_it(plan: Plan) -> None:
    structs = gradients = 0
    for path in CPP:
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(r"^bool (\w+)::apply\(.*?\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            structs += 1
            node = next(node for node in plan.nodes if node.class_name == name)
            shown = [gradient for gradient in node.gradients if f"  // {gradient.written}\n" in body]
            gradients += len(shown)
            assert len(shown) == len(node.gradients) or "raise_not_implemented" in body, name
    assert structs > 200
    assert gradients > 300


def test_gradients_that_are_not_implemented_have_it_too(emitted: Callable[..., dict[str, str]]) -> None:
    text = emitted(
        "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n",
        '- name: f(Tensor self) -> Tensor\n  self: not_implemented("hidden away")\n',
        kernels="def f(self): ...\n",
    )["nodes.py"]
    assert '# derivatives.yaml:2  self: not_implemented("hidden away")\n        raise not_implemented_error(' in text


# -- how Python code is put together


def test_operators_in_operators_are_bracketed() -> None:
    assert any_of(["first"]) == "first"
    assert any_of(["first", all_of(["second", "third"])]) == "first or (second and third)"
    assert all_of([any_of(["a", "b"]), "not c"]) == "(a or b) and not c"
    assert all_of([choice("a", "b", "c"), "d"]) == "(a if b else c) and d"
    assert call("f", (choice("a", "b", "c"), all_of(["d", "e"]))) == "f(a if b else c, d and e)"


def test_a_statement_is_a_line() -> None:
    out = Lines()
    with out.when([any_of(["first", "second"]), "third"]):
        out.assign(["one", "other"], call("f", ("a" * 100, "b" * 100)))
    with out.when([]):
        out.add("return one")
    one, other = f"        one, other = f({'a' * 100}, {'b' * 100})", "    return one"
    assert out.lines == ["    if (first or second) and third:", one, other]


def test_literals() -> None:
    values = (
        "text",
        "it's",
        'a "word"',
        "both ' and \"",
        "back\\slash\n",
        ("one",),
        ["a", 1],
        {"key": (None, 1.5)},
        -1,
    )
    assert [ast.literal_eval(literal(value)) for value in values] == list(values)
    assert literal("it's") == '"it\'s"'
    assert literal('a "word"') == "'a \"word\"'"
    assert literal(("one",)) == '("one",)'
