"""The table of what is written in C++ for a function in Python.

Each has a row beside it, `GRADWRIGHT_KERNEL(squareplus, 2, elements)`, which the compiler reads, too:
runtime/native/src/kernel_table.hpp says what the facts mean. Nothing else of C++ is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from codegen.codes import Code
from codegen.paths import Texts
from codegen.source import Diagnostics, SourceFile, Span
from codegen.words import did_you_mean, words_of

KERNELS, WRITERS, COMPOSITES, HELPERS = "kernels", "writers", "composites", "helpers"


class Fact(Enum):
    """What a row says: first what it is of, a function or a functor.

    Of a functor it says how it computes, and of an operator that is made of others why its entry is no formula.
    """

    TENSORS = "tensors"
    IN_PLACE = "in_place"
    COMPOSITE = "composite"
    HELPER = "helper"
    ELEMENTS = "elements"
    CHOICE = "choice"
    BLOCKS = "blocks"
    UFUNC = "ufunc"
    UFUNC_COMPLEX = "ufunc_complex"
    VECTORS = "vectors"
    BOOLS = "bools"
    ONLY_FLOAT32 = "only_float32"
    ONLY_FLOAT64 = "only_float64"
    ALSO_COMPLEX = "also_complex"
    BY_SIZES = "by_sizes"
    BY_VALUES = "by_values"
    DRAWS = "draws"
    IN_ONE_PASS = "in_one_pass"


# The functions among them, and the namespaces of C++ below `gradwright` that have them; functors are in `kernels`.
FUNCTIONS = {
    Fact.TENSORS: KERNELS,
    Fact.IN_PLACE: WRITERS,
    Fact.COMPOSITE: COMPOSITES,
    Fact.HELPER: HELPERS,
}
# Why an operator that is made of others is no formula, which both languages would be printed from.
REASONS = (Fact.BY_SIZES, Fact.BY_VALUES, Fact.DRAWS, Fact.IN_ONE_PASS)
_FIRST = (*FUNCTIONS, Fact.ELEMENTS, Fact.CHOICE, Fact.BLOCKS, Fact.UFUNC, Fact.UFUNC_COMPLEX)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a name, which is that in Python, a number of operands, facts; and where the name stands."""

    name: str
    operands: int
    facts: tuple[Fact, ...]
    span: Span

    @property
    def is_functor(self) -> bool:
        return self.facts[0] not in FUNCTIONS

    @property
    def namespace(self) -> str:
        """The namespace of C++ below `gradwright` that has it."""
        return FUNCTIONS.get(self.facts[0], KERNELS)


def cpp_file(path: Path, shown: str, texts: Texts | None = None) -> SourceFile:
    """A file of C++, as messages name it; where it is missing it is empty."""
    if texts is not None and path in texts:
        return SourceFile(shown, texts[path])
    try:
        return SourceFile(shown, path.read_text(encoding="utf-8-sig"))
    except OSError:
        return SourceFile(shown, "")


_ROW = re.compile(r"^[ \t]*(GRADWRIGHT_KERNEL)\b(?:\(([\w ,]+)\)[ \t]*;?[ \t]*(?://.*)?$)?", re.MULTILINE)
_WORD = re.compile(r"\w+")


def row_text(name: str, operands: int, *facts: Fact) -> str:
    """A row as it is written."""
    return f"GRADWRIGHT_KERNEL({name}, {operands}, {', '.join(fact.value for fact in facts)})"


def read_rows(file: SourceFile, diagnostics: Diagnostics) -> Iterator[Row]:
    """The rows of a file; lines that begin like one, and are none, are reported."""
    for match in _ROW.finditer(file.text):
        spans = [Span(file, *word.span()) for word in _WORD.finditer(file.text, *match.span(2))] if match[2] else []
        words = [file.text[span.start : span.end] for span in spans]
        unknown = next((place for place in range(2, len(words)) if words[place] not in words_of(Fact)), None)
        if len(words) < 3 or not words[1].isdecimal():
            hint = f"a row is a line such as {row_text('twice', 1, Fact.ELEMENTS)}: a name, operands, facts"
            message = "this is no row of the table of kernels"
            diagnostics.error(Code.MALFORMED, Span(file, *match.span(1)), message, hint)
        elif unknown is not None:
            meant = did_you_mean(words[unknown], words_of(Fact)) or f"known are {', '.join(words_of(Fact))}"
            diagnostics.error(Code.UNKNOWN_WORD, spans[unknown], f"a row can not say '{words[unknown]}'", meant)
        elif Fact(words[2]) not in _FIRST:
            hint = f"the first fact is what it is: {', '.join(fact.value for fact in _FIRST)}"
            diagnostics.error(Code.CONTRADICTION, spans[2], f"'{words[2]}' does not say what '{words[0]}' is", hint)
        elif wrong := _not_of_a_function(words):
            message = f"'{words[0]}' is a function: of it a row can not say '{words[wrong]}'"
            diagnostics.error(Code.CONTRADICTION, spans[wrong], message)
        else:
            yield Row(words[0], int(words[1]), tuple(map(Fact, words[2:])), spans[0])


def _not_of_a_function(words: Sequence[str]) -> int:
    """The place of the first fact that a row can not say of a function; 0: there is none."""
    first, *others = map(Fact, words[2:])
    known = 1 if first is Fact.COMPOSITE and others and others[0] in REASONS else 0
    return 3 + known if first in FUNCTIONS and len(others) > known else 0
