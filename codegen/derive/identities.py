"""Formulas simplified by identities, which stand in a file beside this module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from codegen.bind.call_targets import OperatorTable
from codegen.bind.formulas import FormulaResolver
from codegen.bind.scope import Scope
from codegen.formula.parser import parse_formula
from codegen.formula.structure import structure
from codegen.formula.typed import (
    HelperCall,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    conversion_cost,
    rewrite,
    rewrite_parts,
)
from codegen.read.files import read_native_functions
from codegen.read.model import NativeFunction
from codegen.schema.types import Type
from codegen.signs import ADDITION, MULTIPLICATION
from codegen.source import Diagnostics, SourceFile, Text
from codegen.words import TAGS

_FILE = Path(__file__).with_name("identities.yaml")
_OVER = "- func: identity(Tensor x, Tensor y, Scalar a) -> Tensor\n"
_MOST = 100  # rewritings of one formula


@dataclass(frozen=True, slots=True)
class Identity:
    """Two expressions of one value, the second of which is the better one."""

    pattern: TypedExpr
    better: TypedExpr


class Identities:
    """The identities that can be said with the operators of a table."""

    def __init__(self, table: OperatorTable) -> None:
        self._commuting = {
            str(function.name)
            for sign in (ADDITION, MULTIPLICATION)
            if (named := table.written(sign)) is not None
            for function in table.overloads(named.name.base)
        }
        self._table = table

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[Identity]]:
        """Those of the file by what they are about; most runs derive nothing, and need none."""
        found: dict[str, list[Identity]] = {}
        for identity in _read(self._table):
            found.setdefault(_called(identity.pattern), []).append(identity)
        return found

    def simplified(self, expr: TypedExpr) -> TypedExpr:
        """The same value by a better expression, from the inside out."""
        left = _MOST

        def change(part: TypedExpr) -> TypedExpr:
            nonlocal left
            part = rewrite_parts(part, change)
            while left and (better := self._better(part)) is not None:
                left -= 1
                part = rewrite_parts(better, change)
            return part

        return change(expr)

    def _better(self, part: TypedExpr) -> TypedExpr | None:
        for identity in self._by_name.get(_called(part), ()):
            for found in self._matches(identity.pattern, part, {}):
                return _with(found, identity.better)
        return None

    def _matches(
        self, pattern: TypedExpr, part: TypedExpr, known: Mapping[str, TypedExpr]
    ) -> Iterator[Mapping[str, TypedExpr]]:
        """What the variables of a pattern stand for, in all the ways in which it matches."""
        match pattern:
            case Variable():
                if pattern.name in known:
                    if structure(known[pattern.name]) == structure(part):
                        yield known
                elif _fits(part.type, pattern.type):
                    yield {**known, pattern.name: part}
            case Literal():
                if isinstance(part, Literal) and part.value == pattern.value:
                    yield known
            case OperatorCall() | HelperCall():
                if not isinstance(part, OperatorCall | HelperCall) or _called(part) != _called(pattern):
                    return
                if [name for name, _ in part.args] != [name for name, _ in pattern.args]:
                    return
                wanted, given = ([value for _, value in call.args] for call in (pattern, part))
                yield from self._all(wanted, given, known)
                if _called(pattern) in self._commuting and len(given) == 2:
                    yield from self._all(wanted, given[::-1], known)

    def _all(
        self, wanted: Sequence[TypedExpr], given: Sequence[TypedExpr], known: Mapping[str, TypedExpr]
    ) -> Iterator[Mapping[str, TypedExpr]]:
        if not wanted:
            yield known
            return
        for found in self._matches(wanted[0], given[0], known):
            yield from self._all(wanted[1:], given[1:], found)


def _called(expr: TypedExpr) -> str:
    """The name of what a call is of; that of a helper with parentheses, since operators may have the same."""
    match expr:
        case OperatorCall():
            return str(expr.schema.name)
        case HelperCall():
            return f"{expr.helper.name}()"
    return ""


def _with(values: Mapping[str, TypedExpr], tree: TypedExpr) -> TypedExpr:
    """An expression with what its variables stand for."""
    return rewrite(tree, lambda part: values.get(part.name) if isinstance(part, Variable) else None)


def _fits(given: object, wanted: object) -> bool:
    if given == wanted:
        return True
    return (
        isinstance(wanted, Type)
        and isinstance(given, Type)
        and str(wanted) == "Scalar"
        and (conversion_cost(given, wanted) is not None)
    )


def _read(table: OperatorTable) -> Iterator[Identity]:
    """Those of the file whose operators are there."""
    functions = read_native_functions(SourceFile("<identities>", _OVER), Diagnostics(), TAGS)
    for entry in yaml.safe_load(_FILE.read_text(encoding="utf-8")):
        ((pattern, better),) = entry.items()
        trees = [_bound(text, functions[0], table) for text in (pattern, better)]
        if trees[0] is not None and trees[1] is not None:
            assert _called(trees[0]), "an identity is about a call"
            yield Identity(trees[0], trees[1])


def _bound(text: str, function: NativeFunction, table: OperatorTable) -> TypedExpr | None:
    scope = Scope(function, (), knows_results=False)
    place = Text.literal(text)
    tree = FormulaResolver(table, scope, place, Diagnostics()).resolve(parse_formula(text))
    assert tree is None or not isinstance(tree, Variable) or tree.kind is VariableKind.INPUT
    return tree
