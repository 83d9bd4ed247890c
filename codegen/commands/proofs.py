"""What `generate`, `lint` and `--check` say of rules that are not proven as they are."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codegen.codes import Code
from codegen.paths import Paths, project_paths
from codegen.proof_outcomes import outcomes_file, unproven
from codegen.source import Diagnostics

if TYPE_CHECKING:
    from codegen.pipeline import Result

# Set to 0 it is as if every run were given --no-verify.
VARIABLE = "GRADWRIGHT_VERIFY"
SHOWN = 4  # names in a message


def add_no_verify(parser: argparse.ArgumentParser) -> None:
    """The option that leaves proofs out."""
    parser.add_argument("--no-verify", action="store_true", help="do not ask whether rules are proven, and prove none")


def wanted(no_verify: bool, paths: Paths) -> bool:
    """Whether rules have to be proven: not those of somebody else, nor Gradwright's own outside of its checkout."""
    left_out = no_verify or os.environ.get(VARIABLE) == "0" or paths.library is not None
    ours = paths.native_functions == project_paths().native_functions
    return not left_out and (not ours or outcomes_file(paths).exists())


def wanted_findings(result: Result, paths: Paths, no_verify: bool) -> Diagnostics:
    """The findings where rules have to be proven, and none elsewhere."""
    return findings(result, paths) if wanted(no_verify, paths) else Diagnostics()


def findings(result: Result, paths: Paths) -> Diagnostics:
    """What is refuted, each at its place, and what is not proven, at that of the first."""
    diagnostics = Diagnostics()
    rules = (result.plan.rules if result.plan is not None else None) or {}
    found = unproven(rules, paths)
    entries = {str(entry.schema.name): entry.text.span() for entry in result.entries}
    places = {str(function.name): function.text.span() for function in result.functions} | entries
    missing = [name for name, is_refuted in found.items() if not is_refuted]
    for name in (*(name for name, is_refuted in found.items() if is_refuted), *missing[:1]):
        is_refuted = found[name]
        diagnostics.error(
            Code.NOT_PROVEN,
            places[name],
            f"the rule of '{name}' is refuted" if is_refuted else f"not proven: {some(missing)}",
            "a run that generates says what is wrong" if is_refuted else "a run that generates proves what is not",
        )
    return diagnostics


def some(names: Sequence[str]) -> str:
    """The first of some names."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
