"""Shows the operators: how each is implemented, its Node, whether it has a forward formula, its variants."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from codegen.commands.analysis import analyze
from codegen.commands.chosen import add_files, add_json, chosen_paths
from codegen.commands.process import ERRORS, OK
from codegen.paths import Paths
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.words import CPP

_KINDS = {
    OperatorKind.KERNEL: "kernel",
    OperatorKind.IMPLICIT: "composite",
    OperatorKind.EXPLICIT: "composite, own derivative",
    OperatorKind.DECLARED: "declared",
}
# What the columns show of a row, each under its title.
_COLUMNS = {"name": "operator", "kind": "kind", "node": "Node", "forward": "forward mode", "variants": "variants"}


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--missing", action="store_true", help="only what is declared and not implemented")
    shown.add_argument("--native", action="store_true", help="what is left to Python by C++, and why")
    add_json(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser, about_ours=True)
    result = None if paths is None else analyze(paths, arguments.json, only_operators=True)
    if paths is None or result is None or result.plan is None:
        return ERRORS
    if arguments.native:
        _print_native(result.plan, paths)
    elif arguments.missing:
        _print_missing(result.plan)
    else:
        _print_rows([_row(operator) for operator in result.plan.operators], arguments.json)
    return OK


def _row(operator: OperatorPlan) -> Mapping[str, str]:
    has_tangent = operator.autograd.forward is not None or operator.kind is OperatorKind.IMPLICIT
    return {
        "name": str(operator.name),
        "schema": str(operator.schema),
        "kind": _KINDS[operator.kind],
        "node": operator.autograd.node.class_name if operator.autograd.node is not None else "-",
        "forward": "yes" if has_tangent else "-",
        "variants": ", ".join(str(name) for name in (operator.python.inplace, operator.python.out) if name is not None)
        or "-",
    }


def _print_rows(rows: Sequence[Mapping[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if console.is_terminal:
        table = Table(*_COLUMNS.values())
        for row in rows:
            table.add_row(*(row[key] for key in _COLUMNS))
        console.print(table)
    else:
        for row in rows:
            print("\t".join(row[key] for key in _COLUMNS))


def _print_missing(plan: Plan) -> None:
    operators = [str(operator.name) for operator in plan.operators if operator.kind is OperatorKind.DECLARED]
    helpers = sorted({helper.name for helper in plan.helpers if helper.function is None})
    for kind, names, total in (("operator", operators, len(plan.operators)), ("helper", helpers, len(plan.helpers))):
        for name in names:
            print(f"{kind}\t{name}")
        print(f"{len(names)} of {total} {kind}s are bound late", file=sys.stderr)


def _print_native(plan: Plan, paths: Paths) -> None:
    from codegen import pipeline
    from codegen.targets.cpp import target as cpp

    covered = cpp.coverage(pipeline.for_target(plan, paths, CPP), paths)
    for kind, reasons in (("operator", covered.operators), ("Node", covered.nodes)):
        for name, reason in reasons.items():
            if reason is not None:
                print(f"{kind}\t{name}\t{reason}")
    print(covered, file=sys.stderr)
