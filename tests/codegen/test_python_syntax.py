"""What readers of Python functions ask of its syntax."""

from __future__ import annotations

import ast

from codegen.python_syntax import PREFIXES, SIGNS, chain_of, defaults, names_set, parameters, positional_parameters


def definition(text: str) -> ast.FunctionDef:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    return function


def test_parameters_and_defaults() -> None:
    function = definition("def f(a, /, b, c=1, *rest, d, e=2, **options): pass")
    assert [each.arg for each in positional_parameters(function)] == ["a", "b", "c"]
    assert [each.arg for each in parameters(function)] == ["a", "b", "c", "d", "e"]
    assert {name: ast.unparse(default) for name, default in defaults(function).items()} == {"c": "1", "e": "2"}
    assert defaults(definition("def f(a): pass")) == {}


def test_names_that_are_set() -> None:
    function = definition("def f(a):\n    b, c = a, [d for d in a]\n    a.e = c[0]\n    return b")
    assert names_set(function) == {"b", "c", "d"}


def test_chains_of_attributes() -> None:
    def chain(text: str) -> tuple[str, list[str]] | None:
        known = chain_of(ast.parse(text, mode="eval").body)
        return None if known is None else (known[0].id, [attribute.attr for attribute in known[1]])

    assert chain("ops.add.Tensor") == ("ops", ["add", "Tensor"])
    assert chain("ops") is None
    assert chain("f(x).add") is None


def test_signs_are_those_of_python() -> None:
    for kind, text in SIGNS.items():
        written = ast.parse(f"a {text} b", mode="eval").body
        sign = written.ops[0] if isinstance(written, ast.Compare) else written.op  # type: ignore[attr-defined]
        assert type(sign) is kind
    for kind, text in PREFIXES.items():
        written = ast.parse(f"{text}a", mode="eval").body
        assert isinstance(written, ast.UnaryOp)
        assert type(written.op) is kind
