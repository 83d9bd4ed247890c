"""Shows how the derivative of an expression over elements is found: in steps, and as formulas for derivatives.yaml."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from codegen import pipeline
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.process import ERRORS, OK
from codegen.derive.steps import steps_of
from codegen.derive.wording import UnwritableError
from codegen.formula import syntax
from codegen.formula.parser import parse_formula
from codegen.paths import project_paths
from codegen.source import ParseError
from codegen.writing import quoted

_NAME = "expression"  # of the operator that stands for it


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", metavar="EXPRESSION", help="such as 'x * tanh(exp(x))'; its names are Tensors")
    parser.add_argument(
        "--number", metavar="NAME", action="append", default=[], help="a name that is a number; may be given again"
    )
    parser.add_argument("--complex", action="store_true", help="its Tensors may be complex: gradients are conjugated")
    parser.add_argument(
        "--slope-at", metavar="YAML", help="the slopes where there are none otherwise, as the key has them: '{0: 1}'"
    )


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    names = _names_in(arguments.expression)
    unknown = [name for name in arguments.number if name not in names]
    if unknown:
        parser.error(f"'{unknown[0]}' is no name in the expression")
    declared = ", ".join(f"{'Scalar' if name in arguments.number else 'Tensor'} {name}" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "EXPRESSION"
        own = project_paths()
        paths = replace(
            own, root=file.parent, native_functions=file, derivatives=file.with_name("DERIVATIVES"),
            base=(own.native_functions, own.derivatives), package=f"{_NAME}.generated", namespace=_NAME,
        )  # fmt: skip
        entry = f"- func: {_NAME}({declared}) -> Tensor\n  elementwise: {quoted(arguments.expression)}\n"
        if not arguments.complex:
            entry += "  dtypes: real\n"
        if arguments.slope_at is not None:
            entry += f"  slope_at: {arguments.slope_at}\n"
        derived, diagnostics = pipeline.derive(paths, {file: entry, paths.derivatives: "[]\n"})
    derivation = derived.known.derivation
    known = None if diagnostics else derived.elementwise.find(_NAME)
    formulas = None if known is None else derivation.entry(known)
    if known is None or formulas is None:
        print_diagnostics(diagnostics, sys.stderr)
        return ERRORS
    try:
        steps = steps_of(known, derivation.entries, derivation.table, not derivation.is_complex(known))
    except UnwritableError as error:
        print(f"error: a step has no words for {error}", file=sys.stderr)
        return ERRORS
    _print("forward", map(str, steps.forward))
    _print("backward", map(str, steps.backward))
    written = (f"{', '.join(map(str, formula.names))}: {formula.text}" for formula in formulas.formulas)
    _print("together, as formulas in derivatives.yaml", written)
    return OK


def _names_in(expression: str) -> list[str]:
    """The names in an expression that are not called, in their order; none where it does not parse."""
    try:
        tree = parse_formula(expression)
    except ParseError:
        return []  # which the reader of the entry reports, with its place
    called = {id(part.function) for part in syntax.walk(tree) if isinstance(part, syntax.Call)}
    names = (part.id for part in syntax.walk(tree) if isinstance(part, syntax.Name) and id(part) not in called)
    return list(dict.fromkeys(names))


def _print(title: str, lines: Iterable[str]) -> None:
    print(f"{title}:")
    for line in lines:
        print(f"  {line}")
