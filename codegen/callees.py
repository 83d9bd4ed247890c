"""What formulas may call: operators by name, helpers, and their types as formulas see them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codegen.callables import FunctionIndex, PythonFunction
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    OPTIONS,
    SCALAR,
    STR,
    TENSOR,
    TupleType,
    ValueType,
    plain_type,
)
from codegen.model import NativeFunction
from codegen.schema.types import FunctionSchema, ListType, OptionalType, Type

_FACTORY_OPTIONS = ("dtype", "layout", "device", "pin_memory")


class OperatorTable:
    """All operators by name and by base name, with the helpers that formulas may call."""

    def __init__(self, functions: Iterable[NativeFunction], helpers: FunctionIndex) -> None:
        self.functions = {str(function.name): function for function in functions}
        self.helpers = helpers
        self.by_base: dict[str, list[NativeFunction]] = {}
        for function in self.functions.values():
            if not function.schema.out:
                self.by_base.setdefault(function.name.base, []).append(function)

    def overloads(self, base: str) -> Sequence[NativeFunction]:
        return self.by_base.get(base, ())


def annotation_type(annotation: str) -> ValueType | None:
    """The formula type of a helper's Python annotation; None if formulas have no such type."""
    try:
        return _annotation_type(ast.parse(annotation, mode="eval").body)
    except SyntaxError:
        return None


_ANNOTATIONS: dict[str, ValueType] = {
    "Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "Scalar": SCALAR, "DType": DTYPE,
}  # fmt: skip


def _annotation_type(node: ast.expr) -> ValueType | None:
    if isinstance(node, ast.Name):
        return _ANNOTATIONS.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        elem = _annotation_type(node.left)
        is_none = isinstance(node.right, ast.Constant) and node.right.value is None
        return OptionalType(elem) if is_none and elem is not None and not isinstance(elem, TupleType) else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        variadic = len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis
        if node.value.id in ("Sequence", "list") or (node.value.id == "tuple" and variadic):
            elem = _annotation_type(parts[0])
            return ListType(elem) if elem is not None and not isinstance(elem, TupleType) else None
        if node.value.id == "tuple":
            elems = tuple(_annotation_type(part) for part in parts)
            known = tuple(elem for elem in elems if elem is not None)
            return TupleType(known) if len(known) == len(elems) else None
    return None


@dataclass(frozen=True, slots=True)
class Target:
    """Something that can be called: its parameters, in the order in which a formula gives them."""

    schema: FunctionSchema | None
    helper: PythonFunction | None
    names: tuple[str, ...]
    types: tuple[Type, ...]
    required: int
    result: ValueType

    def __str__(self) -> str:
        if self.schema is not None:
            return str(self.schema)
        assert self.helper is not None
        inside = ", ".join(f"{type} {name}" for type, name in zip(self.types, self.names, strict=True))
        return f"{self.helper.name}({inside}) -> {self.result}"


def result_type(schema: FunctionSchema) -> ValueType:
    """The type of a call of an operator, as formulas see it."""
    types = tuple(plain_type(result.type) for result in schema.returns)
    return types[0] if len(types) == 1 else TupleType(types)


def operator_target(schema: FunctionSchema, options: bool = False) -> Target:
    arguments: list[tuple[str, Type, bool]] = []
    names = [argument.name for argument in schema.arguments]
    grouped = options and all(name in names for name in _FACTORY_OPTIONS)
    for argument in schema.arguments:
        if grouped and argument.name in _FACTORY_OPTIONS:
            if argument.name == "dtype":
                arguments.append(("options", OPTIONS, argument.default is not None))
            continue
        arguments.append((argument.name, plain_type(argument.type), argument.default is not None))
    required = max((i + 1 for i, (_, _, has_default) in enumerate(arguments) if not has_default), default=0)
    return Target(
        schema, None, tuple(a[0] for a in arguments), tuple(a[1] for a in arguments), required, result_type(schema)
    )


def takes_options(function: NativeFunction) -> bool:
    return any(argument.name == "pin_memory" for argument in function.schema.kwarg_only)
