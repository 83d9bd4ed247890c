"""A line above an entry: what is proven of the operator, what its Node saves, and how much memory that is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.lsp.analysis import State
from codegen.lsp.project import Role
from codegen.plan.memory import Array, arrays_of, kept
from codegen.plan.node import NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.read.samples import parse_sample
from codegen.source import ParseError, Span, Text
from codegen.words import counted

# What Tensors of samples are taken for: float32, as Tensors are where nothing else is said.
_ELEMENT_TYPE = "float32"


@dataclass(frozen=True)
class Lens:
    """A line above a place."""

    span: Span
    title: str


def lenses(state: State, path: Path) -> list[Lens]:
    """The lines above the entries of a file, of which something is known."""
    role = state.role(path)
    names: Iterator[tuple[str, Text]]
    if role is Role.DERIVATIVES:
        names = ((str(entry.schema.name), entry.text) for entry in state.analysis.result.entries)
    elif role is Role.OPERATORS:
        names = ((str(function.name), function.text) for function in state.analysis.result.functions)
    else:
        return []
    found = []
    for name, text in names:
        place, span = state.now(text.span())
        title = " | ".join(_parts(state, name))
        if place == path and title:
            found.append(Lens(span, title))
    return found


def _parts(state: State, name: str) -> Iterator[str]:
    proven = _proven(state, name)
    if proven:
        yield proven
    operator = state.analysis.operators.get(name)
    node = None if operator is None else operator.autograd.node
    if operator is not None and node is not None:
        names = ", ".join(variable.name for variable in node.saved)
        yield f"saves {names}{_bytes(operator, node)}" if names else "saves nothing"


def _proven(state: State, name: str) -> str:
    """What is proven, in numbers."""
    if (doubt := state.analysis.not_proven(name)) is not None:
        return doubt
    row = state.analysis.proven.get(name)
    if row is None:
        return ""
    text = f"{counted(len(row['proven'].split()), 'property')} proven"
    skipped, conventions = len(row.get("skipped", {})), len(row.get("conventions", {}))
    text += f", {skipped} skipped" if skipped else ""
    return text + (f", {conventions} by convention" if conventions else "")


def _bytes(operator: OperatorPlan, node: NodePlan) -> str:
    """How much memory a Node keeps for Tensors of the first sample, where that tells their shapes."""
    sample = next(iter(operator.samples), None)
    shapes = None if sample is None else _shapes(sample)
    if not shapes:
        return ""
    try:
        arrays = arrays_of(operator, shapes)
    except ValueError:
        return ""  # it has lists of Tensors, or not all of them stand in front
    total = sum(array.bytes for array in kept(node.saved, arrays))
    return f": {total:,} bytes for {sample}" if total else ""


def _shapes(sample: str) -> list[tuple[Array, ...]]:
    """The shapes of the Tensors with which a sample begins, `T(3, 4)`."""
    found: list[tuple[Array, ...]] = []
    try:
        call = parse_sample(sample)
    except ParseError:
        return []
    for value in call.args:
        match value:
            case ast.Call(func=ast.Name(id="T"), args=sizes, keywords=[]):
                numbers = [size.value for size in sizes if isinstance(size, ast.Constant)]
                shape = tuple(number for number in numbers if isinstance(number, int))
                if len(shape) < len(sizes):
                    return []
                found.append((Array(shape, _ELEMENT_TYPE),))
            case _:
                break
    return found
