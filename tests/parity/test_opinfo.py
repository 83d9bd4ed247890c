"""Operators on the samples of PyTorch's own tests: what was green stays green.

`make parity-full` shows what is red, and why, and adds to the ledger.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from opinfo import entries

import runtime

pytestmark = pytest.mark.parity

LEDGER = entries.read()


@pytest.mark.rotates
@pytest.mark.parametrize("name", LEDGER)
def test_green_cells_stay_green(name: str) -> None:
    found = entries.cells(name, runtime)
    assert {cell: found.get(cell, ["is gone"]) for cell in LEDGER[name] if found.get(cell, True)} == {}


def test_the_ledger_is_of_entries_that_there_are() -> None:
    assert set(LEDGER) <= set(entries.entries())
    assert len(LEDGER) > 600


def library(**members: object) -> SimpleNamespace:
    """This one with other members."""
    return SimpleNamespace(**{**vars(runtime), **members})


def test_wrong_values_are_red() -> None:
    found = entries.cells("sin", library(sin=runtime.cos))
    assert found["float64/forward"]
    assert "elements differ" in found["float64/forward"][0]
    assert not found["float64/method"]


def test_wrong_gradients_are_red() -> None:
    def sin(x: runtime.Tensor) -> runtime.Tensor:
        return runtime.sin(x.detach()) + (x - x.detach())

    found = entries.cells("sin", library(sin=sin))
    assert not found["float64/forward"]
    assert found["float64/backward"]
    assert found["float64/gradgrad"]
