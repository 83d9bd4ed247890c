"""Lines of a Python function; `folding` breaks those that are too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Lines:
    """Lines of a function body, at a depth of indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, *statements: str) -> None:
        """Statements of one line each."""
        self.lines += [f"{'    ' * self.depth}{statement}" for statement in statements]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A compound statement."""
        self.add(head)
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def when(self, conditions: Sequence[str]) -> Iterator[None]:
        """`if` all of the conditions hold; without any condition, the statements as they are."""
        if not conditions:
            yield
            return
        with self.block(f"if {' and '.join(conditions)}:"):
            yield
