"""Lays the YAML files out in one style, and keeps all comments."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.commands.chosen import add_files, chosen_paths, named_files
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.process import ERRORS, OK
from codegen.formatting import formatted
from codegen.paths import Paths
from codegen.read.files import load
from codegen.read.yaml_text import YamlFile
from codegen.source import Diagnostics
from codegen.writing import replace_texts


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a file would change")
    add_diff(parser)


def add_diff(parser: argparse.ArgumentParser) -> None:
    """The option of each command that writes the YAML."""
    parser.add_argument("--diff", action="store_true", help="write nothing, and show what would change")


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser)
    if paths is None:
        return ERRORS
    files = named_files(arguments) or (paths.native_functions, paths.derivatives, *paths.samples)
    return _format(files, paths, arguments.check, arguments.diff)


def _format(files: Sequence[Path], paths: Paths, check: bool, diff: bool) -> int:
    """Lay files out anew, and say which have changed.

    Args:
        files: to be formatted.
        paths: of the project, for the names of the files.
        check: whether to write nothing, and to fail where something would be.
        diff: whether to write nothing, and to show what would be.

    Returns:
        The exit status: 0, or 1 where a file is not valid YAML, or would be changed and `check` is asked for.
    """
    diagnostics = Diagnostics()
    texts: dict[Path, tuple[str, str]] = {}
    for path in files:
        source = load(path, paths.shown(path), diagnostics)
        if source is not None:
            before = len(diagnostics.items)
            YamlFile(source, diagnostics).entries()
            if len(diagnostics.items) == before:
                texts[path] = source.text, formatted(source.text)
    if diagnostics:
        print_diagnostics(diagnostics, sys.stderr)
        return ERRORS
    changed = {path: (old, new) for path, (old, new) in texts.items() if old != new}
    if diff:
        show_differences(changed, paths)
    if not (check or diff):
        replace_texts({path: new for path, (_, new) in changed.items()})
    for path in changed:
        if check:
            print(f"{paths.shown(path)} is not formatted", file=sys.stderr)
        elif not diff:
            print(f"{paths.shown(path)}: formatted")
    if not changed:
        *others, last = (paths.shown(path) for path in files)
        print(f"{', '.join(others)}{' and ' if others else ''}{last}: nothing to format")
    return ERRORS if changed and check else OK


def show_differences(changed: Mapping[Path, tuple[str, str]], paths: Paths) -> None:
    """Print what changes of some files, as `diff -u` does."""
    for path, (old, new) in changed.items():
        name = paths.shown(path)
        lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, name)
        for line in lines:
            print(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", end="")
