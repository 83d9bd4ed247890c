"""Presentation MathML: elements as text, and terms that know how tightly they bind.

https://www.w3.org/TR/mathml-core/ is what browsers show without a script.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

MINUS = "−"  # noqa: RUF001


class Binding(IntEnum):
    """How tightly a term holds together; what binds less tightly than its place wants stands in brackets."""

    CHOICE = 0
    OR = 1
    AND = 2
    RELATION = 3
    SUM = 4
    PRODUCT = 5
    PREFIX = 6
    POWER = 7
    ATOM = 8


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a formula as markup; `negates` is what stands behind its minus sign."""

    markup: str
    binding: Binding = Binding.ATOM
    is_number: bool = False
    negates: Term | None = None

    def at(self, wanted: Binding) -> str:
        """The markup, in brackets where it binds less tightly than `wanted`."""
        return self.markup if self.binding >= wanted else bracketed(self.markup)


def element(name: str, *parts: str, **attributes: str) -> str:
    """An element around markup."""
    said = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<{name}{said}>{''.join(parts)}</{name}>"


def identifier(name: str) -> str:
    """A name: one letter is slanted, longer ones are upright."""
    return element("mi", html.escape(name))


def operator(sign: str, **attributes: str) -> str:
    return element("mo", html.escape(sign), **attributes)


def number(text: str) -> str:
    return element("mn", html.escape(text))


def words(text: str) -> str:
    return element("mtext", html.escape(text))


def row(*parts: str) -> str:
    return parts[0] if len(parts) == 1 else element("mrow", *parts)


def bracketed(*parts: str, left: str = "(", right: str = ")") -> str:
    return row(operator(left), *parts, operator(right))


def listed(parts: Iterable[str]) -> str:
    """Parts with commas between them."""
    markup: list[str] = []
    for part in parts:
        markup += [operator(","), part] if markup else [part]
    return "".join(markup)


def negative(term: Term) -> Term:
    """A term with a minus sign; without it where it has one."""
    if term.negates is not None:
        return term.negates
    return Term(row(operator(MINUS), term.at(Binding.PRODUCT)), Binding.SUM, negates=term)


def fraction(above: Term, below: Term) -> Term:
    """A fraction; a minus sign above goes before it."""
    if above.negates is not None:
        return negative(fraction(above.negates, below))
    return Term(element("mfrac", row(above.markup), row(below.markup)), Binding.PREFIX)


def power(base: Term, exponent: str) -> Term:
    return Term(element("msup", base.at(Binding.ATOM), row(exponent)), Binding.POWER)


def subscript(base: str, below: str) -> str:
    return element("msub", base, row(below))


def root(inside: Term) -> Term:
    return Term(element("msqrt", inside.markup))


def accent(base: str, sign: str, is_long: bool = False) -> str:
    """A sign above: a bar, or a dot. Over a name of several letters few fonts draw a bar: a class lets style sheets."""
    return element("mover", base, operator(sign), accent="true", **({"class": "long"} if is_long else {}))


def application(function: str, arguments: Iterable[str]) -> Term:
    """A function of arguments in brackets; U+2061 says that it is applied."""
    return Term(row(function, operator("\u2061"), bracketed(listed(arguments))))


def infix(sign: str, left: Term, right: Term, binding: Binding, groups: bool = False) -> Term:
    """Two terms with a sign between them; one that `groups` needs no brackets for the same sign at its right."""
    stronger = binding if groups else Binding(binding + 1)
    return Term(row(left.at(binding), operator(sign), right.at(stronger)), binding)


def choice(branches: Iterable[tuple[str, str]], otherwise: str) -> Term:
    """Cases with their conditions, one below the other."""
    rows = [(value, words("if\u00a0"), condition) for value, condition in branches]
    table = "".join(
        element("mtr", element("mtd", value), element("mtd", word, condition)) for value, word, condition in rows
    )
    table += element("mtr", element("mtd", otherwise), element("mtd", words("otherwise")))
    return Term(row(operator("{"), element("mtable", table, columnalign="left left")), Binding.CHOICE)


def formula(*parts: str) -> str:
    """A formula of its own, as a browser shows it."""
    return element("math", row(*parts), display="block")
