"""Writes the words that messages say were meant, where the wrong ones stand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from codegen import pipeline
from codegen.commands.chosen import add_files, chosen_paths, named_files
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.format import add_diff, show_differences
from codegen.commands.process import ERRORS, OK
from codegen.paths import Paths
from codegen.read.files import load
from codegen.source import Diagnostics, Replacement
from codegen.words import counted
from codegen.writing import replace_texts


def add_options(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    add_diff(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser)
    return ERRORS if paths is None else _fix(named_files(arguments) or paths.inputs, paths, arguments.diff)


def _fix(files: Sequence[Path], paths: Paths, diff: bool) -> int:
    """Follow the hints that name a word, and those that come up then, until there are none left.

    A file is written once, when all is known that is written to it.

    Args:
        files: that may be changed.
        paths: of the project.
        diff: whether to write nothing, and to show what would be.

    Returns:
        The exit status: 0, or 1 where errors are left.
    """
    sources = {path: source for path in files if (source := load(path, paths.shown(path), Diagnostics())) is not None}
    before = {path: source.text for path, source in sources.items()}
    texts, said, result = _followed(before, paths)
    changed = {path: (before[path], text) for path, text in texts.items() if text != before[path]}
    if diff:
        show_differences(changed, paths)
    else:
        replace_texts({path: text for path, (_, text) in changed.items()})
        for line in said if changed else ():
            print(line)
    verb = "would be left" if diff else "left"
    made = f"{counted(len(said) if changed else 0, 'word')} {'would be ' if diff else ''}replaced"
    print(
        f"{made}; {counted(len(result.diagnostics.sorted()), 'error')} {verb}", file=sys.stderr if diff else sys.stdout
    )
    if result.diagnostics and not diff:
        print_diagnostics(result.diagnostics, sys.stderr)
    return ERRORS if result.diagnostics else OK


def _followed(texts: Mapping[Path, str], paths: Paths) -> tuple[Mapping[Path, str], list[str], pipeline.Result]:
    """The texts with all hints followed, a line for each, and what is said of them then."""
    shown = {paths.shown(path): path for path in texts}
    seen = [texts]
    said: list[str] = []
    while True:
        result = pipeline.analyze(paths, texts)
        found = {
            item.replacement
            for item in (*result.diagnostics.items, *result.findings.items)
            if item.replacement is not None and item.replacement.span.file.path in shown
        }
        new = dict(texts)
        lines = []
        for each in apart(found):
            path = shown[each.span.file.path]
            old = each.span.file.text[each.span.start : each.span.end]
            new[path] = new[path][: each.span.start] + each.text + new[path][each.span.end :]
            lines.append(f"{each.span}: '{old}' is now '{each.text}'")
        if new in seen:  # nothing changes, or two hints contradict each other
            return texts, said, result
        texts = new
        seen.append(texts)
        said += reversed(lines)


def apart(found: Iterable[Replacement]) -> list[Replacement]:
    """Replacements that do not touch each other, the last of a file first."""
    chosen: list[Replacement] = []
    for each in sorted(found, key=lambda each: (each.span.file.path, each.span.start, each.text)):
        last = chosen[-1] if chosen else None
        if last is None or last.span.file is not each.span.file or each.span.start >= last.span.end:
            chosen.append(each)
    return chosen[::-1]
