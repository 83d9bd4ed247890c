"""Statements of C++, broken as clang-format breaks them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from codegen.targets.environment import quoted

COLUMNS = 100


def wrapped(head: str, parts: Sequence[str], tail: str, separator: str = ",") -> list[str]:
    """`head` with an open bracket at its end, the parts and the tail, broken as clang-format breaks it."""
    whole = f"{head}{f'{separator} '.join(parts)}{tail}"
    if len(whole) <= COLUMNS or not parts:
        return [whole]
    lines = []
    current = head
    pad = " " * len(head)
    for index, part in enumerate(parts):
        end = tail if index == len(parts) - 1 else separator
        glue = "" if current in (head, pad) else " "
        if glue and len(current) + len(glue) + len(part) + len(end) > COLUMNS:
            lines.append(current)
            current, glue = pad, ""
        current += f"{glue}{part}{end}"
    return [*lines, current]


def quoted_lines(text: str, indent: str = "    ") -> list[str]:
    """A string literal and a comma; of long text, literals that follow each other."""
    room = COLUMNS - len(indent) - 3
    pieces = textwrap.wrap(text, room, break_on_hyphens=False) if len(quoted(text)) > room + 2 else [text]
    lines = [f"{indent}{quoted(f'{piece} ')}" for piece in pieces[:-1]]
    return [*lines, f"{indent}{quoted(pieces[-1])},"]


class Statements:
    """Lines of a function body, at a depth of indentation."""

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self.depth = depth

    def add(self, text: str) -> None:
        self.lines.append(f"{self.indent}{text}")

    def call(self, head: str, parts: Sequence[str], tail: str) -> None:
        """A statement with a bracketed list in it, broken where it is too long."""
        self.lines += wrapped(f"{self.indent}{head}(", parts, f"){tail}")

    def assign(self, target: str, head: str, parts: Sequence[str], tail: str) -> None:
        """`target = head(parts)tail`: broken after the sign where that takes no more lines."""
        whole = wrapped(f"{self.indent}{target} = {head}", parts, tail)
        if len(whole) > 1:
            below = [f"{self.indent}{target} =", *wrapped(f"{self.indent}    {head}", parts, tail)]
            hanging = [f"{self.indent}{target} = {head}", *wrapped(f"{self.indent}    ", parts, tail)]
            whole = min(below, whole, hanging, key=len)
        self.lines += whole

    def when(self, tests: Sequence[str], write: Callable[[], None], glue: str = "&&") -> None:
        """`if (a && b) statement`, the statement being what `write` adds: on a line of its own if it has to be."""
        start = len(self.lines)
        self.depth += 1
        write()
        self.depth -= 1
        statement = self.lines[start:]
        one = f"{self.indent}if ({f' {glue} '.join(tests)}) {statement[0].lstrip()}"
        if len(statement) == 1 and len(one) <= COLUMNS:
            self.lines[start:] = [one]
        else:
            self.lines[start:] = statement
            self.lines[start:start] = wrapped(f"{self.indent}if (", tests, ")", f" {glue}")

    def unless(self, head: str, parts: Sequence[str], statement: str) -> None:
        """`if (head(parts)) statement`: give up when a call failed."""
        whole = f"{self.indent}if ({head}({', '.join(parts)})) {statement}"
        if len(whole) <= COLUMNS:
            self.lines.append(whole)
        else:
            self.lines += wrapped(f"{self.indent}if ({head}(", parts, "))")
            self.lines.append(f"{self.indent}  {statement}")

    def test(self, conditions: Sequence[str], glue: str, tail: str) -> None:
        """`if (a && b)`."""
        self.lines += wrapped(f"{self.indent}if (", conditions, f"){tail}", f" {glue}")

    def when_both(self, first: str, others: Sequence[str], tail: str) -> None:
        """`if (first && (a || b))`."""
        rest = f"({' || '.join(others)})" if len(others) > 1 else others[0]
        if len(f"{self.indent}if ({first} && {rest}){tail}") <= COLUMNS:
            self.add(f"if ({first} && {rest}){tail}")
        elif len(f"{self.indent}    {rest}){tail}") <= COLUMNS:
            self.add(f"if ({first} &&")
            self.add(f"    {rest}){tail}")
        else:
            below = [f"{self.indent}if ({first} &&", *wrapped(f"{self.indent}    (", others, f")){tail}", " ||")]
            hanging = wrapped(f"{self.indent}if ({first} && (", others, f")){tail}", " ||")
            self.lines += hanging if len(hanging) < len(below) else below

    @property
    def indent(self) -> str:
        return "  " * self.depth

    @contextmanager
    def block(self, closing: str = "}") -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1
        self.add(closing)
