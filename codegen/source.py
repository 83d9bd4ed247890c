"""Text with places: what lets every later error point at its character.

A `SourceFile` is a file as it was read.  A `Text` is a string taken out of one (a signature, a
formula, a key) that remembers where each of its characters came from, through YAML quoting and
folding.  A `Diagnostic` is an error with its place, and `Diagnostics` the list a run collects.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property

from codegen.codes import Code
from codegen.words import Hint, Meant


@dataclass(frozen=True)
class SourceFile:
    """A file as it was read: the path to show, and its text."""

    path: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        starts = [0]
        position = self.text.find("\n")
        while position != -1:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of the character at `offset`."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `end` (exclusive) of a file."""

    file: SourceFile
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.file.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.file.position(self.start)[1]

    def __str__(self) -> str:
        line, column = self.file.position(self.start)
        return f"{self.file.path}:{line}:{column}"


@dataclass(frozen=True, slots=True)
class Text:
    """A string from a file.  `offsets[i]` is where its character `i` stands; one more entry marks the end.

    Offsets are a `range` where the text stands in the file as it is (a plain one-line YAML scalar).
    """

    value: str
    file: SourceFile
    offsets: range | tuple[int, ...]

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """The place of the characters `start` to `end` of this text (default: all of it)."""
        size = len(self.value)
        stop = size if end is None else min(end, size)
        first = min(start, size)
        begin = self.offsets[first]
        finish = self.offsets[stop - 1] + 1 if stop > first else begin
        return Span(self.file, begin, max(finish, begin))

    def __str__(self) -> str:
        return self.value

    @classmethod
    def literal(cls, value: str, path: str = "<text>") -> Text:
        """A text that is its own file: for tests and for text that users pass at run time."""
        return cls(value, SourceFile(path, value), range(len(value) + 1))


class ParseError(Exception):
    """A piece of text does not follow its grammar.  `start` and `end` count within that text."""

    def __init__(self, message: str, start: int, end: int | None = None, hint: Hint = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = start + 1 if end is None else end
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a file is to say at a place instead of what it says."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: of which kind, where, what, and how to mend it.  `notes` point at other places that matter.

    `replacement` is there where the hint can be followed by a program.
    """

    code: Code
    span: Span
    message: str
    hint: str | None = None
    notes: tuple[tuple[Span, str], ...] = ()
    replacement: Replacement | None = None

    @property
    def sort_key(self) -> tuple[str, int, str]:
        return self.span.file.path, self.span.start, self.message


@dataclass
class Diagnostics:
    """The errors of a run, collected until nothing more can be found."""

    items: list[Diagnostic] = field(default_factory=list)
    # Operators whose entries could not be read: that they are missing is no error of those that name them.
    unread: set[str] = field(default_factory=set)
    # Of somebody else's YAML: where that is said which would be an error of one's own.
    findings: Diagnostics | None = None

    @property
    def unread_bases(self) -> set[str]:
        """The names of the unread operators, without their overloads."""
        return {name.partition(".")[0] for name in self.unread}

    def error(
        self, code: Code, span: Span, message: str, hint: Hint = None, notes: tuple[tuple[Span, str], ...] = ()
    ) -> None:
        replacement = _replacement(span, hint) if isinstance(hint, Meant) else None
        shown = None if hint is None else str(hint)
        self.items.append(Diagnostic(code, span, message, shown, notes, replacement))

    def doubt(
        self, code: Code, span: Span, message: str, hint: Hint = None, notes: tuple[tuple[Span, str], ...] = ()
    ) -> bool:
        """Report what can be gone on with, and is most likely a mistake: whether it is gone on.

        It is an error in one's own YAML, and a finding in somebody else's, who knows what a build in C++ makes of it.
        """
        (self if self.findings is None else self.findings).error(code, span, message, hint, notes)
        return self.findings is not None

    def parse_error(self, code: Code, text: Text, error: ParseError) -> None:
        """Record a `ParseError` that was raised while parsing `text`."""
        self.error(code, text.span(error.start, error.end), error.message, error.hint)

    def __bool__(self) -> bool:
        return bool(self.items)

    def touch(self, entry: Text) -> bool:
        """Whether there is an error in the entry of a YAML list in which `entry` stands."""
        span = entry.span()
        here = [item.span.line for item in self.items if item.span.file is span.file and item.span.line >= span.line]
        if not here:
            return False
        between = range(span.line + 1, min(here) + 1)
        return not any(span.file.line(line).startswith("-") for line in between)

    def sorted(self) -> list[Diagnostic]:
        return sorted(set(self.items), key=lambda item: item.sort_key)


_CONFLICT = re.compile(r"^<{7} .*\n(?:.*\n)*?={7}\r?\n(?:.*\n)*?>{7} .*$", re.MULTILINE)
CONFLICT_HINT = "keep one side, or both, and remove the lines of the three marks"


def find_conflict(file: SourceFile) -> Span | None:
    """The first mark of a merge that was not finished: both sides stand in the file."""
    found = _CONFLICT.search(file.text) if "<<<<<<< " in file.text else None
    return None if found is None else Span(file, found.start(), found.start() + 7)


def _replacement(span: Span, hint: Meant) -> Replacement | None:
    """The word that a hint names, where it stands once in the place of a message."""
    found = [*re.finditer(rf"(?<!\w){re.escape(hint.written)}(?!\w)", span.file.text[span.start : span.end])]
    if len(found) != 1:
        return None
    start, end = (span.start + offset for offset in found[0].span())
    return Replacement(Span(span.file, start, end), hint.meant)
