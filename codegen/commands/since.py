"""`verify --since REV`: the operators whose rules are not those of a revision of the project's git repository.

The files of the revision are written to a temporary folder, and this generator reads both: a word for each operator
says what its rules are made of (`codegen/fingerprints.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen import pipeline
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.process import ERRORS, OK, USAGE
from codegen.paths import BASE, PROJECT_FILE, PartKind, Paths, find_project, paths_of_checkout
from codegen.project import read_project
from codegen.source import Diagnostics
from codegen.words import counted

# What rules run on, and no rule names.
_SOURCES = (".py", ".cpp", ".hpp")
_FOLDERS = ("runtime", "gradwright", "codegen")
# Of files that are named in a line.
_NAMED = 3


class NoRevisionError(Exception):
    """There is nothing to compare with."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is not as it was.

    Attributes:
        operators: those whose rules are others, in the order of the file.
        comparable: whether there were rules to compare with; else all operators are among those that changed.
        besides: files that have changed, too, on which every rule may depend.
    """

    operators: tuple[str, ...]
    comparable: bool
    besides: tuple[str, ...]


def touched(revision: str, paths: Paths) -> tuple[int, Sequence[str]]:
    """The operators that a change since a revision touches, and the exit status where they can not be said.

    What is wrong, and what is to be known besides, is printed on standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        try:
            _write(revision, paths.root, tree)
        except NoRevisionError as error:
            print(f"error: {error}", file=sys.stderr)
            return USAGE, ()
        result = pipeline.analyze(paths)
        if result.plan is None:
            print_diagnostics(result.diagnostics, sys.stderr)
            return ERRORS, ()
        changes = _changes(paths, _paths_then(paths, tree), result.plan.rules or {})
    if not changes.comparable:
        print(f"warning: {revision} has no rules that could be compared: all are proven", file=sys.stderr)
    if changes.besides:
        more = len(changes.besides) - _NAMED
        files = ", ".join(changes.besides[:_NAMED]) + (f" and {counted(more, 'more file')}" if more > 0 else "")
        print(f"warning: not looked at is what these change, which no rule names: {files}", file=sys.stderr)
    if not changes.operators:
        print(f"no rule has changed since {revision}", file=sys.stderr)
    return OK, changes.operators


def _changes(paths: Paths, then: Paths | None, rules: Mapping[str, str]) -> Changes:
    plan = None if then is None else pipeline.analyze(then).plan
    if then is None or plan is None or plan.rules is None:
        return Changes(tuple(rules), False, ())
    before = plan.rules
    changed = tuple(name for name, word in rules.items() if before.get(name) != word)
    return Changes(changed, True, _besides(paths, then))


def _write(revision: str, root: Path, tree: Path) -> None:
    """Write the files below the project's folder, as they were, to a new folder."""
    top = Path(_git(root, "rev-parse", "--show-toplevel"))
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    inside = root.resolve().relative_to(top.resolve()).as_posix()
    tree.mkdir()
    found = commit if inside == "." else f"{commit}:{inside}"
    if inside != "." and not _git(top, "ls-tree", "-d", commit, "--", inside):
        return  # the project is younger
    index = {"GIT_INDEX_FILE": str(tree.parent / "index")}
    _git(top, "read-tree", found, **index)
    _git(top, "checkout-index", "--all", f"--prefix={tree}{os.sep}", **index)


def _git(folder: Path, *words: str, **variables: str) -> str:
    try:
        finished = subprocess.run(
            ["git", *words], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise NoRevisionError("--since needs git, which is not there") from None
    if finished.returncode == 0:
        return finished.stdout.strip()
    if "--verify" in words:
        raise NoRevisionError(f"there is no revision '{words[-1].removesuffix('^{commit}')}' here")
    if "not a git repository" in finished.stderr:
        raise NoRevisionError(f"{folder} is in no git repository")
    raise NoRevisionError(f"git {words[0]}: {finished.stderr.strip()}")


def _paths_then(paths: Paths, tree: Path) -> Paths | None:
    """The project in a folder of its old files; None where it was none."""
    if paths.package == BASE:
        then = paths_of_checkout(tree)
        return then if all(path.is_file() for path in then.inputs) else None
    file = tree / PROJECT_FILE
    return read_project(file, Diagnostics()) if find_project(tree) == file else None


def _besides(paths: Paths, then: Paths) -> tuple[str, ...]:
    """Files of the project on which rules may depend that do not name them."""
    now, before = dict(_others(paths)), dict(_others(then))
    return tuple(sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name)))


def _others(paths: Paths) -> Iterator[tuple[str, bytes]]:
    parts = (*(part for kind in PartKind for part in paths.functions(kind)), paths.array_functions)
    named = {path for part in parts for path, _, _ in part.files()}
    for folder in _folders(paths):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SOURCES and path not in named and paths.output not in path.parents:
                yield path.relative_to(paths.root).as_posix(), path.read_bytes()


def _folders(paths: Paths) -> Sequence[Path]:
    if paths.package == BASE:
        return [paths.root / name for name in _FOLDERS]
    return [paths.output.parents[len(paths.package.split(".")) - 1] / paths.package.partition(".")[0]]
