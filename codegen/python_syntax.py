"""What readers of Python functions ask of its syntax: signs, parameters, names that are set, where operators are."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

# Signs by their nodes: between two operands, and before one.
SIGNS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
PREFIXES: Mapping[type[ast.AST], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
# The module of operators, under both names of the package: what it comes from, and its name there.
OPERATORS = (("runtime", "ops"), ("gradwright", "ops"))


def positional_parameters(definition: ast.FunctionDef) -> Sequence[ast.arg]:
    """The parameters of a function that may be given by position, but for `*rest`."""
    return [*definition.args.posonlyargs, *definition.args.args]


def parameters(definition: ast.FunctionDef) -> Sequence[ast.arg]:
    """All parameters of a function but for `*rest` and `**options`."""
    return [*positional_parameters(definition), *definition.args.kwonlyargs]


def defaults(definition: ast.FunctionDef) -> Mapping[str, ast.expr]:
    """The defaults of a function's parameters, by name."""
    values, positional = definition.args.defaults, positional_parameters(definition)
    pairs = [*zip(positional[len(positional) - len(values) :], values, strict=True)]
    named = zip(definition.args.kwonlyargs, definition.args.kw_defaults, strict=True)
    return {each.arg: default for each, default in (*pairs, *named) if default is not None}


def names_set(tree: ast.AST) -> set[str]:
    """The names that are given values anywhere in a part of the source."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def chain_of(node: ast.expr) -> tuple[ast.Name, Sequence[ast.Attribute]] | None:
    """The name at the start of `name.first.second`, and the attributes from the first one on; None for what is none."""
    attributes: list[ast.Attribute] = []
    while isinstance(node, ast.Attribute):
        attributes.insert(0, node)
        node = node.value
    return (node, attributes) if attributes and isinstance(node, ast.Name) else None
