"""Statements of C++, broken as clang-format breaks them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from codegen.targets.environment import quoted

COLUMNS = 100
# A break behind an open bracket costs clang-format as much as so many breaks between what is in it.
DEAR = 4


def wrapped(head: str, parts: Sequence[str], tail: str, separator: str = ",") -> list[str]:
    """`head` with an open bracket at its end, the parts and the tail, broken as clang-format breaks it."""
    whole = f"{head}{f'{separator} '.join(parts)}{tail}"
    if len(whole) <= COLUMNS or not parts:
        return [whole]
    behind = _filled(head, " " * len(head), parts, tail, separator)
    if not head.endswith(("(", "{")):
        return behind
    open_ = sum(head.count(sign) for sign in "({") - sum(head.count(sign) for sign in ")}")
    pad = " " * (len(head) - len(head.lstrip()) + 4 * open_)
    below = [head, *_filled(pad, pad, parts, tail, separator)]
    if max(map(len, behind)) > COLUMNS:
        return below if max(map(len, below)) <= COLUMNS else behind
    return below if len(below) + DEAR <= len(behind) else behind


def _filled(start: str, pad: str, parts: Sequence[str], tail: str, separator: str) -> list[str]:
    """The parts behind `start`, as many on a line as there is room for, below each other from `pad` on."""
    lines, current = [], start
    for index, part in enumerate(parts):
        end = tail if index == len(parts) - 1 else separator
        glue = "" if current in (start, pad) else " "
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


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a function, in pieces that can be broken over lines."""

    function: str
    values: Sequence[str] = ()
    may_fail: bool = True  # with an exception set

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.values)})"


@dataclass(frozen=True, slots=True)
class Statement:
    """`head part, part tail` or `target = head part, part tail`, in pieces that can be broken over lines."""

    head: str
    parts: Sequence[str] = ()
    tail: str = ""
    target: str | None = None

    def __str__(self) -> str:
        start = "" if self.target is None else f"{self.target} = "
        return f"{start}{self.head}{', '.join(self.parts)}{self.tail}"

    def lines(self, indent: str) -> list[str]:
        """The statement at that indentation; an assignment is broken after its sign where that takes no more lines."""
        if self.target is None:
            return wrapped(f"{indent}{self.head}", self.parts, self.tail)
        whole = wrapped(f"{indent}{self.target} = {self.head}", self.parts, self.tail)
        if len(whole) == 1:
            return whole
        below = [f"{indent}{self.target} =", *wrapped(f"{indent}    {self.head}", self.parts, self.tail)]
        hanging = [f"{indent}{self.target} = {self.head}", *wrapped(f"{indent}    ", self.parts, self.tail)]
        return min(below, whole, hanging, key=lambda lines: (max(map(len, lines)) > COLUMNS, len(lines)))


def assigned(target: str, call: Call, tail: str = "") -> Statement:
    """`target = function(values)tail;`."""
    return Statement(f"{call.function}(", call.values, f"){tail};", target)


def returned(call: Call) -> Statement:
    """`return function(values);`."""
    return Statement(f"return {call.function}(", call.values, ");")


class Statements:
    """Lines of a function body, at a depth of indentation.

    Attributes:
        leads_back: the numbers of lines before which the compiler is to name lines of the file itself again.
    """

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self.leads_back: set[int] = set()
        self.depth = depth

    def add(self, statement: str | Statement) -> None:
        self.lines += _lines(statement, self.indent)

    def lead_to(self, line: int, file: str) -> None:
        """Let the compiler name a line of another file as the place of what follows."""
        self.lines.append(f"#line {line} {quoted(file)}")

    def lead_back(self) -> None:
        """Let it name lines of the file itself again, whose numbers are known when the file is written."""
        self.leads_back.add(len(self.lines))

    def assign(self, target: str, function: str, values: Sequence[str], tail: str = "") -> None:
        """`target = function(values)tail;`."""
        self.add(assigned(target, Call(function, values), tail))

    def when(self, tests: Sequence[str], statement: str | Statement, glue: str = "&&") -> None:
        """`if (a && b) statement`; the statement is on a line of its own if it has to be."""
        one = f"{self.indent}if ({f' {glue} '.join(tests)}) {statement}"
        below = _lines(statement, f"{self.indent}  ")
        if len(below) == 1 and len(one) <= COLUMNS:
            self.lines.append(one)
        else:
            self.lines += [*wrapped(f"{self.indent}if (", tests, ")", f" {glue}"), *below]

    def unless(self, head: str, parts: Sequence[str], statement: str) -> None:
        """`if (head(parts)) statement`: give up when a call failed."""
        whole = f"{self.indent}if ({head}({', '.join(parts)})) {statement}"
        if len(whole) <= COLUMNS:
            self.lines.append(whole)
        else:
            opening = f"{self.indent}if ({head}("
            hanging = wrapped(opening, parts, "))")
            below = [opening, *wrapped(f"{self.indent}{' ' * 8}", parts, "))")]
            too_wide = max(map(len, hanging)) > COLUMNS
            self.lines += below if too_wide or len(below) < len(hanging) else hanging
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


def _lines(statement: str | Statement, indent: str) -> list[str]:
    return [f"{indent}{statement}"] if isinstance(statement, str) else statement.lines(indent)
