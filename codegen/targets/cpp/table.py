"""The table of what is written in C++ for a function in Python.

Each has a row beside it, `GRADWRIGHT_KERNEL(squareplus, 2, elements)`, which the compiler reads, too:
runtime/native/src/kernel_table.hpp says what the facts mean. Nothing else of C++ is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from codegen.codes import Code
from codegen.source import Diagnostics, SourceFile, Span
from codegen.words import did_you_mean, words_of

KERNELS, WRITERS, COMPOSITES, HELPERS = "kernels", "writers", "composites", "helpers"


class Fact(Enum):
    """What a row says: first what it is of, a function or a functor, and of a functor how it computes."""

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


# The functions among them, and the namespaces of C++ below `gradwright` that have them; functors are in `kernels`.
FUNCTIONS = {
    Fact.TENSORS: KERNELS,
    Fact.IN_PLACE: WRITERS,
    Fact.COMPOSITE: COMPOSITES,
    Fact.HELPER: HELPERS,
}
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


def cpp_file(path: Path, shown: str) -> SourceFile:
    """A file of C++, as messages name it; where it is missing it is empty."""
    try:
        return SourceFile(shown, path.read_text(encoding="utf-8-sig"))
    except OSError:
        return SourceFile(shown, "")


_ROW = re.compile(r"^[ \t]*(GRADWRIGHT_KERNEL)\b(?:\((\w+), (\d+), (\w+(?:, \w+)*)\)[ \t]*;?[ \t]*$)?", re.MULTILINE)


def row_text(name: str, operands: int, *facts: Fact) -> str:
    """A row as it is written."""
    return f"GRADWRIGHT_KERNEL({name}, {operands}, {', '.join(fact.value for fact in facts)})"


def read_rows(file: SourceFile, diagnostics: Diagnostics) -> Iterator[Row]:
    """The rows of a file; lines that begin like one, and are none, are reported."""
    for match in _ROW.finditer(file.text):
        name, operands, words = match[2], match[3], (match[4] or "").split(", ")
        if name is None:
            hint = f"a row is a line such as {row_text('twice', 1, Fact.ELEMENTS)}: a name, operands, facts"
            diagnostics.error(
                Code.MALFORMED, Span(file, *match.span(1)), "this is no row of the table of kernels", hint
            )
        elif unknown := [word for word in words if word not in words_of(Fact)]:
            start = match.start(4) + sum(len(word) + len(", ") for word in words[: words.index(unknown[0])])
            place, known = Span(file, start, start + len(unknown[0])), words_of(Fact)
            meant = did_you_mean(unknown[0], known) or f"known are {', '.join(known)}"
            diagnostics.error(Code.UNKNOWN_WORD, place, f"a row can not say '{unknown[0]}'", meant)
        elif Fact(words[0]) not in _FIRST or (Fact(words[0]) in FUNCTIONS and len(words) > 1):
            first = ", ".join(fact.value for fact in _FIRST)
            message = f"the row says '{match[4]}', and not what '{name}' is"
            diagnostics.error(
                Code.CONTRADICTION, Span(file, *match.span(4)), message,
                f"the first fact is one of {first}; the first four of these are functions, of which there is no other",
            )  # fmt: skip
        else:
            yield Row(name, int(operands), tuple(map(Fact, words)), Span(file, *match.span(2)))
