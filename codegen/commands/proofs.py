"""What a generation proves: the rules that have changed, after its output is written.

The operators whose rules were refuted are kept in a file beside the output until they are proven, so that a later run
that has nothing to generate says it again.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.codes import Code
from codegen.commands.diagnostics import print_diagnostics
from codegen.paths import BASE, Paths
from codegen.source import Diagnostics, SourceFile, Span

REFUTED = "refuted.txt"
# Set to 0 it is as if every run were given --no-verify.
VARIABLE = "GRADWRIGHT_VERIFY"
# Of more rules the proofs take longer than somebody waits who has only generated.
_MOST = 40
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in <module>$', re.MULTILINE)


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
    said: list[str] = []
    status, found = prove(paths, [*names, "--exact", "--quiet", "--without", "native"], plain=True, said=said)
    if found is None:
        broken = _broken("".join(said), paths)
        if broken:
            print_diagnostics(broken, sys.stderr)
            return False
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


def _keep(names: Sequence[str], file: Path) -> None:
    if names:
        file.write_text("\n".join(names) + "\n", encoding="utf-8")
    else:
        file.unlink(missing_ok=True)
