"""What a generation proves: the rules that have changed, after its output is written.

The operators whose rules were refuted are kept in a file beside the output until they are proven, so that a later run
that has nothing to generate says it again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.commands.diagnostics import print_diagnostics
from codegen.paths import BASE, Paths

REFUTED = "refuted.txt"
# Set to 0 it is as if every run were given --no-verify.
VARIABLE = "GRADWRIGHT_VERIFY"
# Of more rules the proofs take longer than somebody waits who has only generated.
_MOST = 40


def wanted(no_verify: bool, paths: Paths) -> bool:
    """Whether a generation proves what it has changed: it does not for somebody else's YAML."""
    return not no_verify and os.environ.get(VARIABLE) != "0" and paths.library is None


def left(paths: Paths) -> Sequence[str]:
    """The operators that an earlier run has refuted."""
    try:
        return (paths.output / REFUTED).read_text(encoding="utf-8").split()
    except OSError:
        return ()


def changed(before: Mapping[str, str] | None, rules: Mapping[str, str], paths: Paths) -> Sequence[str]:
    """The operators whose rules are not those of an earlier generation.

    Where there was none, all of a package are new; Gradwright's own are those that its tests have proven.
    """
    if before is None:
        return () if paths.package == BASE else list(rules)
    return [name for name, word in rules.items() if before.get(name) != word]


def prove_changed(names: Sequence[str], paths: Paths) -> bool:
    """Prove some operators, print what is refuted, and say whether nothing was."""
    from codegen.commands.verify import prove, refuted

    if len(names) > _MOST:
        print(f"{len(names)} rules have changed: 'verify' proves them")
        return True
    status, found = prove(paths, [*names, "--exact", "--quiet", "--without", "native"], plain=True)
    if found is None:
        print("warning: the rules that have changed were not proven: what was generated does not load", file=sys.stderr)
        return True
    cells = found["cells"]
    wrong = refuted(cells, paths)
    _keep(sorted({cell["operator"] for cell in cells if cell["status"] == "refuted"}), paths.output / REFUTED)
    if wrong:
        print_diagnostics(wrong, sys.stderr)
    elif status == 0:
        proven = sum(cell["status"] == "proven" for cell in cells)
        print(f"proven: {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}: {proven} properties")
    return not wrong


def _keep(names: Sequence[str], file: Path) -> None:
    if names:
        file.write_text("\n".join(names) + "\n", encoding="utf-8")
    else:
        file.unlink(missing_ok=True)
