"""Code that knows where it may be broken.

A document is a string, the code as it stands on one line, made of parts.  Where that is too long it is laid out in the
style of `ruff format`: the outermost brackets are broken first, and parts that still do not fit are broken in turn
(P. Wadler, "A prettier printer", 2003).  A plain string is never broken.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from codegen.targets.literals import literal

COLUMNS = 120
STEP = "    "
_WORD = re.compile(r"[^ ]* ?")


class Document(str):
    """Code that may be broken into lines."""

    __slots__ = ()

    def broken(self, indent: str, before: str, after: str) -> Iterator[str]:
        """Its lines, the first one with `before` in front of it and the last one with `after` behind it."""
        raise NotImplementedError


def lines(code: str, indent: str, before: str = "", after: str = "") -> Iterator[str]:
    """A statement, or an element in brackets, on one line if it fits."""
    if not isinstance(code, Document) or len(indent) + len(before) + len(code) + len(after) <= COLUMNS:
        yield f"{indent}{before}{code}{after}"
    else:
        yield from code.broken(indent, before, after)


def laid_out(code: str, indent: str = "", after: str = "") -> str:
    """The same as text that follows the indentation of its first line."""
    if len(indent) + len(code) + len(after) <= COLUMNS:
        return f"{code}{after}"
    return "\n".join(lines(code, indent, "", after)).removeprefix(indent)


class Brackets(Document):
    """`f(a, b)`: elements between `opening` and `closing`, on a line of their own or each on one.

    `comma` follows a single element, which makes a tuple of it.
    """

    __slots__ = ("closing", "comma", "elements", "opening")

    opening: str
    elements: Sequence[str]
    closing: str
    comma: str

    def __new__(cls, opening: str, elements: Sequence[str], closing: str, comma: str = "") -> Brackets:
        made = super().__new__(cls, f"{opening}{', '.join(elements)}{comma}{closing}")
        made.opening, made.elements, made.closing, made.comma = opening, elements, closing, comma
        return made

    def broken(self, indent: str, before: str, after: str) -> Iterator[str]:
        yield f"{indent}{before}{self.opening}"
        deeper, inside = indent + STEP, ", ".join(self.elements) + self.comma
        if len(deeper) + len(inside) <= COLUMNS:
            yield f"{deeper}{inside}"
        else:
            comma = "," if len(self.elements) > 1 else self.comma
            room = COLUMNS - len(deeper) - len(comma)
            for element in self.elements:
                if len(element) <= room:
                    yield f"{deeper}{element}{comma}"
                else:
                    yield from lines(element, deeper, "", comma)
        yield f"{indent}{self.closing}{after}"


class Operators(Document):
    """`a and b`, `a if b else c`, `a for b in c`: operands, each after the first one with what stands before it."""

    __slots__ = ("operands", "words")

    words: Sequence[str]
    operands: Sequence[str]

    def __new__(cls, words: Sequence[str], operands: Sequence[str]) -> Operators:
        pairs = (f" {word} {operand}" for word, operand in zip(words, operands[1:], strict=True))
        made = super().__new__(cls, operands[0] + "".join(pairs))
        made.words, made.operands = words, operands
        return made

    def broken(self, indent: str, before: str, after: str) -> Iterator[str]:
        for word, operand in zip(self.words, self.operands, strict=False):
            yield from lines(operand, indent, before)
            before = f"{word} "
        yield from lines(self.operands[-1], indent, before, after)


class Quoted(Document):
    """A string literal, which becomes several that follow each other."""

    __slots__ = ()

    def broken(self, indent: str, before: str, after: str) -> Iterator[str]:
        room = COLUMNS - len(indent) - len(before) - len(after) - 2
        pieces = [""]
        for word in _WORD.findall(self[1:-1]):
            if len(pieces[-1]) + len(word) > room:
                pieces.append("")
            pieces[-1] += word
        *firsts, last = (self._quoted(piece) for piece in pieces if piece)
        for piece in firsts:
            yield f"{indent}{before}{piece}"
            before = ""
        yield f"{indent}{before}{last}{after}"

    def _quoted(self, piece: str) -> str:
        """A part with the quotes of the whole; with double ones where it has no quotes in it."""
        quote = self[0] if '"' in piece or "'" in piece else '"'
        return f"{quote}{piece}{quote}"


class Joined(Document):
    """`return f(a)`, `name=a and b`: parts side by side, of which the last one that can be is broken.

    Where that has no brackets of its own it gets some.
    """

    __slots__ = ("parts",)

    parts: Sequence[str]

    def __new__(cls, *parts: str) -> Joined:
        made = super().__new__(cls, "".join(parts))
        made.parts = parts
        return made

    def broken(self, indent: str, before: str, after: str) -> Iterator[str]:
        at = max((i for i, part in enumerate(self.parts) if isinstance(part, Document)), default=0)
        part = self.parts[at]
        if isinstance(part, Operators | Quoted):
            part = bracketed(part)
        before, after = before + "".join(self.parts[:at]), "".join(self.parts[at + 1 :]) + after
        yield from lines(part, indent, before, after)


class Assignment(Document):
    """`a, b = value`: where the value can not be broken enough, the targets get brackets, or the value of one."""

    __slots__ = ("targets", "value")

    targets: Sequence[str]
    value: str

    def __new__(cls, targets: Sequence[str], value: str) -> Assignment:
        made = super().__new__(cls, f"{', '.join(targets)} = {value}")
        made.targets, made.value = targets, value
        return made

    def broken(self, indent: str, before: str, after: str) -> Iterator[str]:
        first, *rest = lines(Joined(f"{', '.join(self.targets)} = ", self.value), indent, before, after)
        if len(first) > COLUMNS and len(self.targets) > 1:
            first, *rest = lines(Joined(") = ", self.value), indent, "", after)
            yield from Brackets("(", self.targets, first.removeprefix(indent)).broken(indent, before, "")
        elif len(first) > COLUMNS and not rest:
            yield from (f"{indent}{before}{self.targets[0]} = (", f"{indent}{STEP}{self.value}", f"{indent}){after}")
        else:
            yield first
        yield from rest


# -- how code is put together


def bracketed(code: str) -> str:
    """An expression in brackets."""
    return Brackets("(", (code,), ")")


def call(function: str, arguments: Sequence[str]) -> str:
    """A call."""
    return Brackets(f"{function}(", arguments, ")")


def tuple_of(elements: Sequence[str]) -> str:
    """A tuple display."""
    return Brackets("(", elements, ")", "," if len(elements) == 1 else "")


def any_of(tests: Sequence[str]) -> str:
    """A test that holds where one of these does."""
    return _combined("or", tests)


def all_of(tests: Sequence[str]) -> str:
    """A test that holds where all of these do."""
    return _combined("and", tests)


def _combined(word: str, tests: Sequence[str]) -> str:
    if len(tests) == 1:
        return tests[0]
    return Operators((word,) * (len(tests) - 1), [operand(test) for test in tests])


def operand(code: str) -> str:
    """An expression as it stands among operators."""
    return bracketed(code) if isinstance(code, Operators) else code


def choice(then: str, test: str, otherwise: str) -> str:
    """`then` if `test` holds."""
    return Operators(("if", "else"), (then, test, otherwise))


def generator(element: str, variable: str, source: str) -> str:
    """What `element` is for each of `source`."""
    return Operators(("for",), (element, Joined(f"{variable} in ", source)))


def comprehension(element: str, variable: str, source: str) -> str:
    """The list of it."""
    return Brackets("[", (generator(element, variable, source),), "]")


def display(value: object) -> str:
    """A value as Python prints it, broken where it is a string or has elements."""
    match value:
        case str():
            return Quoted(literal(value))
        case tuple():
            return tuple_of([display(item) for item in value])
        case list():
            return Brackets("[", [display(item) for item in value], "]")
        case dict():
            return dictionary((display(key), display(item)) for key, item in value.items())
        case _:
            return literal(value)


def field(name: str, value: object, indent: str) -> str:
    """`name=value,` on lines of its own."""
    line = f"{indent}{name}={literal(value)},"
    return line if len(line) <= COLUMNS else indent + laid_out(Joined(f"{name}=", display(value)), indent, ",")


def dictionary(items: Iterable[tuple[str, str]]) -> str:
    """A dict display."""
    return Brackets("{", [entry(key, value) for key, value in items], "}")


def entry(key: str, value: str) -> str:
    """An element of one; a value without brackets gets some where it does not fit beside its key."""
    return Joined(f"{key}: ", value if isinstance(value, Document) else Operators((), (value,)))


def comment(text: str, indent: str) -> list[str]:
    """A comment, in lines that follow on deeper indented ones."""
    if len(indent) + len("# ") + len(text) <= COLUMNS:
        return [f"{indent}# {text}"]
    return textwrap.wrap(f"# {text}", COLUMNS, initial_indent=indent, subsequent_indent=f"{indent}#     ")


def docstring(text: str, indent: str) -> str:
    """A docstring that follows the indentation of its first line."""
    if "\\" in text or '"""' in text or text.endswith('"'):
        return laid_out(Joined(display(text)), indent)
    code = f'"""{text}"""'
    if len(indent) + len(code) <= COLUMNS:
        return code
    wrapped = textwrap.wrap(code, COLUMNS, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(wrapped).removeprefix(indent)
