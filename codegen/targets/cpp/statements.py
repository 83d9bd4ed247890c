"""Statements of C++: one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from codegen.targets.environment import quoted


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a function."""

    function: str
    values: Sequence[str] = ()
    may_fail: bool = True  # with an exception set

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.values)})"


def function_head(result: str, name: str, parameters: Iterable[str]) -> str:
    """What the declaration and the definition of a function begin with."""
    return f"{result} {name}({', '.join(parameters)})"


def row(*fields: str) -> str:
    """A row of a table."""
    return f"{{{', '.join(fields)}}}"


class Statements:
    """Lines of a function body, at a depth of indentation.

    Attributes:
        leads_back: the numbers of lines before which the compiler is to name lines of the file itself again.
    """

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self.leads_back: set[int] = set()
        self.depth = depth

    def add(self, statement: str) -> None:
        """A statement, or the start or the end of one that has others in it."""
        self.lines.append(f"{'  ' * self.depth}{statement}")

    def comment(self, text: str) -> None:
        """A comment on a line of its own."""
        self.add(f"// {text}")

    def lead_to(self, line: int, file: str) -> None:
        """Let the compiler name a line of another file as the place of what follows."""
        self.lines.append(f"#line {line} {quoted(file)}")

    def lead_back(self) -> None:
        """Let it name lines of the file itself again, whose numbers are known when the file is written."""
        self.leads_back.add(len(self.lines))

    def assign(self, target: str, value: Call | str) -> None:
        """`target = value;`."""
        self.add(f"{target} = {value};")

    def when(self, tests: Sequence[str], statement: str, glue: str = "&&") -> None:
        """`if (a && b) statement`."""
        self.add(f"if ({f' {glue} '.join(tests)}) {statement}")

    def unless(self, call: Call, statement: str) -> None:
        """`if (!call) statement`: give up when a call failed."""
        self.add(f"if (!{call}) {statement}")

    @contextmanager
    def block(self, closing: str = "}") -> Iterator[None]:
        """The statements inside of what was added last."""
        self.depth += 1
        yield
        self.depth -= 1
        self.add(closing)
