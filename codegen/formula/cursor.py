"""The tokens of one formula and the place of the next one, and what is said of a token in the wrong place."""

from __future__ import annotations

from typing import NoReturn

from codegen.formula.lexer import END, OPERATOR, tokenize
from codegen.formula.syntax import MAX_DEPTH
from codegen.source import ParseError
from codegen.words import Hint

CLOSERS = {"(": ")", "[": "]", "{": "}"}
WORDS = {"and": "&&", "or": "||", "not": "!", "if": "? :", "else": "? :"}
_BRACKETS = {"(": "parenthesis", "[": "bracket", "{": "brace"}


class Cursor:
    """Tokens, and the place of the next one."""

    __slots__ = ("at", "ends", "kinds", "starts", "text", "values")

    def __init__(self, text: str) -> None:
        tokens = tokenize(text)
        self.text = text
        self.kinds = tokens.kinds
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.at = 0

    def fail_at(self, index: int, message: str, hint: Hint = None) -> NoReturn:
        """`index` is a token; the end of the text is shown at the token before it."""
        if self.kinds[index] == END and index > 0:
            index -= 1
        raise ParseError(message, self.starts[index], self.ends[index], hint)

    def fail_deep(self) -> NoReturn:
        self.fail_at(
            self.at, "nested too deeply", f"a formula has at most {MAX_DEPTH} levels; move parts into a helper"
        )

    def fail_after_end(self) -> NoReturn:
        """A whole formula was read, and there is more."""
        value = self.values[self.at]
        if value in (")", "]", "}"):
            opener = next(key for key, closer in CLOSERS.items() if closer == value)
            self.fail_at(self.at, f"unbalanced {_BRACKETS[opener]}: '{value}' closes nothing")
        self.fail_at(self.at, *self.wrong_operator())

    def wrong_operator(self) -> tuple[str, str | None]:
        """What to say of a token that stands where an operator or the end should."""
        value, kind = self.values[self.at], self.kinds[self.at]
        if value in WORDS:
            return f"'{value}' is no operator", f"write '{WORDS[value]}'"
        if value == "=":
            return "a formula assigns nothing", "compare with '=='"
        if value in ("++", "--"):
            return f"'{value}' would change its operand", "put a blank between the signs"
        if value == "**":
            return "'**' is no operator", "write 'pow(x, y)'"
        if value == "::":
            return "expected a name after '::'", None
        if kind == OPERATOR:
            return f"unexpected '{value}'", None
        return f"expected an operator before '{value}'", None

    def expect(self, closer: str, opening: int, wanted: str) -> None:
        """Take `closer`, which closes the token `opening`."""
        value = self.values[self.at]
        if value == closer and self.kinds[self.at] == OPERATOR:
            self.at += 1
            return
        opener = self.values[opening]
        if self.kinds[self.at] == END:
            self.fail_at(opening, f"unbalanced {_BRACKETS[opener]}: '{opener}' is never closed")
        if self.kinds[self.at] == OPERATOR and value in (")", "]", "}"):
            self.fail_at(self.at, f"unbalanced {_BRACKETS[opener]}: '{opener}' is closed by '{value}'")
        message, hint = self.wrong_operator()
        self.fail_at(self.at, message if hint is not None else f"expected {wanted} before '{value}'", hint)

    def fail_operand(self) -> NoReturn:
        """An expression should start here."""
        value, kind = self.values[self.at], self.kinds[self.at]
        if value in ("++", "--", "**"):
            self.fail_at(self.at, *self.wrong_operator())
        if self.at == 0:
            self.fail_at(0, f"expected an expression before '{value}'")
        before = self.values[self.at - 1]
        if kind == END and before in CLOSERS and self.kinds[self.at - 1] == OPERATOR:
            self.expect(CLOSERS[before], self.at - 1, "an expression")
        raise ParseError(f"expected an expression after '{before}'", self.starts[self.at - 1], self.ends[self.at - 1])
