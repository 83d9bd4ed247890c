"""What is right of files with errors: without the entries that are wrong, and without those that need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen import pipeline
from codegen.paths import HEADERS, Paths
from codegen.pipeline import Result
from codegen.read.yaml_text import ENTRY_START
from codegen.source import Diagnostic, Diagnostics, Span

# `- func: name(...)`, or the operator itself, as in a file of samples.
_HEAD = re.compile(r"-\s+(?:(\w+):\s+)?(?:-\s+)?['\"]?([A-Za-z_][\w.:]*)")
# The other signatures of a list.
_LISTED = re.compile(r"\n  - ['\"]?([A-Za-z_][\w.]*)\(")
_QUOTED = re.compile(r"'([A-Za-z_][\w.:]*)'")
_OF_FORMULAS = "name"  # the key of an entry that others do not need


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that is left out, its name as far as it can be read, and why."""

    place: Span
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.place.file.path}:{self.place.line}: {self.name}: {self.why}"


@dataclass(frozen=True, slots=True)
class PartialResult:
    """What is right of the files.

    Attributes:
        result: of the entries that are right. Without a plan where an error stands in no entry.
        errors: of the files as they are.
        left_out: the other entries, in the order of their places.
    """

    result: Result
    errors: Diagnostics
    left_out: Sequence[LeftOut]


def analyze_partially(paths: Paths, strict: bool) -> PartialResult:
    """Analyse the files, again and again without the entries in which errors stand, until there are none.

    Args:
        paths: of the project.
        strict: whether findings are errors.
    """
    files = {paths.shown(path): path for path in _files(paths)}
    texts: dict[Path, str] = {}
    errors = Diagnostics()
    left_out: list[LeftOut] = []
    needed: set[str] = set()
    while True:
        result = pipeline.analyze(paths, texts)
        found = result.findings if strict and result.plan is not None else result.diagnostics
        wrong = dict(_by_entry(found, files))
        errors.items += [each for each in found.items if _missing(each, needed) is None]
        if not wrong:
            left_out.sort(key=lambda each: (each.place.file.path, each.place.start))
            return PartialResult(result, errors, left_out)
        for entry, error in wrong.items():
            missing = _missing(error, needed)
            why = error.message if missing is None else f"it needs '{missing}', which is left out"
            left_out.append(LeftOut(entry, _head(entry)[1], why))
            path = files[entry.file.path]
            texts[path] = _without(entry, texts.get(path, entry.file.text))
        for entry in wrong:
            key, name = _head(entry)
            if key != _OF_FORMULAS:
                needed.update((name, *_LISTED.findall(entry.file.text, entry.start, entry.end)))


def _files(paths: Paths) -> Iterator[Path]:
    """The files of entries, of which some can be left out."""
    yield from paths.inputs
    yield from (path for path in paths.helpers if path.suffix not in HEADERS)


def _by_entry(found: Diagnostics, files: Mapping[str, Path]) -> Iterator[tuple[Span, Diagnostic]]:
    """The entries in which errors stand, each with the first of its errors."""
    for error in reversed(found.sorted()):
        text, at = error.span.file.text, error.span.start
        starts = [match.start() for match in ENTRY_START.finditer(text)]
        before = [start for start in starts if start <= at]
        if error.span.file.path in files and before:
            end = next((start for start in starts if start > at), len(text))
            yield Span(error.span.file, before[-1], end), error


def _head(entry: Span) -> tuple[str | None, str]:
    """The key with which an entry begins, and the name of what it is of."""
    match = _HEAD.match(entry.file.text, entry.start)
    return (match[1], match[2]) if match is not None else (None, "an entry")


def _missing(error: Diagnostic, needed: set[str]) -> str | None:
    """What an error says of something that is left out; None where it is one of the files as they are."""
    for name in _QUOTED.findall(error.message):
        for other in needed:
            if name in (other, other.partition(".")[0]):
                return other
    return None


def _without(entry: Span, text: str) -> str:
    """The text of a file without an entry: all else keeps its place, comments behind the entry among it."""
    lines = text[entry.start : entry.end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines.pop()
    end = entry.start + sum(map(len, lines))
    rest = text[: entry.start] + re.sub(r"[^\r\n]", " ", text[entry.start : end]) + text[end:]
    return rest if ENTRY_START.search(rest) is not None else "[]\n"
