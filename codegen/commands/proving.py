"""What a generation proves, and what it prints of that."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.proofs import OF_THE_CORE, PROVEN, SHOWN, keep, some
from codegen.commands.verify import NoProofError, prove, refuted
from codegen.paths import BASE, Paths
from codegen.words import counted

# Of more of Gradwright's own rules the proofs take longer than somebody waits who has only generated.
_MOST = 40


def prove_rules(names: Sequence[str], rules: Mapping[str, str], paths: Paths) -> bool:
    """Prove some operators, keep and print what is found, and say whether nothing is wrong."""
    if paths.package == BASE and len(names) > _MOST:
        print(f"warning: {len(names)} rules are not proven: 'verify --unproven' proves them", file=sys.stderr)
        return True
    if sys.stdout.isatty() and len(names) > SHOWN:
        print(f"proving {counted(len(names), 'rule')}", flush=True)
    try:
        status, found = prove(paths, [*names, "--exact", "--quiet", "--without", OF_THE_CORE], plain=True)
    except NoProofError as error:
        print(f"error: not proven: {some(names)}: {error.reason}", file=sys.stderr)
        return False
    cells = found["cells"]
    keep(cells, rules, paths)
    wrong = refuted(cells, paths)
    if wrong:
        print_diagnostics(wrong, sys.stderr)
    elif status == 0:
        proven = sum(cell["status"] == PROVEN for cell in cells)
        print(f"proven: {some(names)}: {proven} properties")
    return not wrong
