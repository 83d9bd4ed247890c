"""What is proven of a project's rules: a generation proves those that nobody has proven as they are.

A file keeps, for each operator, what its proofs have found, and the word of the rule that they were about
(`codegen/fingerprints.py`). Of a rule that has another word since then nothing is known. It is committed: beside the
output of a package, and in `docs` for Gradwright's own operators, whose output is not, so that a new checkout has
nothing to prove.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegen.codes import Code
from codegen.inputs import REPORTS
from codegen.output import PROOFS
from codegen.paths import Paths, project_paths
from codegen.source import Diagnostics
from codegen.writing import text_of, write_text

if TYPE_CHECKING:
    from codegen.pipeline import Result

# Set to 0 it is as if every run were given --no-verify.
VARIABLE = "GRADWRIGHT_VERIFY"
SHOWN = 4  # names in a message
PROVEN, REFUTED = "proven", "refuted"
# Says something of what was compiled, and nothing of the rule.
OF_THE_CORE = "native"
_ABOUT = """\
# What the proofs of rules have found: an operator, a word that changes with its rule, the outcome. A run that generates
# proves what is not proven here; with --check it fails, and so does lint. Commit it: others need not prove it again.
"""
# What the proofs found of an operator when its rule had a word.
Outcomes = Mapping[tuple[str, str], str]


def add_no_verify(parser: argparse.ArgumentParser) -> None:
    """The option that leaves proofs out."""
    parser.add_argument("--no-verify", action="store_true", help="do not ask whether rules are proven, and prove none")


def wanted(no_verify: bool, paths: Paths) -> bool:
    """Whether rules have to be proven: not those of somebody else, nor Gradwright's own outside of its checkout."""
    left_out = no_verify or os.environ.get(VARIABLE) == "0" or paths.library is not None
    ours = paths.native_functions == project_paths().native_functions
    return not left_out and (not ours or _file(paths).exists())


def unproven(rules: Mapping[str, str], paths: Paths) -> Mapping[str, bool]:
    """The operators whose rules are not proven as they are, and of each whether it is refuted.

    Args:
        rules: a word for each operator.
        paths: of the project.
    """
    known = _recorded(paths)
    found = {name: known.get((name, word)) for name, word in rules.items()}
    return {name: outcome == REFUTED for name, outcome in found.items() if outcome != PROVEN}


def keep(cells: Iterable[Mapping[str, Any]], rules: Mapping[str, str], paths: Paths, whole: bool = True) -> None:
    """Keep what proofs have found.

    Args:
        cells: what they have found.
        rules: the word of each operator whose rule they were about. What is known of other words is dropped.
        paths: of the project.
        whole: whether they looked at all properties; an operator is not proven by some of them.
    """
    found: dict[str, str] = {}
    for cell in cells:
        if cell["property"] != OF_THE_CORE:
            name = cell["operator"]
            found[name] = REFUTED if cell["status"] == REFUTED else found.get(name, PROVEN)
    before = _recorded(paths)
    known = {key: outcome for key, outcome in before.items() if rules.get(key[0]) == key[1]}
    known |= {
        (name, rules[name]): outcome
        for name, outcome in found.items()
        if name in rules and (whole or outcome == REFUTED)
    }
    if known != before:
        lines = (f"{name} {word} {outcome}\n" for (name, word), outcome in sorted(known.items()))
        write_text(_file(paths), _ABOUT + "".join(lines))


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


def _file(paths: Paths) -> Path:
    own = project_paths()
    return (own.root / REPORTS if paths.output == own.output else paths.output) / PROOFS


def _recorded(paths: Paths) -> Outcomes:
    lines = (line.split() for line in (text_of(_file(paths)) or "").splitlines())
    return {(line[0], line[1]): line[2] for line in lines if len(line) == 3 and line[2] in (PROVEN, REFUTED)}
