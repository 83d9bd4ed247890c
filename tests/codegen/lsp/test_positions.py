from __future__ import annotations

import pytest

from codegen.lsp.positions import Shift, index_in, offset_of, position_of
from codegen.read.files import read_derivatives
from codegen.source import Diagnostics, SourceFile

WIDE = "a\U0001d499b\né: \U0001d499\U0001d49az\r\nlast"


@pytest.mark.parametrize("offset", range(len(WIDE) + 1))
def test_columns_count_units_of_utf16(offset: int) -> None:
    file = SourceFile("wide", WIDE)
    line, column = position_of(file, offset)
    before = WIDE[:offset]
    assert line == before.count("\n")
    assert column == len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    if WIDE[offset : offset + 1] != "\n":  # the end of a line is before its carriage return
        assert offset_of(file, (line, column)) == offset


def test_places_outside_are_the_nearest_ones() -> None:
    file = SourceFile("wide", WIDE)
    assert offset_of(file, (0, 99)) == 3
    assert offset_of(file, (99, 0)) == len(WIDE)


def test_a_place_in_folded_and_quoted_yaml_is_a_character_of_the_formula() -> None:
    text = "- name: f(Tensor self) -> Tensor\n  self: 'where(x, ''a'',\n    grad)'\n"
    (entry,) = read_derivatives(SourceFile("derivatives.yaml", text), Diagnostics())
    formula = entry.formulas[0].text if entry.formulas else None
    assert formula is not None
    at = text.index("grad")
    index = index_in(formula, at)
    assert index is not None
    assert formula.value[index:].startswith("grad")
    assert index_in(formula, text.index("self:")) is None


@pytest.mark.parametrize(
    ("old", "new", "offset", "moved"),
    [
        ("one two", "one and two", 4, 8),
        ("one two", "one and two", 2, 2),
        ("one and two", "one two", 8, 4),
        ("same", "same", 3, 3),
        ("", "text", 0, 4),
    ],
)
def test_an_edit_moves_what_stands_behind_it(old: str, new: str, offset: int, moved: int) -> None:
    assert Shift(old, new).moved(offset) == moved
