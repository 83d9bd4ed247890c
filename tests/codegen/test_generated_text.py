"""What generated code looks like: lengths of lines, kinds of quotes, and a formula above each gradient."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.paths import project_paths
from codegen.pipeline import analyze
from codegen.plan.plan import Plan
from codegen.targets.literals import literal
from codegen.targets.python import folding
from codegen.targets.python.folding import COLUMNS, folded

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "generated"
PYTHON = sorted([*GENERATED.glob("*.py"), *GENERATED.glob("*.pyi")])
CPP = sorted([*GENERATED.glob("cpp/*.cpp"), *GENERATED.glob("cpp/*.hpp")])


@pytest.mark.parametrize("path", [*PYTHON, *CPP], ids=lambda path: path.name)
def test_lines_are_not_longer_than_120_columns(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, 1) if len(line) > COLUMNS] == []


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_strings_have_double_quotes(path: Path) -> None:
    """But those that contain some."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    single = [token for token in tokens if token.type == tokenize.STRING and token.string.startswith("'")]
    assert [token.string for token in single if '"' not in token.string] == []


@pytest.fixture(scope="module")
def plan() -> Plan:
    made = analyze(project_paths()).plan
    assert made is not None
    return made


FORMULA = re.compile(r"^ *(?:#|//) derivatives\.yaml:(\d+)  (.*)", re.MULTILINE)


def test_each_gradient_of_python_has_its_formula_above_it(plan: Plan) -> None:
    text = (GENERATED / "nodes.py").read_text(encoding="utf-8")
    yaml = (ROOT / "derivatives.yaml").read_text(encoding="utf-8").splitlines()
    formulas = [gradient for node in plan.nodes for gradient in node.gradients]
    comments = FORMULA.findall(text)
    assert len(comments) == len(formulas)
    for (line, formula), gradient in zip(comments, formulas, strict=True):
        names, _, expression = formula.partition(": ")
        assert names == ", ".join(gradient.names)
        word = expression.split()[0]
        assert any(word in yaml[number - 1] for number in (int(line), int(line) + 1)), (line, formula)


def test_each_jvp_has_its_formula_above_it(plan: Plan) -> None:
    forwards = [operator.forward for operator in plan.operators if operator.forward is not None]
    comments = FORMULA.findall((GENERATED / "operators.py").read_text(encoding="utf-8"))
    assert len(comments) == sum(len(forward.formulas) for forward in forwards) > 200


def test_each_gradient_of_cpp_has_its_formula_above_it(plan: Plan) -> None:
    formulas = {gradient.source for node in plan.nodes for gradient in node.gradients}
    structs = gradients = 0
    for path in CPP:
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(r"^bool (\w+)::apply\(.*?\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            structs += 1
            node = next(node for node in plan.nodes if node.class_name == name)
            comments = FORMULA.findall(body)
            gradients += len(comments)
            assert len(comments) == len(node.gradients) or "raise_not_implemented" in body, name
            assert all(
                any(source.startswith(f"derivatives.yaml:{line}  ") for source in formulas) for line, _ in comments
            )
    assert structs > 200
    assert gradients > 300


def test_gradients_that_are_not_implemented_have_it_too(emitted: Callable[..., dict[str, str]]) -> None:
    text = emitted(
        "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n",
        '- name: f(Tensor self) -> Tensor\n  self: not_implemented("hidden away")\n',
        kernels="def f(self): ...\n",
    )["nodes.py"]
    assert '# derivatives.yaml:2  self: not_implemented("hidden away")\n        raise not_implemented_error(' in text


# -- folding, at 40 columns

FOLDED = [
    """\
x = call(first_argument, second_argument)
""",
    """\
x = call(
    first_argument, second_argument
)
""",
    """\
return call(first_argument, inner(second_argument, third_argument, a))
""",
    """\
return call(
    first_argument,
    inner(
        second_argument,
        third_argument,
        a,
    ),
)
""",
    """\
if first_condition and not second_condition:
""",
    """\
if (
    first_condition
    and not second_condition
):
""",
    """\
if not (first or second and third or fourth and fifth):
""",
    """\
if not (
    first
    or second and third
    or fourth and fifth
):
""",
    """\
value = one_choice if condition else another_choice
""",
    """\
value = (
    one_choice
    if condition
    else another_choice
)
""",
    """\
value = [function(each) for each in whatever if each]
""",
    """\
value = [
    function(each)
    for each in whatever
    if each
]
""",
    """\
first_gradient, second_gradient, third_gradient = helper(1)
""",
    """\
(
    first_gradient,
    second_gradient,
    third_gradient,
) = helper(1)
""",
    """\
def function(argument, *, keyword_only=None):
""",
    """\
def function(
    argument, *, keyword_only=None
):
""",
    """\
    overloads={"Tensor": add_Tensor, "Scalar": add_Scalar},
""",
    """\
    overloads={
        "Tensor": add_Tensor,
        "Scalar": add_Scalar,
    },
""",
    """\
    "add(Tensor self, Tensor other) -> Tensor",
""",
    """\
    "add(Tensor self, Tensor other) "
    "-> Tensor",
""",
    """\
    'T(3), rounding_mode="floor", out=T(3, 3)',
""",
    """\
    'T(3), rounding_mode="floor", '
    "out=T(3, 3)",
""",
    """\
    # derivatives.yaml:32  self: grad * other.conj()
""",
    """\
    # derivatives.yaml:32  self: grad *
    #     other.conj()
""",
    """\
x = call("a, text (of, brackets", argument)
""",
    """\
x = call(
    "a, text (of, brackets", argument
)
""",
]
FOLDED += [
    """\
value = [None if each is None else f(i) for i, each in enumerate(all)]
""",
    """\
value = [
    None if each is None else f(i)
    for i, each in enumerate(all)
]
""",
]
PAIRS = list(zip(FOLDED[::2], FOLDED[1::2], strict=True))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "COLUMNS", 40)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("line", "lines"), PAIRS)
def test_a_long_line_is_folded_at_its_brackets(line: str, lines: str) -> None:
    assert folded(line) == lines


def test_short_lines_stay_as_they_are() -> None:
    text = "x = f(1,\n  2)\n\n# a comment\n"
    assert folded(text) == text


@pytest.mark.parametrize(("line", "lines"), [pair for pair in PAIRS if re.match(r"\w.*[^:]\n", pair[0])])
def test_folded_code_means_the_same(line: str, lines: str) -> None:
    assert ast.dump(ast.parse(lines)) == ast.dump(ast.parse(line))


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
