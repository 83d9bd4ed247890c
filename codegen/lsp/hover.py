"""What is known of what stands at a place, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.bind.scope import MEANINGS
from codegen.editor_schemas import derivative_keys
from codegen.formula.typed import (
    Helper,
    HelperCall,
    Intrinsic,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
)
from codegen.lsp.analysis import State
from codegen.lsp.entries import FormulaAt
from codegen.lsp.project import Role
from codegen.lsp.subjects import Argument, Expression, Function, Kernel, Key, Operator, Subject, subject_at
from codegen.plan.node import NodePlan
from codegen.plan.saved import plan_saved
from codegen.python_source import PythonFunction
from codegen.read.keys import FORMER_NAMES, KEYS
from codegen.read.model import NativeFunction
from codegen.source import Span
from codegen.targets.docs.explain import saved_as


@dataclass(frozen=True)
class Hover:
    """A text in Markdown, and what it is about."""

    text: str
    span: Span


def hover(state: State, path: Path, offset: int) -> Hover | None:
    """What is known of what stands at a place; None where nothing is."""
    subject = subject_at(state, path, offset)
    if subject is None:
        return None
    text = "\n\n".join(_paragraphs(state, subject))
    return Hover(text, subject.span) if text else None


def _paragraphs(state: State, subject: Subject) -> Iterator[str]:
    match subject:
        case Expression(value=None):
            pass
        case Expression():
            yield from _of_expression(state, subject.formula, subject.value)
        case Operator():
            yield from operator_text(state, subject.name)
        case Argument():
            yield from _of_argument(subject)
        case Key():
            yield from _of_key(subject)
        case Kernel():
            function = state.analysis.python_function(subject.name, subject.is_composite)
            if function is not None:
                yield from _of_function(function)
        case Function():
            yield from _of_function(subject.function)
            if subject.role is not Role.HELPERS:
                users = state.analysis.kernel_users.get(subject.function.name, ())
                yield from (_code(f"- func: {user.schema}", "yaml") for user in users)


def _of_expression(state: State, formula: FormulaAt, value: TypedExpr | None) -> Iterator[str]:
    match value:
        case None:
            return
        case Variable():
            yield _code(f"{value.name}: {value.type}")
            yield f"{_meaning(value)} of `{formula.function.name}`"
        case OperatorCall():
            yield from operator_text(state, str(value.schema.name), is_short=True)
        case HelperCall():
            yield from helper_text(value.helper)
        case Intrinsic():
            yield _code(f"{value.spelling or value.name}: {value.type}")
            yield "Known of the value without computing."
        case _:
            yield _code(str(value.type))
    if formula.is_backward and value is not None:
        yield _saved_for(value, formula)


def _meaning(variable: Variable) -> str:
    if variable.kind is VariableKind.TANGENT:
        return "the tangent of an argument"
    text = MEANINGS.get(variable.kind, "a gradient that comes in")
    return text if variable.kind is VariableKind.INPUT or not variable.index else f"{text}, number {variable.index},"


def _saved_for(value: TypedExpr, formula: FormulaAt) -> str:
    """What the Node keeps because of an expression of a backward formula."""
    schema = formula.function.schema
    saved, _ = plan_saved([value], schema)
    names = [f"`{variable.name}`" for variable in saved]
    return f"Saved because of this: {', '.join(names)}." if names else "Nothing is saved because of this."


def operator_text(state: State, name: str, is_short: bool = False) -> Iterator[str]:
    """What an operator is: signature, documentation, formulas, what is saved, what is proven."""
    function = state.analysis.functions.get(name)
    if function is None:
        return
    yield _code(str(function.schema))
    about = documentation(state, function)
    if about:
        yield about
    plan = state.analysis.operators.get(name)
    if plan is None or is_short:
        return
    formulas = [" ".join(text.split()) for text in plan.autograd.formula_texts]
    if formulas:
        yield _code("\n".join(formulas), "yaml")
    for node in plan.autograd.nodes:
        yield f"Saved by `{node.class_name}`: {saved_text(node)}."
    proven = proven_text(state, name)
    if proven:
        yield f"{proven.capitalize()}."


def documentation(state: State, function: NativeFunction) -> str:
    """The first paragraph of the docstring of an operator's function."""
    for line in function.dispatch:
        for is_composite in (False, True):
            definition = state.analysis.python_function(line.kernel.value, is_composite)
            if definition is not None and definition.about:
                return definition.about
    definition = state.analysis.python_function(function.name.python_name, True)
    return definition.about if definition is not None and not function.dispatch else ""


def saved_text(node: NodePlan) -> str:
    """What a Node keeps."""
    return "; ".join(saved_as(variable, node) for variable in node.saved) or "nothing"


def proven_text(state: State, name: str) -> str:
    """What is proven of an operator, as far as the ledger and the proofs of rules tell."""
    if (doubt := state.analysis.not_proven(name)) is not None:
        return doubt
    row = state.analysis.proven.get(name)
    if row is None:
        return ""
    skipped, conventions = row.get("skipped", {}), row.get("conventions", {})
    parts = [f"proven: {row['proven']}" if row["proven"] else "nothing proven"]
    parts += [f"skipped: {' '.join(skipped)}"] if skipped else []
    parts += [f"by convention: {' '.join(conventions)}"] if conventions else []
    return "; ".join(parts)


def helper_text(helper: Helper) -> Iterator[str]:
    """What a helper is."""
    yield _code(str(helper))
    if helper.function is None:
        yield "Declared, and not implemented: a call of it fails."
    elif helper.function.about:
        yield helper.function.about


def _of_argument(subject: Argument) -> Iterator[str]:
    schema = subject.function.schema
    for argument in schema.all_arguments:
        if argument.name == subject.name:
            yield _code(str(argument))
            yield f"an argument of `{schema.name}`"
            return
    for index, result in enumerate(schema.returns):
        if subject.name in (result.name, "result", f"result{index}"):
            yield _code(str(result.type))
            yield f"a result of `{schema.name}`"
            return


def _of_key(subject: Key) -> Iterator[str]:
    if subject.role is Role.OPERATORS:
        name = FORMER_NAMES.get(subject.name, subject.name)
        documented = {key.name: key.documentation for key in KEYS}
    else:
        name, documented = subject.name, dict(derivative_keys())
    if name in documented:
        yield f"`{name}`: {documented[name]}"


def _of_function(function: PythonFunction) -> Iterator[str]:
    yield _code(f"def {function.signature}" if function.parameters is not None else f"np.{function.alias}", "python")
    if function.about:
        yield function.about


def _code(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"
