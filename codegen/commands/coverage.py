"""Shows what is proven of each operator, which ones run on a backend, or what a target can emit of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codegen.commands.analysis import analyze
from codegen.commands.chosen import add_files, add_json, chosen_paths
from codegen.commands.process import ERRORS, OK, USAGE
from codegen.commands.proven import print_proven
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.paths import Paths
from codegen.pipeline import Result, for_target
from codegen.rules.reach import How, Reach, Reached, made_of_others, with_kernels
from codegen.words import RULES, did_you_mean

if TYPE_CHECKING:
    from codegen.targets.rules.target import Coverage


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    parser.add_argument("--backend", metavar="KEY", help="what runs on the backend of the project with this key")
    parser.add_argument("--target", choices=(RULES,), help="the derivatives that this target emits")
    parser.add_argument(
        "--missing", action="store_true", help="only what lacks something, or where something is skipped"
    )
    add_json(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser, about_ours=True)
    if paths is None:
        return ERRORS
    if arguments.target is not None:
        if arguments.backend is not None:
            parser.error("--target is of no backend")
        result = analyze(paths, arguments.json)
        return ERRORS if result is None else _print_emitted(result, paths, arguments.missing, arguments.json)
    if arguments.backend is None:
        return print_proven(paths, arguments.missing, arguments.json)
    result = analyze(paths, arguments.json)
    return (
        ERRORS
        if result is None
        else _print_reached(result, paths, arguments.backend, arguments.missing, arguments.json)
    )


def _print_emitted(result: Result, paths: Paths, missing: bool, as_json: bool) -> int:
    """Print a line for each operator with a derivative: its name, `emitted` or `missing`, and why it is missing."""
    from codegen.targets.rules.target import coverage

    assert result.plan is not None
    _, covered = coverage(for_target(result.plan, paths, RULES), paths)
    shown = [each for each in covered if each.missing is not None or not missing]
    if as_json:
        rows = [
            {"name": str(each.operator.name), "emitted": each.missing is None, "reason": _reason(each)}
            for each in shown
        ]
        print(json.dumps(rows, indent=1))
        return OK
    for each in shown:
        print("\t".join((str(each.operator.name), "missing" if each.missing else "emitted", _reason(each) or "-")))
    count = sum(each.missing is None for each in covered)
    print(f"rules: of {len(covered)} operators with derivatives {count} are emitted", file=sys.stderr)
    return OK


def _reason(covered: Coverage) -> str | None:
    """Why an operator is missing, and the place of its formula."""
    if covered.missing is None or covered.missing.place is None:
        return None if covered.missing is None else covered.missing.reason
    return f"{covered.missing.reason} ({covered.missing.place.file.path}:{covered.missing.place.line})"


def _print_reached(result: Result, paths: Paths, key: str, missing: bool, as_json: bool) -> int:
    """Print a line for each operator: its name, how it runs, what it lacks, what its backward lacks.

    Args:
        result: of a project without errors.
        paths: of the project.
        key: the dispatch key.
        missing: only what lacks something.
        as_json: print it as JSON.
    """
    supported = _supported(result, paths, key)
    if supported is None:
        return USAGE
    checked = result.checked
    assert checked is not None
    linear = checked.linear
    written = None if paths.beneath is None else {str(function.name) for function in checked.written}
    made = frozenset() if written is None else made_of_others(checked.written)
    reach = Reach(
        supported, result.operators, linear.entries, checked.composites, linear.composite_formulas,
        checked.table.helpers.index, made,
    )  # fmt: skip
    rows = [row for row in reach.all() if written is None or row.name in written]
    shown = [row for row in rows if row.lacks or row.backward_lacks or row.how is How.MISSING] if missing else rows
    if as_json:
        print(json.dumps([_fields(row) for row in shown], indent=1))
        return OK
    for row in shown:
        print("\t".join((row.name, row.how.value, _listed(row.lacks), _listed(row.backward_lacks))))
    print(_summary(key, rows), file=sys.stderr)
    return OK


def _supported(result: Result, paths: Paths, key: str) -> frozenset[str] | None:
    """The operators that have kernels under a dispatch key; None, with an error, where there is no such backend."""
    assert result.plan is not None
    known = {backend.key: backend.supported for backend in result.plan.backends}
    lacking = "'dispatch_keys' in pyproject.toml names none"
    if paths.beneath is not None:  # the kernels are named in `dispatch`, under the keys of PyTorch
        assert result.checked is not None
        written = result.checked.written
        keys = {line.key for function in written for line in function.dispatch} - COMPOSITE_KEYS
        known = {each: with_kernels(written, each) for each in sorted(keys)}
        lacking = "no 'dispatch' names one"
    if key in known:
        return known[key]
    there = f"; there is {', '.join(known)}" if known else f": {lacking}"
    hint = did_you_mean(key, known)
    print(f"error: no backend '{key}'{there}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr)
    return None


def _fields(row: Reached) -> dict[str, object]:
    return {
        "name": row.name,
        "how": row.how.value,
        "lacks": list(row.lacks),
        "backward_lacks": list(row.backward_lacks),
    }


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "-"


def _summary(key: str, rows: Sequence[Reached]) -> str:
    count = Counter(row.how for row in rows)
    lacking = sum(bool(row.backward_lacks) for row in rows)
    return (
        f"{key}: of {len(rows)} operators {count[How.KERNEL]} have kernels, {count[How.COMPOSITE]} are made of them, "
        f"{count[How.IN_PART]} in part, {count[How.MISSING]} are missing; gradients of {lacking} lack operators"
    )
