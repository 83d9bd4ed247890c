"""The line above an entry."""

from __future__ import annotations

import json

from codegen.commands.proven import ledger_file
from codegen.lsp.lens import lenses
from support.editor import Opened


def titles(opened: Opened, name: str) -> dict[str, str]:
    """The lines, by the words that they stand above."""
    found = lenses(opened.state, opened.files[name])
    return {each.span.file.text[each.span.start :].partition("(")[0]: each.title for each in found}


def test_it_says_what_is_saved_and_how_much_that_is(opened: Opened) -> None:
    assert titles(opened, "formulas") == {
        "scale": "saves other, self: 64 bytes for T(3, 4), T(4)",
        "plus": "saves nothing",
        "times": "saves factor",
    }
    assert titles(opened, "functions") == titles(opened, "formulas")


def test_it_says_what_is_proven(opened: Opened) -> None:
    file = ledger_file(opened.paths)
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = {
        "scale": {"proven": "gradient forward second", "skipped": {"empty": "why"}},
        "double": {"proven": "returns", "conventions": {"gradient": "why"}},
    }
    file.write_text(json.dumps({"operators": rows}), encoding="utf-8")
    opened.analyze()
    found = titles(opened, "functions")
    assert found["scale"].startswith("3 properties proven, 1 skipped | saves other, self")
    assert found["double"] == "1 property proven, 1 by convention"


def test_it_moves_with_its_entry(opened: Opened) -> None:
    before = titles(opened, "formulas")
    opened.edit("formulas", "- name: scale(", "# a line above\n- name: scale(")
    assert titles(opened, "formulas") == before


def test_other_files_have_none(opened: Opened) -> None:
    assert lenses(opened.state, opened.files["samples"]) == []
    assert lenses(opened.state, opened.files["kernels"]) == []
