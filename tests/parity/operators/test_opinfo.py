"""Operators on the samples of PyTorch's own tests: what was green stays green.

`make parity-full` shows what is red, and why, and adds to the ledger.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import gradwright
from support.documents import ROOT
from tools.opinfo import entries
from tools.opinfo.deviations import PYTORCH_IS_WRONG

LEDGER = entries.read()


@pytest.mark.rotates
@pytest.mark.parametrize("name", LEDGER)
def test_green_cells_stay_green(name: str) -> None:
    found = entries.cells(name, gradwright)
    assert {cell: found.get(cell, ["is gone"]) for cell in LEDGER[name] if found.get(cell, True)} == {}


def test_the_ledger_is_of_entries_that_there_are() -> None:
    assert set(LEDGER) <= set(entries.entries())
    assert len(LEDGER) > 600


def test_where_pytorch_is_wrong_there_is_evidence() -> None:
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")}
    assert set(PYTORCH_IS_WRONG) <= set(entries.entries())
    assert {row for modes in PYTORCH_IS_WRONG.values() for row in modes.values()} <= rows


def test_a_node_that_is_wrong_has_no_excuse() -> None:
    def wrong(x: gradwright.Tensor, dim: int) -> gradwright.Tensor:
        return gradwright.logcumsumexp(x, dim) * 2

    _, nodes = entries.cells_and_nodes("logcumsumexp", library(logcumsumexp=wrong), ("complex128",))
    count, failed, excused = nodes["LogcumsumexpBackward0"]
    assert failed == count
    assert excused == 0
    _, nodes = entries.cells_and_nodes("logcumsumexp", gradwright, ("complex128",))
    count, failed, excused = nodes["LogcumsumexpBackward0"]
    assert count > failed == excused > 0


def library(**members: object) -> SimpleNamespace:
    """This one with other members."""
    return SimpleNamespace(**{**vars(gradwright), **members})


def test_wrong_values_are_red() -> None:
    found = entries.cells("sin", library(sin=gradwright.cos))
    assert found["float64/forward"]
    assert "elements differ" in found["float64/forward"][0]
    assert not found["float64/method"]


def test_wrong_gradients_are_red() -> None:
    def sin(x: gradwright.Tensor) -> gradwright.Tensor:
        return gradwright.sin(x.detach()) + (x - x.detach())

    found = entries.cells("sin", library(sin=sin))
    assert not found["float64/forward"]
    assert found["float64/backward"]
    assert found["float64/gradgrad"]
