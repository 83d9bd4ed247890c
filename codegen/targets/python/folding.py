"""Long lines of generated Python, broken at their brackets."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

COLUMNS = 120

_STATEMENT = re.compile(
    r"(?P<prefix>(?:if|elif|while|return|raise|assert) (?:not )?|[\w.]+(?:, [\w.]+)* [-+*/|]?= )(?P<rest>.+)"
)
_DEFINITION = re.compile(r"(?:def|class) \w+")
_NAMED = re.compile(r"""\w+=(?!=)|"[^"]*": |\*{1,2}""")  # what stands before the value of an element
_TOKEN = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[()\[\]{}]""")
_STRING = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
# Where an expression is broken that has no comma: at the operators that bind least.
_OPERATORS = [
    re.compile(pattern)
    for pattern in (
        r" (?:if|else) ",
        r" or ",
        r" and ",
        r" (?:is not|is|not in|in|==|!=|<=|>=|<|>) ",
        r" [-+|] ",
        r" (?:\*|//|/|%) ",
    )
]
_COMPREHENSION = re.compile(r" for | if (?!.* for .* in )")


def folded(text: str) -> str:
    """A module's text with no line over COLUMNS, where brackets allow it."""
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= COLUMNS:
            lines.append(line)
        else:
            code = line.lstrip()
            lines += _folded_line(code, line[: len(line) - len(code)])
    return "\n".join(lines)


def _folded_line(code: str, indent: str) -> Iterator[str]:
    if code.startswith("# "):
        yield from textwrap.wrap(code, COLUMNS, initial_indent=indent, subsequent_indent=f"{indent}#     ")
    elif code.startswith('"""'):
        yield from textwrap.wrap(code, COLUMNS, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    elif _DEFINITION.match(code):
        opening = code.index("(")
        closing = opening + _outside(code[opening:]).index(")")
        yield from _bracketed(code[: opening + 1], code[opening + 1 : closing], code[closing:], indent)
    elif (statement := _STATEMENT.match(code)) is not None:
        expression, colon = statement["rest"], ""
        if expression.endswith(":"):
            expression, colon = expression[:-1], ":"
        lines = list(_value(statement["prefix"], expression, colon, indent))
        if len(lines[0]) > COLUMNS and ", " in statement["prefix"]:
            lines = list(_value(") = ", expression, colon, indent))
            targets = statement["prefix"].removesuffix(" = ")
            lines[:1] = _bracketed("(", targets, lines[0].removeprefix(indent), indent)
        yield from lines
    else:
        comma = "," if code.endswith(",") else ""
        yield from _element(code.removesuffix(","), comma, indent)


def _outside(code: str) -> str:
    """`code` with blanks instead of what stands in brackets and strings, of the same length."""
    parts = []
    depth = position = 0
    for token in _TOKEN.finditer(code):
        between = code[position : token.start()]
        parts.append("\0" * len(between) if depth else between)
        text = token.group()
        if text in "([{":
            parts.append("\0" if depth else text)
            depth += 1
        elif text in ")]}":
            depth -= 1
            parts.append("\0" if depth else text)
        else:
            parts.append("\0" * len(text))
        position = token.end()
    return "".join([*parts, code[position:]])


def _pieces(code: str, outside: str, separator: re.Pattern[str]) -> list[tuple[str, str]]:
    """The parts of `code` between separators outside of brackets, each with the separator before it."""
    pieces = []
    before, start = "", 0
    for match in separator.finditer(outside):
        pieces.append((before, code[start : match.start()]))
        before, start = match.group().lstrip(), match.end()
    return [*pieces, (before, code[start:])]


def _value(prefix: str, value: str, suffix: str, indent: str) -> Iterator[str]:
    """A value after `prefix`; where it has operators outside of brackets, it gets brackets."""
    if len(indent) + len(prefix) + len(value) + len(suffix) <= COLUMNS:
        yield f"{indent}{prefix}{value}{suffix}"
    elif _is_call(outside := _outside(value)):
        opening = max(outside.rfind(bracket) for bracket in "([{")
        yield from _bracketed(
            f"{prefix}{value[: opening + 1]}", value[opening + 1 : -1], f"{value[-1]}{suffix}", indent
        )
    elif _STRING.fullmatch(value) or any(operator.search(outside) for operator in _OPERATORS):
        yield from _bracketed(f"{prefix}(", value, f"){suffix}", indent)
    else:
        yield f"{indent}{prefix}{value}{suffix}"


def _is_call(outside: str) -> bool:
    """Whether an expression ends with the only brackets at which it can be broken: a call, a display, an index."""
    return outside.endswith((")", "]", "}")) and " " not in outside


def _bracketed(head: str, inside: str, tail: str, indent: str) -> Iterator[str]:
    """`head` ends with an open bracket, `tail` begins with the one that closes it."""
    yield f"{indent}{head}"
    deeper = f"{indent}    "
    outside = _outside(inside)
    if len(deeper) + len(inside) <= COLUMNS:
        yield f"{deeper}{inside}"
    elif " for " in outside:
        yield from _expression("", inside, "", deeper)
    elif "," in outside:
        for _, element in _pieces(inside, outside, re.compile(r",\s*")):
            if element:
                yield from _element(element, ",", deeper)
    else:
        yield from _expression("", inside, "", deeper)
    yield f"{indent}{tail}"


def _element(code: str, suffix: str, indent: str) -> Iterator[str]:
    name = _NAMED.match(code)
    if name is None:
        yield from _expression("", code, suffix, indent)
    else:
        yield from _value(name.group(), code[name.end() :], suffix, indent)


def _expression(prefix: str, code: str, suffix: str, indent: str) -> Iterator[str]:
    """An expression inside brackets: its operators begin lines."""
    outside = _outside(code)
    if len(indent) + len(prefix) + len(code) + len(suffix) <= COLUMNS:
        yield f"{indent}{prefix}{code}{suffix}"
        return
    if _STRING.fullmatch(code):
        yield from _string(prefix, code, suffix, indent)
        return
    operators = [_COMPREHENSION] if " for " in outside else _OPERATORS
    separator = next((operator for operator in operators if operator.search(outside)), None)
    if separator is None:
        yield from _value(prefix, code, suffix, indent)
        return
    *firsts, (before, last) = _pieces(code, outside, separator)
    for operator, piece in firsts:
        yield from _expression(f"{prefix}{operator}", piece, "", indent)
        prefix = ""
    yield from _expression(before, last, suffix, indent)


def _string(prefix: str, literal: str, suffix: str, indent: str) -> Iterator[str]:
    """A string as several literals that follow each other."""
    room = COLUMNS - len(indent) - len(prefix) - len(suffix) - 2
    pieces = [""]
    for word in re.findall(r"[^ ]* ?", literal[1:-1]):
        if len(pieces[-1]) + len(word) > room:
            pieces.append("")
        pieces[-1] += word
    literals = [_quoted(piece, literal[0]) for piece in pieces]
    for piece in literals[:-1]:
        yield f"{indent}{prefix}{piece}"
        prefix = ""
    yield f"{indent}{prefix}{literals[-1]}{suffix}"


def _quoted(piece: str, quote: str) -> str:
    """A part of a string that has these quotes; double ones where it has no quotes in it."""
    used = quote if '"' in piece or "'" in piece else '"'
    return f"{used}{piece}{used}"
