"""The tokens of one signature and the place of the next one, and what is said of a token in the wrong place."""

from __future__ import annotations

import re
from typing import NoReturn

from codegen.source import ParseError
from codegen.words import Hint

# Leading blanks belong to the match, the token to the group.  An unclosed string or a stray character is a token too:
# the parser meets it where something else is expected.
_TOKEN = re.compile(
    r"""[ \t\r\n]*(
        ->
      | [A-Za-z_][A-Za-z0-9_]*
      | -?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?
      | -inf\b
      | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
      | ::
      | \S
    )""",
    re.VERBOSE | re.ASCII,
)


def is_name(token: str) -> bool:
    return token.isidentifier() and token.isascii()


class Cursor:
    """The tokens of one signature, and the place of the next one.  Both lists end with an empty token."""

    __slots__ = ("at", "starts", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        matches = [*_TOKEN.finditer(text)]
        self.tokens: list[str] = [*[match[1] for match in matches], ""]
        self.starts: list[int] = [*[match.start(1) for match in matches], len(text)]

    def fail(self, message: str, start: int, end: int, hint: Hint = None) -> NoReturn:
        size = len(self.text)
        raise ParseError(message, min(start, size), min(max(start, end), size), hint)

    def fail_here(self, message: str, hint: Hint = None) -> NoReturn:
        """The next token is wrong; at the end of the text, the last one is shown, for there is no other place."""
        token, start = self.tokens[self.at], self.starts[self.at]
        if token in ('"', "'"):
            self.fail("this string is never closed", start, len(self.text))
        if token:
            self.fail(message, start, start + len(token), hint)
        self.fail(message, max(self.last_end() - 1, 0), len(self.text), hint)

    def last_end(self) -> int:
        """Where the token before the next one ends."""
        return self.starts[self.at - 1] + len(self.tokens[self.at - 1]) if self.at else 0

    def found(self) -> str:
        token = self.tokens[self.at]
        return f"found '{token}'" if token else "the text ends"

    def end_of_text(self, what: str) -> None:
        token = self.tokens[self.at]
        if token == ")":
            self.fail_here("unbalanced parenthesis: ')' closes nothing")
        if token:
            self.fail(f"text after the end of the {what}", self.starts[self.at], len(self.text.rstrip()))

    def close(self, closer: str, opening: int, wanted: str) -> None:
        """Take `closer`; `opening` is the index of the token that it closes."""
        token = self.tokens[self.at]
        if token == closer:
            self.at += 1
            return
        if token in ("", "->"):
            kind = "parenthesis" if closer == ")" else "bracket"
            start = self.starts[opening]
            self.fail(f"unbalanced {kind}: '{self.tokens[opening]}' is never closed", start, start + 1)
        self.fail_here(f"expected {wanted}, {self.found()}")
