"""`verify --derivatives FILE`: formulas of somebody else, such as PyTorch's own, proven on the project's kernels."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen import output, pipeline
from codegen.commands.diagnostics import print_diagnostics
from codegen.paths import Paths
from codegen.pipeline import Result
from codegen.words import counted


@dataclass(frozen=True, slots=True)
class Generated:
    """What was generated of the files, and the operators that can be proven there."""

    paths: Paths
    names: tuple[str, ...]

    def chosen(self, words: Sequence[str]) -> tuple[str, ...]:
        """Those of the operators that words name, with or without overloads; without words all.

        Raises:
            ValueError: a word names none.
        """
        for word in words:
            if not any(word in (name, name.partition(".")[0]) for name in self.names):
                raise ValueError(f"there is no operator '{word}' that could be proven there")
        return tuple(n for n in self.names if not words or n in words or n.partition(".")[0] in words)


@contextlib.contextmanager
def generated(paths: Paths, folder: Path | None) -> Iterator[Generated | None]:
    """Generate from the files; None where they have errors or nothing of it can be proven, which has been printed.

    Args:
        paths: the files.
        folder: where to; None: to a temporary folder.
    """
    result = pipeline.analyze(paths)
    if result.plan is None:
        print_diagnostics(result.diagnostics, sys.stderr)
        yield None
        return
    written, names = _names(paths, result)
    shown = paths.shown(paths.derivatives)
    said = f"{len(names)} of {counted(written, 'operator')} with formulas in {shown} have kernels and samples here"
    print(f"error: {said}" if not names else said, file=sys.stderr)
    if not names:
        yield None
        return
    with contextlib.ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = replace(paths, output=place)
        output.write(pipeline.emit(made, result.plan), place)
        yield Generated(made, names)


def _names(paths: Paths, result: Result) -> tuple[int, tuple[str, ...]]:
    """How many operators the file has formulas of, and those of them that are implemented and have samples."""
    file = paths.shown(paths.derivatives)
    written = {str(entry.schema.name) for entry in result.entries if entry.text.file.path == file}
    implemented = {str(each.name): each for each in result.functions if not each.late_bound and each.variant_of is None}
    with_samples = {str(each.name) for each in result.plan.operators if each.samples} if result.plan else set()
    return len(written), tuple(name for name in implemented if name in written and name in with_samples)
