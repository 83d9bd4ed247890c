"""How Python code is put together: an expression is a string, and a statement is a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

STEP = "    "  # of indentation


class Compound(str):
    """An expression whose outermost operator is `and`, `or` or `if`: it stands in brackets among other operators."""

    __slots__ = ()


def bracketed(code: str) -> str:
    """An expression in brackets."""
    return f"({code})"


def call(function: str, arguments: Iterable[str]) -> str:
    """A call."""
    return f"{function}({', '.join(arguments)})"


def list_of(elements: Iterable[str]) -> str:
    """A list display."""
    return f"[{', '.join(elements)}]"


def any_of(tests: Sequence[str]) -> str:
    """A test that holds where one of these does."""
    return _combined("or", tests)


def all_of(tests: Sequence[str]) -> str:
    """A test that holds where all of these do."""
    return _combined("and", tests)


def _combined(word: str, tests: Sequence[str]) -> str:
    if len(tests) == 1:
        return tests[0]
    return Compound(f" {word} ".join(bracketed(test) if isinstance(test, Compound) else test for test in tests))


def choice(then: str, test: str, otherwise: str) -> str:
    """`then` if `test` holds."""
    return Compound(f"{then} if {test} else {otherwise}")


def generator(element: str, variable: str, source: str) -> str:
    """What `element` is for each of `source`."""
    return f"{element} for {variable} in {source}"


def comprehension(element: str, variable: str, source: str) -> str:
    """The list of it."""
    return f"[{generator(element, variable, source)}]"


def dictionary(items: Iterable[tuple[str, str]]) -> str:
    """A dict display."""
    return f"{{{', '.join(f'{key}: {value}' for key, value in items)}}}"


def function_head(name: str, parameters: Iterable[str], returns: str = "") -> str:
    """The line that a function starts with; `returns` is the annotation of its result."""
    return f"def {name}({', '.join(parameters)}){f' -> {returns}' if returns else ''}:"


class Lines:
    """Lines of a function body, at a depth of indentation."""

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self.indent = STEP * depth

    def add(self, *statements: str) -> None:
        """A line for each statement."""
        self.lines += [self.indent + statement for statement in statements]

    def assign(self, targets: Sequence[str], value: str) -> None:
        """`a, b = value`."""
        self.add(f"{', '.join(targets)} = {value}")

    def comment(self, text: str) -> None:
        """A comment on a line of its own."""
        self.add(f"# {text}")

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
        with self.block(f"if {all_of(conditions)}:"):
            yield

    @property
    def text(self) -> str:
        """All of them as text."""
        return "\n".join(self.lines)
