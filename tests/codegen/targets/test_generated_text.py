"""What generated code looks like: lengths of lines, kinds of quotes, and a formula above each gradient."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codegen.plan.plan import Plan
from codegen.targets.literals import literal
from codegen.targets.python import document
from codegen.targets.python.document import (
    COLUMNS,
    STEP,
    Assignment,
    Brackets,
    Joined,
    all_of,
    any_of,
    bracketed,
    call,
    choice,
    comment,
    comprehension,
    dictionary,
    display,
    docstring,
    entry,
    laid_out,
    tuple_of,
)
from support.documents import ROOT
from support.own_project import own_analysis

GENERATED = ROOT / "generated"
PYTHON = sorted([*GENERATED.glob("*.py"), *GENERATED.glob("*.pyi")])
CPP = sorted([*GENERATED.glob("cpp/*.cpp"), *GENERATED.glob("cpp/*.hpp")])


@pytest.mark.parametrize("path", [*PYTHON, *CPP], ids=lambda path: path.name)
def test_lines_are_not_longer_than_120_columns(path: Path) -> None:
    """But those of examples in docstrings, which have the width of what they print."""
    lines = path.read_text(encoding="utf-8").splitlines()
    examples = set(_lines_of_docstrings(path)) if path.suffix == ".py" else set()
    assert [f"{n}: {line}" for n, line in enumerate(lines, 1) if len(line) > COLUMNS and n not in examples] == []


def _lines_of_docstrings(path: Path) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.STRING and ">>> " in token.string:
            yield from range(token.start[0], token.end[0] + 1)


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
        if operator.elementwise is not None
        for text, _ in operator.formulas
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
    forwards = [operator.forward for operator in plan.operators if operator.forward is not None]
    comments = FORMULA.findall((GENERATED / "operators.py").read_text(encoding="utf-8"))
    assert len(comments) == sum(len(forward.formulas) for forward in forwards) > 200


def test_each_gradient_of_cpp_has_its_formula_above_it(plan: Plan) -> None:
    structs = gradients = 0
    for path in CPP:
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(r"^bool (\w+)::apply\(.*?\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            structs += 1
            node = next(node for node in plan.nodes if node.class_name == name)
            whole = re.sub(r"\n *//     ", " ", body)  # a long one goes on in deeper indented lines
            shown = [gradient for gradient in node.gradients if f"  // {gradient.written}\n" in whole]
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


# -- documents, at 40 columns

ARGUMENTS = ("first_argument", "second_argument")
LAID_OUT = [
    (
        Joined("x = ", call("call", ARGUMENTS)),
        """\
x = call(
    first_argument, second_argument
)""",
    ),
    (
        Joined("return ", call("call", ("first_argument", call("inner", ("second_argument", "third_argument", "a"))))),
        """\
return call(
    first_argument,
    inner(
        second_argument,
        third_argument,
        a,
    ),
)""",
    ),
    (
        Joined("if ", all_of(("first_condition", "not second_condition")), ":"),
        """\
if (
    first_condition
    and not second_condition
):""",
    ),
    (
        Joined("if ", Joined("not ", bracketed(any_of(("first", all_of(("second", "third")), "fourth")))), ":"),
        """\
if not (
    first
    or (second and third)
    or fourth
):""",
    ),
    (
        Joined("value = ", choice("one_choice", "condition", "another_choice")),
        """\
value = (
    one_choice
    if condition
    else another_choice
)""",
    ),
    (
        Joined("value = ", comprehension(choice("None", "each is None", "f(i)"), "i, each", "enumerate(all)")),
        """\
value = [
    None if each is None else f(i)
    for i, each in enumerate(all)
]""",
    ),
    (
        Assignment(("first_gradient", "second_gradient", "third_gradient"), call("helper", ("1",))),
        """\
(
    first_gradient,
    second_gradient,
    third_gradient,
) = helper(1)""",
    ),
    (
        Brackets("def function(", ("argument", "*", "keyword_only=None"), "):"),
        """\
def function(
    argument, *, keyword_only=None
):""",
    ),
    (
        call("f", (Joined("kernels=", dictionary([("'CPU'", "one_kernel"), ("'CUDA'", "another_kernel")])),)),
        """\
f(
    kernels={
        'CPU': one_kernel,
        'CUDA': another_kernel,
    }
)""",
    ),
    (
        entry("'a_name_that_is_long'", "function_whose_name_is_too"),
        """\
'a_name_that_is_long': (
    function_whose_name_is_too
)""",
    ),
    (
        tuple_of([call("one_element", ("that", "does", "not", "fit", "in", "a_line"))]),
        """\
(
    one_element(
        that, does, not, fit, in, a_line
    ),
)""",
    ),
    (
        Joined(call("function_of", ("several", "arguments", "in_brackets")), "[", "0", "]"),
        """\
function_of(
    several, arguments, in_brackets
)[0]""",
    ),
    (
        display("add(Tensor self, Tensor other) -> Tensor"),
        """\
"add(Tensor self, Tensor other) -> "
"Tensor\"""",
    ),
    (
        display('T(3), rounding_mode="floor", out=T(3, 3)'),
        """\
'T(3), rounding_mode="floor", out=T(3, '
"3)\"""",
    ),
    (
        Joined("x = ", call("call", (display("a, text (of, brackets"), "argument"))),
        """\
x = call(
    "a, text (of, brackets", argument
)""",
    ),
]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "COLUMNS", 40)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("code", "expected"), LAID_OUT)
def test_a_long_line_is_broken(code: str, expected: str) -> None:
    assert laid_out(code) == expected


@pytest.mark.parametrize("code", [code for code, _ in LAID_OUT])
def test_a_short_line_stays_as_it_is(code: str) -> None:
    assert laid_out(code) == code


@pytest.mark.parametrize(
    ("code", "lines"), [pair for pair in LAID_OUT if re.match(r"[\w\"(][^:]*$", pair[0]) and " not, " not in pair[0]]
)
def test_broken_code_means_the_same(code: str, lines: str) -> None:
    assert ast.dump(ast.parse(f"({lines})" if lines[0] in "\"'" else lines)) == ast.dump(ast.parse(code))


@pytest.mark.usefixtures("narrow")
def test_what_follows_has_room_too() -> None:
    assert laid_out(call("call", ("a" * 15, "b" * 17))) == f"call({'a' * 15}, {'b' * 17})"
    assert laid_out(call("call", ("a" * 15, "b" * 17)), after=",") == f"call(\n    {'a' * 15}, {'b' * 17}\n),"
    assert laid_out(call("call", ("a" * 15, "b" * 17)), " ") == f"call(\n     {'a' * 15}, {'b' * 17}\n )"


@pytest.mark.usefixtures("narrow")
def test_comments_and_docstrings_are_wrapped() -> None:
    assert comment("derivatives.yaml:32  self: grad * other.conj()", STEP) == [
        "    # derivatives.yaml:32  self: grad *",
        "    #     other.conj()",
    ]
    assert docstring("add(Tensor self, Tensor other) -> Tensor", STEP) == (
        '"""add(Tensor self, Tensor other) ->\n    Tensor"""'
    )
    assert docstring('a "word"', STEP) == "'a \"word\"'"


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
    assert [display(value) for value in values] == [literal(value) for value in values]
    assert literal("it's") == '"it\'s"'
    assert literal('a "word"') == "'a \"word\"'"
    assert literal(("one",)) == '("one",)'
