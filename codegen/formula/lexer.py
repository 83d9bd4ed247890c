"""Formula text -> tokens with places.  Blanks and comments are dropped.

`>>` comes as two tokens `>`, because it closes two template lists as well; the parser puts the operator together.
`**`, two tokens in C++, is one token here: its author means a power, and the parser's error can suggest `pow`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.source import ParseError

# Kinds of tokens, as one letter each: the names of the groups below, and END.
NAME = "N"
NUMBER = "F"
STRING = "S"
OPERATOR = "O"
END = "E"

# `return` and `const` do not begin a qualified name: `return ::std::nullopt`.  A '/' before '*' is no division, but a
# comment without an end.
_TOKEN = re.compile(
    r"""(?>[ \t\r\n]+ | //[^\n]* | /\*.*?\*/)*+(?:
        (?P<N>(?:return|const)\b
          | (?:::[ \t\r\n]*)?[A-Za-z_]\w*(?:[ \t\r\n]*::[ \t\r\n]*[A-Za-z_]\w*)*)
      | (?P<F>0[xX][0-9a-fA-F]+\w* | (?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\w*)
      | (?P<S>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
      | (?P<O>->|\*\*|<<|<=|>=|==|!=|&&|\|\||\+\+|--|::|/(?!\*)|[-+*%<>=!~&|^?:.,;(){}\[\]])
    )""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_BLANK = re.compile(r"(?>[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_SPACES = re.compile(r"[ \t\r\n]+")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a formula as parallel lists, the fastest form to parse; the last one is END."""

    text: str
    kinds: list[str]
    values: list[str]
    starts: list[int]
    ends: list[int]


def tokenize(text: str) -> Tokens:
    """The tokens of `text`; a name is a whole qualified name, without blanks."""
    kinds: list[str] = []
    values: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    match = _TOKEN.match
    position = 0
    while (token := match(text, position)) is not None:
        kind = token.lastgroup
        assert kind is not None  # every alternative has a name
        value = token[kind]
        position = token.end()
        kinds.append(kind)
        starts.append(position - len(value))
        ends.append(position)
        values.append(_SPACES.sub("", value) if kind == NAME and not value.isidentifier() else value)
    blank = _BLANK.match(text, position)
    position = blank.end() if blank is not None else position
    if position < len(text):
        _refuse(text, position)
    for column, value in ((kinds, END), (values, "")):
        column.append(value)
    starts.append(len(text))
    ends.append(len(text))
    return Tokens(text, kinds, values, starts, ends)


def _refuse(text: str, position: int) -> None:
    character = text[position]
    if text.startswith("/*", position):
        raise ParseError("this comment is never closed", position, position + 2, "write '*/' after it")
    if character in "\"'":
        raise ParseError("this string is never closed", position, len(text), f"write {character} after it")
    hint = "comments are written /* so */" if character == "#" else None
    raise ParseError(f"unexpected character {character!r}", position, position + 1, hint)
