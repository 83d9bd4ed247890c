"""The declarations of several helper files: which of them a name means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from codegen.formula.typed import TENSOR, formula_type
from codegen.read.model import HelperDeclaration
from codegen.schema.types import FunctionSchema, OptionalType, Type

Overloads = Mapping[str, Sequence[HelperDeclaration]]


def by_name(declarations: Iterable[HelperDeclaration]) -> Overloads:
    """Declarations by the base names that formulas call them by."""
    groups: dict[str, list[HelperDeclaration]] = {}
    for declaration in declarations:
        groups.setdefault(declaration.schema.name.base, []).append(declaration)
    return groups


def together(first: Overloads, rest: Overloads) -> Overloads:
    """A name means what the first file declares that declares it at all.

    Where the rest says the same in other words, these are kept: functions of Python are found by the overload and by
    the names of parameters, and C++ has no overload names.
    """
    said = {base: [_said(each, rest.get(base, ())) for each in group] for base, group in first.items()}
    return {**rest, **said}


def _said(declaration: HelperDeclaration, others: Iterable[HelperDeclaration]) -> HelperDeclaration:
    return next((other for other in others if _same(declaration.schema, other.schema)), declaration)


def _same(one: FunctionSchema, other: FunctionSchema) -> bool:
    """Whether two declarations are of the same parameters, which may be called otherwise, and of the same results."""
    if _types(one) != _types(other) or [_type(r.type) for r in one.returns] != [_type(r.type) for r in other.returns]:
        return False
    names, others = ([_plain(argument.name) for argument in schema.arguments] for schema in (one, other))
    # What stands in another place is another parameter, whatever its type.
    return all(a == b or (a not in others and b not in names) for a, b in zip(names, others, strict=True))


def _types(schema: FunctionSchema) -> list[tuple[Type, bool]]:
    return [(_type(argument.type), argument.default is not None) for argument in schema.arguments]


def _type(type: Type) -> Type:
    """A type, in which an undefined Tensor is one as well."""
    type = formula_type(type)
    return TENSOR if type == OptionalType(TENSOR) else type


def _plain(name: str) -> str:
    """`opt_dim`, `dim_opt` and `dim_` are spellings of `dim` in C++."""
    return name.strip("_").removeprefix("opt_").removesuffix("_opt")
