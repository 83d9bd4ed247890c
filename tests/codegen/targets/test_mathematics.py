"""Formulas as mathematics: each of these is well-formed MathML, and is what the golden file has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from codegen import pipeline
from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import TypedExpr
from codegen.paths import project_paths
from codegen.plan.operator import OperatorPlan
from codegen.targets.docs.mathematics import MathPrinter
from codegen.targets.docs.mathml import Binding, Term, fraction, infix, negative, number
from codegen.targets.docs.notation import power, product, total

GOLDEN = Path(__file__).parent / "golden" / "mathematics.txt"
# Operators and what is shown of them: the value, or the derivative by an argument, or the tangent of a result.
SHOWN = (
    "add.Tensor value", "add.Tensor other", "mul.Tensor self", "mul.Tensor result", "div.Tensor other", "exp self",
    "tanh self", "sqrt self", "reciprocal self", "mm value", "mm self", "sum.dim_IntList value", "prod value",
    "softplus value", "softplus self", "gelu value", "clamp value", "where.self self", "cumsum self", "erf self",
    "pow.Tensor_Scalar self", "atan2 self", "leaky_relu value", "sigmoid self", "log1p self", "lerp.Tensor self",
    "native_layer_norm input", "cat tensors", "logsumexp self", "linalg_vector_norm value", "bmm self", "abs self",
)  # fmt: skip


@cache
def known() -> tuple[Mapping[str, OperatorPlan], Mapping[str, ResolvedEntry], Mapping[str, TypedExpr]]:
    result = pipeline.analyze(project_paths(), checks=False)
    assert result.plan is not None
    operators = {str(operator.name): operator for operator in result.plan.operators}
    entries = {str(entry.function.name): entry for entry in result.resolved}
    expressions = {
        name: each.compute.elementwise.formula for name, each in operators.items() if each.compute.elementwise
    }
    return operators, entries, expressions


def shown(name: str, part: str) -> str:
    operators, entries, expressions = known()
    operator = operators[name]
    printer = MathPrinter(operator.schema, expressions)
    if part == "value":
        compute = operator.compute
        if compute.elementwise is not None:
            text = printer.value(compute.elementwise.formula)
        else:
            text = printer.call() if compute.composite is None else printer.value(compute.composite.tree)
    else:
        entry = entries[name]
        formulas = [(each, False) for each in entry.backward] + [(each, True) for each in entry.forward]
        text = next(printer.derivative(each, forward) for each, forward in formulas if part in each.names)
    assert text is not None
    return text


def test_formulas_are_as_the_golden_file_has_them(update_goldens: bool) -> None:
    lines = []
    for case in SHOWN:
        text = shown(*case.split())
        ElementTree.fromstring(text)
        lines += [f"# {case}", text, ""]
    printed = "\n".join(lines)
    if update_goldens:
        GOLDEN.write_text(printed, encoding="utf-8")
    assert printed == GOLDEN.read_text(encoding="utf-8"), "run pytest with --update-goldens, and look at the changes"


def test_every_formula_of_the_project_is_well_formed() -> None:
    operators, entries, expressions = known()
    printed = 0
    for name, operator in operators.items():
        printer = MathPrinter(operator.schema, expressions)
        entry = entries.get(name)
        texts = [printer.call()]
        texts += [] if entry is None else [printer.derivative(each, False) for each in entry.backward]
        texts += [] if entry is None else [printer.derivative(each, True) for each in entry.forward]
        for text in filter(None, texts):
            ElementTree.fromstring(text)
            printed += 1
    assert printed > 900


X, Y = Term("<mi>x</mi>"), Term("<mi>y</mi>")


def text_of(term: Term) -> str:
    return "".join(ElementTree.fromstring(f"<math>{term.markup}</math>").itertext())


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (product(total(X, Y), X), "(x+y)⋅x"),
        (total(X, total(X, Y)), "x+x+y"),
        (total(X, total(X, Y), "−"), "x−(x+y)"),  # noqa: RUF001
        (product(X, product(X, Y)), "x⋅(x⋅y)"),
        (product(Term(number("2"), is_number=True), X), "2\u2062x"),
        (product(X, Term(number("1"), is_number=True)), "x"),
        (negative(total(X, Y)), "−(x+y)"),  # noqa: RUF001
        (negative(product(X, Y)), "−x⋅y"),  # noqa: RUF001
        (product(negative(X), Y), "−x⋅y"),  # noqa: RUF001
        (product(negative(X), negative(X)), "x2"),
        (total(X, negative(Y)), "x−y"),  # noqa: RUF001
        (total(X, negative(total(X, Y))), "x−(x+y)"),  # noqa: RUF001
        (fraction(negative(X), Y), "−xy"),  # noqa: RUF001
        (power(negative(X), "<mn>2</mn>"), "(−x)2"),  # noqa: RUF001
        (power(power(X, "<mn>2</mn>"), "<mn>3</mn>"), "(x2)3"),
        (fraction(total(X, Y), X), "x+yx"),
        (infix("<", total(X, Y), X, Binding.RELATION), "x+y<x"),
    ],
)
def test_brackets_stand_where_they_are_needed(term: Term, text: str) -> None:
    assert text_of(term) == text
