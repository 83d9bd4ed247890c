"""Formulas that are meant to be others than the derivatives are neither proven nor skipped, and said to be so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from codegen.commands.proofs_page import page_of
from generated.registry import OPERATORS
from gradwright import verify
from gradwright.verify.ledger import Ledger
from gradwright.verify.printing import print_skipped, print_table, summary
from gradwright.verify.results import Cell, Status

NAME = "fake_quantize_per_tensor_affine_cachemask"
REASON = "rounding counts as the identity"


def cells_of(name: str = NAME, **changed: str) -> dict[str, Cell]:
    return {cell.name: cell for cell in verify.prove(replace(OPERATORS[name], **changed))}


def test_only_what_compares_with_values_is_a_convention() -> None:
    cells = cells_of()
    assert OPERATORS[NAME].convention == REASON
    assert cells["gradient"].status is Status.CONVENTION
    assert cells["gradient"].reasons == [REASON]
    for name in ("linear", "forward", "transposed", "second", "modes", "layouts", "batching"):
        assert cells[name].status is Status.PROVEN, name


def test_without_the_key_it_is_refuted() -> None:
    info = replace(OPERATORS[NAME], convention=None)
    refuted = {cell.name for cell in verify.prove(info) if cell.status is Status.REFUTED}
    assert refuted == {"gradient", "beyond"}


def test_a_convention_that_is_the_derivative_is_an_error() -> None:
    cell = cells_of("sin", convention="none")["gradient"]
    assert cell.status is Status.REFUTED
    assert "its 'not_a_derivative_because' says that they are not: none" in cell.failures[0].message


def test_the_ledger_keeps_conventions(tmp_path: Path) -> None:
    file = tmp_path / "coverage.json"
    cells = list(cells_of().values())
    ledger = Ledger.of(cells, None, file)
    ledger.write(file)
    again = Ledger.read(file)
    assert again == ledger
    assert again.rows[NAME].conventions == {"gradient": REASON}
    assert again.skips == 0
    assert not list(again.worse(cells))
    assert f"| `{NAME}` | `gradient` | {REASON} |" in again.document()
    assert "`c` a convention" in again.document()


def test_a_new_convention_is_worse() -> None:
    cells = [cell for cell in cells_of().values() if cell.status is Status.CONVENTION]
    row = replace(Ledger.of(cells, None, Path("nowhere")).rows[NAME], conventions={})
    (message,) = Ledger({NAME: row}).worse(cells)
    assert message.startswith(f"{NAME}: gradient is a convention, which the ledger does not say")
    proven = replace(row, proven=("gradient",))
    (message,) = Ledger({NAME: proven}).worse(cells)
    assert message.startswith(f"{NAME}: gradient was proven, and is convention now")


def test_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell for cell in cells_of().values() if cell.name != "native"]  # it is skipped where there is no core
    print_table(cells, 1.0)
    print_skipped(cells)
    printed = capsys.readouterr().out
    assert "gradient\t0 proven\t0 refuted\t1 convention\t0 skipped\t0 none" in printed
    assert f"convention: {NAME}: gradient: {REASON}" in printed
    assert "0 skipped, 1 conventions in" in summary(cells, 1.0)


def test_the_page_marks_it() -> None:
    cells = [cell.as_json() for cell in cells_of().values()]
    properties = [{"name": each.name, "title": each.title} for each in verify.PROPERTIES]
    page = page_of({"cells": cells, "properties": properties, "summary": ""}, "generated")
    (mark,) = [mark for mark in page.rows[0].marks if mark.status == "convention"]
    assert (mark.sign, mark.link) == ("c", f"{NAME}-gradient")
    (explained,) = (each for each in page.skipped if each.anchor == mark.link)
    assert explained.reason == f"a convention: {REASON}"
