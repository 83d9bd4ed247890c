"""The table of kernels in C++: what the generator reads of it, what a compiler reads, and what does not fit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from codegen.extension import source_folders
from codegen.paths import project_paths
from codegen.python_source import FunctionIndex, SourcePart
from codegen.read.kernel_table import REASONS, Fact, Row, cpp_file, read_rows
from codegen.source import Diagnostics, SourceFile
from support.compiling import CORE, complaints, needs_compiler, preprocessed
from support.documents import ROOT

PATHS = project_paths()


def rows_of(path: Path) -> list[Row]:
    diagnostics = Diagnostics()
    rows = list(read_rows(cpp_file(path, path.name), diagnostics))
    assert not diagnostics
    return rows


ROWS = [row for path in PATHS.native_kernels for row in rows_of(path)]

# What a row becomes: the declaration of a function, or facts of a functor.
_EXPANDED = re.compile(
    r"is_same_v<decltype\(::gradwright::(?P<space>\w+)::(?P<function>\w+)\), "
    r"::gradwright::FunctionOf<[\w: ]+, (?P<count>\d+)>"
    r"|Functor<struct ::gradwright::kernels::(?P<functor>\w+)>.*?return \{(?P<facts>[\w, ]*)\}"
    r".*?has_operands<struct [\w: ]+>\((?P<operands>\d+)\)"
)


@needs_compiler
def test_generator_and_compiler_read_the_same_rows(tmp_path: Path) -> None:
    """All files are looked at, those that the generator does not open, too."""
    files = [path for folder in source_folders(ROOT) for path in sorted(Path(folder).glob("*.[ch]pp"))]
    whole = tmp_path / "whole.cpp"
    whole.write_text("".join(f'#include "{path}"\n' for path in files))
    compiled_rows = sorted(
        (match["space"], match["function"], int(match["count"]), "")
        if match["functor"] is None
        else ("kernels", match["functor"], int(match["operands"]), match["facts"].replace(" ,", ","))
        for match in _EXPANDED.finditer(preprocessed(whole))
    )
    read = sorted(
        (row.namespace, row.name, row.operands, ", ".join(fact.value for fact in row.facts) if row.is_functor else "")
        for row in ROWS
    )
    assert len(read) > 250
    assert compiled_rows == read


STRUCT = "struct two { template <class T> static T apply(T a, T b) { return a + b; } };"
FUNCTION = "Ref own(PyObject* x, PyObject*) { return Ref::borrow(x); }"
RIGHT = [
    (STRUCT, "two, 2, elements"),
    (STRUCT.replace("class T>", "class T, class A = Baseline>"), "two, 2, elements, vectors"),
    ("struct two : mul {};", "two, 2, elements, ufunc, also_complex"),
    (FUNCTION, "own, 2, tensors"),
]
MISFIT = "the struct is not what its row says"
# And what the compiler says of it.
WRONG = [
    (STRUCT, "two, 1, elements", "other operands than its row says"),
    (STRUCT, "two, 2, choice", MISFIT),
    (STRUCT, "two, 2, elements, ufunc", MISFIT),
    (STRUCT, "two, 2, elements, exact", "exact"),
    (STRUCT.replace("{ ", "{ static constexpr bool for_complex = true; ", 1), "two, 2, elements", MISFIT),
    (STRUCT.replace("class T>", "class T, class A = Baseline>"), "two, 2, elements", MISFIT),
    (FUNCTION, "own, 1, tensors", "own"),
    (FUNCTION, "own, 2, in_place", "own"),
    (FUNCTION, "own, 2, function", "function"),
]


def written(number: int, text: str, row: str, folder: Path) -> Path:
    path = folder / f"row_{number}.cpp"
    body = f"{text}\nGRADWRIGHT_KERNEL({row})\n"
    path.write_text(f'#include "kernels.hpp"\n\nnamespace gradwright::kernels {{\n{body}}}\n')
    return path


@needs_compiler
def test_a_compiler_refuses_a_row_that_does_not_fit(tmp_path: Path) -> None:
    right = [written(number, *case, tmp_path) for number, case in enumerate(RIGHT)]
    wrong = [written(number, *case[:2], tmp_path) for number, case in enumerate(WRONG, len(right))]
    said = complaints([*right, *wrong], tmp_path)
    assert len(said) == len(wrong)
    for complaint, (_, row, expected) in zip(said, WRONG, strict=True):
        assert expected in complaint, row


NO_ROW = "this is no row of the table of kernels"


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("GRADWRIGHT_KERNEL(twice, 1)", "2:1", NO_ROW),
        ("  GRADWRIGHT_KERNEL(twice, one, elements)", "2:3", NO_ROW),
        ("GRADWRIGHT_KERNEL(twice, 1, elements) static", "2:1", NO_ROW),
        ("GRADWRIGHT_KERNEL(twice, 1, elements, vector)", "2:39", "a row can not say 'vector'"),
        (
            "GRADWRIGHT_KERNEL(twice, 1, composite, by_sizes, draws)",
            "2:50",
            "'twice' is a function: of it a row can not say 'draws'",
        ),
        ("GRADWRIGHT_KERNEL(twice, 1, bools)", "2:29", "'bools' does not say what 'twice' is"),
        (
            "GRADWRIGHT_KERNEL(twice, 1, helper, bools)",
            "2:37",
            "'twice' is a function: of it a row can not say 'bools'",
        ),
    ],
)
def test_a_line_that_is_no_row(line: str, place: str, message: str) -> None:
    diagnostics = Diagnostics()
    assert list(read_rows(SourceFile("mine.hpp", f"// rows\n{line}\n"), diagnostics)) == []
    assert [(str(item.span), item.message) for item in diagnostics.items] == [(f"mine.hpp:{place}", message)]


def test_spaces_and_comments_do_not_matter() -> None:
    text = "// GRADWRIGHT_KERNEL(once, 1, elements)\n  GRADWRIGHT_KERNEL( twice,1 , elements,bools ) ;  // so\n"
    (row,) = read_rows(SourceFile("mine.hpp", text), Diagnostics())
    assert (row.name, row.operands, row.facts) == ("twice", 1, (Fact.ELEMENTS, Fact.BOOLS))
    assert str(row.span) == "mine.hpp:2:22"


def test_operators_that_are_written_twice_say_why_they_are_no_formula() -> None:
    rows = [row for row in ROWS if row.facts[0] is Fact.COMPOSITE]
    assert rows
    assert [row.name for row in rows if not set(row.facts) & set(REASONS)] == []


def test_words_are_those_of_the_header() -> None:
    text = (CORE / "kernel_table.hpp").read_text(encoding="utf-8")
    known = set(re.findall(r"#define GRADWRIGHT_KERNEL_(\w+)\(", text))
    facts = text.partition("enum class Fact {")[2].partition("};")[0]
    reasons = text.partition("enum class Why {")[2].partition("};")[0]
    known |= set(re.findall(r"^  (\w+),  +// ", facts + reasons, re.MULTILINE))
    assert known == {fact.value for fact in Fact}


def test_numpy_has_the_loops_that_rows_say() -> None:
    kernels = FunctionIndex([SourcePart(PATHS.operators_part("kernels"), Diagnostics())])
    for row in ROWS:
        twin = kernels.get(row.name)
        if Fact.UFUNC_COMPLEX in row.facts and twin is not None and twin.alias:
            assert "F" * row.operands + "->F" in getattr(np, twin.alias).types, row.name
