"""Numbers and strings of formulas: from text to value and back."""

from __future__ import annotations

import math
import re

from codegen.formula.syntax import FloatLiteral, IntLiteral
from codegen.source import ParseError

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)(?:[uU]?(?:ll|LL|[lL])?|(?:ll|LL|[lL])[uU])\Z")
_FLOAT = re.compile(r"((?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)[fFlL]?\Z")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_ESCAPE_OF = {value: f"\\{name}" for name, value in _ESCAPED.items() if name not in "'0"}
_LARGEST = 2**64


def number(text: str, start: int, end: int) -> IntLiteral | FloatLiteral:
    """The literal that `text` is, at `start` to `end` of its formula."""
    if (match := _INTEGER.match(text)) is not None:
        digits = match[1]
        if digits[0] == "0" and digits.isdigit() and digits.strip("0"):
            raise ParseError(
                f"'{digits}' would be an octal number", start, end, f"write '{digits.lstrip('0')}' without the zero"
            )
        value = int(digits, 0 if digits[:2] in ("0x", "0X") else 10) if len(digits) <= 32 else _LARGEST
        if value >= _LARGEST:
            raise ParseError("this number does not fit 64 bits", start, end)
        return IntLiteral(start, end, value)
    if (match := _FLOAT.match(text)) is not None:
        number = float(match[1])
        if math.isinf(number):
            raise ParseError("this number is larger than any double", start, end)
        return FloatLiteral(start, end, number, text)
    raise ParseError(f"'{text}' is not a number", start, end)


def string_value(text: str, start: int) -> str:
    """What `text`, with its quotes, stands for; it starts at `start` of its formula."""

    def decode(match: re.Match[str]) -> str:
        name = match[1]
        if name[0] in "xu" and len(name) > 1:
            return chr(int(name[1:], 16))
        if name not in _ESCAPED:
            place = start + 1 + match.start()  # after the quote
            raise ParseError(f"unknown escape '\\{name}' in a string", place, place + 2, "write '\\\\' for a backslash")
        return _ESCAPED[name]

    return _ESCAPE.sub(decode, text[1:-1]) if "\\" in text else text[1:-1]


def quote(value: str) -> str:
    """`value` as a string literal."""
    return f'"{"".join(map(_quote_character, value))}"'


def _quote_character(character: str) -> str:
    if character in _ESCAPE_OF:
        return _ESCAPE_OF[character]
    return character if character >= " " and character != "\x7f" else f"\\x{ord(character):02x}"
