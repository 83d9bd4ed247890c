"""What proofs have found of a project's rules, so that a rule is proven once and not in each run.

A file keeps, for each operator, what its proofs have found, and the word of the rule that they were about
(`codegen/fingerprints.py`). Of a rule that has another word since then nothing is known. It is committed: beside the
output of a package, and in `docs` for Gradwright's own operators, whose output is not, so that a new checkout has
nothing to prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codegen.inputs import REPORTS
from codegen.output import PROOFS
from codegen.paths import Paths, project_paths
from codegen.writing import text_of, write_text

PROVEN, REFUTED = "proven", "refuted"
# Says something of what was compiled, and nothing of the rule.
OF_THE_CORE = "native"
_ABOUT = """\
# What the proofs of rules have found: an operator, a word that changes with its rule, the outcome. A run that generates
# proves what is not proven here; with --check it fails, and so does lint. Commit it: others need not prove it again.
"""
# What the proofs found of an operator when its rule had a word.
Outcomes = Mapping[tuple[str, str], str]


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
        write_text(outcomes_file(paths), _ABOUT + "".join(lines))


def outcomes_file(paths: Paths) -> Path:
    """Where a project keeps it."""
    own = project_paths()
    return (own.root / REPORTS if paths.output == own.output else paths.output) / PROOFS


def _recorded(paths: Paths) -> Outcomes:
    lines = (line.split() for line in (text_of(outcomes_file(paths)) or "").splitlines())
    return {(line[0], line[1]): line[2] for line in lines if len(line) == 3 and line[2] in (PROVEN, REFUTED)}
