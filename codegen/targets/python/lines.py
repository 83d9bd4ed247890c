"""Lines of a Python function, each broken where it would be too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from codegen.targets.python import document
from codegen.targets.python.document import COLUMNS, STEP, Joined, all_of


class Lines:
    """Lines of a function body, at a depth of indentation."""

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self.indent = STEP * depth

    def add(self, *statements: str) -> None:
        """Statements; a document is broken into lines where it has to be."""
        for statement in statements:
            if len(self.indent) + len(statement) <= COLUMNS:
                self.lines.append(self.indent + statement)
            else:
                self.lines += document.lines(statement, self.indent)

    def comment(self, text: str) -> None:
        """A comment on lines of its own."""
        self.lines += document.comment(text, self.indent)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A compound statement."""
        self.add(head)
        outer = self.indent
        self.indent += STEP
        yield
        self.indent = outer

    @contextmanager
    def when(self, conditions: Sequence[str]) -> Iterator[None]:
        """`if` all of the conditions hold; without any condition, the statements as they are."""
        if not conditions:
            yield
            return
        with self.block(Joined("if ", all_of(conditions), ":")):
            yield

    @property
    def text(self) -> str:
        """All of them as text."""
        return "\n".join(self.lines)
