"""What a generation proves, and what it prints of that."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.codes import Code
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.proofs import SHOWN, some
from codegen.commands.verify import NoProofError, prove, refuted
from codegen.paths import BASE, Paths
from codegen.proof_outcomes import OF_THE_CORE, PROVEN, keep
from codegen.source import Diagnostics, SourceFile, Span
from codegen.words import counted

# Of more of Gradwright's own rules the proofs take longer than somebody waits who has only generated.
_MOST = 40
# Of a module that does not compile the last line of the traceback has no function.
_FRAME = re.compile(r'^  File "(.+)", line (\d+)(?:, in <module>)?$', re.MULTILINE)


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
        broken = _broken(error.said, paths)
        if broken:
            print_diagnostics(broken, sys.stderr)
        else:
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


def _broken(traceback: str, paths: Paths) -> Diagnostics:
    """What keeps a package from being loaded, at the last line of its own functions that a traceback comes by."""
    diagnostics = Diagnostics()
    files = {str(path): shown for _, part in paths.own for path, _, shown in part.files()}
    places = [(file, int(line)) for file, line in _FRAME.findall(traceback) if file in files]
    lines = traceback.strip().splitlines()
    if places and lines:
        file, number = places[-1]
        source = SourceFile(files[file], Path(file).read_text(encoding="utf-8"))
        start = source.line_starts[number - 1]
        span = Span(source, start, start + max(len(source.line(number)), 1))
        hint = "nothing of the package can be imported until it is mended"
        diagnostics.error(Code.PYTHON_SOURCE, span, f"this module does not load: {lines[-1]}", hint)
    return diagnostics
