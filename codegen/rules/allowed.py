"""Findings that an author allows: `# allow GW063` in an entry, or in the comment right above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from codegen.codes import Code
from codegen.source import Diagnostic, Diagnostics, SourceFile, Span

_ALLOW = re.compile(r"#.*?\ballow ((?:GW\d+)(?:, *GW\d+)*)")
_CODE = re.compile(r"GW\d+")
_ENTRY = re.compile(r"-\s")


@dataclass(frozen=True, slots=True)
class _Allowed:
    """A code that is allowed in the lines of an entry."""

    code: str
    span: Span
    lines: range


def without_allowed(findings: Diagnostics, files: tuple[SourceFile, ...]) -> Diagnostics:
    """The findings but those that are allowed, and with what is allowed in vain."""
    allowed = [each for file in files for each in _allowed(file)]
    used: set[_Allowed] = set()
    left = Diagnostics()
    for item in findings.items:
        matching = [each for each in allowed if _matches(each, item)]
        used.update(matching)
        if not matching:
            left.items.append(item)
    for each in allowed:
        if each not in used:
            left.error(
                Code.ALLOWS_NOTHING, each.span, f"there is no finding {each.code} here to be allowed", "remove it"
            )
    return left


def _matches(allowed: _Allowed, item: Diagnostic) -> bool:
    same = item.span.file is allowed.span.file and str(item.code) == allowed.code
    return same and item.span.line in allowed.lines


def _allowed(file: SourceFile) -> Iterator[_Allowed]:
    if "allow" not in file.text:
        return
    count = len(file.line_starts)
    starts = [number for number in range(1, count + 1) if _ENTRY.match(file.line(number) + "\n")]
    for number in range(1, count + 1):
        match = _ALLOW.search(file.line(number))
        if match is None:
            continue
        below = number
        while below < count and file.line(below).startswith("#"):
            below += 1
        above = max((start for start in starts if start <= number), default=number)
        first = below if file.line(number).startswith("#") and below in starts else above
        following = min((start for start in starts if start > first), default=count + 1)
        for code in _CODE.finditer(match[1]):
            start = file.line_starts[number - 1] + match.start(1) + code.start()
            yield _Allowed(code[0], Span(file, start, start + len(code[0])), range(first, following))
