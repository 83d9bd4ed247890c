"""Where proofs look beside the samples."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from generated.registry import OPERATORS
from gradwright.verify import prove, search
from gradwright.verify.points import all_tensors, array
from gradwright.verify.results import Status
from gradwright.verify.table import BY_NAME
from runtime.load.operator_info import OperatorInfo


def texts(info: OperatorInfo) -> list[str]:
    return [point.sample.text for point in search.beside(info)]


def test_the_same_calls_each_time() -> None:
    made = texts(OPERATORS["mul.Tensor"])
    assert made == texts(OPERATORS["mul.Tensor"])
    assert not set(made) & set(OPERATORS["mul.Tensor"].samples)


def test_what_an_operator_does_not_take_is_left_out() -> None:
    info = replace(OPERATORS["log"], samples=("T(3)",))
    assert not any("low=-9.0" in text for text in texts(info))
    assert search.is_taken(info, "T(3, low=1, high=2)")
    assert not search.is_taken(info, "T(3, low=-2, high=-1)")  # NaN
    assert not search.is_taken(OPERATORS["mm"], "T(2, 3), T(2, 3)")  # refused


def test_integers_stay_what_they_are() -> None:
    info = OPERATORS["index_select"]
    fixed = search.with_elements(info, "T(3, 4), 0, I(2, high=3)")
    point = search.point_of(info, fixed)
    original = search.point_of(info, "T(3, 4), 0, I(2, high=3)")
    assert point is not None
    assert original is not None
    assert fixed.startswith("T(3, 4), 0, C([")
    assert array(point.sample.args[2]).tolist() == array(original.sample.args[2]).tolist()


def test_a_search_that_is_left_out_is_no_proof() -> None:
    info = replace(OPERATORS["sin"], unproven=(("beyond", "a test"),))
    (cell,) = prove(info, [BY_NAME["beyond"]])
    assert cell.status is Status.SKIPPED
    assert cell.reasons == ["a test"]


def test_how_much_is_looked_at_does_not_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof reads no clock: on a slow machine it looks at the same calls."""

    def no_clock() -> float:
        raise AssertionError("a proof asks for the time")

    whole = len(texts(OPERATORS["mul.Tensor"]))
    for clock in ("process_time", "perf_counter", "monotonic", "time", "thread_time"):
        monkeypatch.setattr(time, clock, no_clock)
    assert len(texts(OPERATORS["mul.Tensor"])) == whole


def test_calls_and_their_elements_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    info = OPERATORS["mul.Tensor"]
    whole = texts(info)
    assert len(whole) == search._MOST
    sizes = [sum(each.numel() for each in all_tensors(point.sample)) for point in search.beside(info)]
    monkeypatch.setattr(search, "_ELEMENTS", sum(sizes[:7]))
    assert texts(info) == whole[:7]


def test_what_a_formula_refuses_is_no_error() -> None:
    """Of a QR decomposition with mode='complete' there is no derivative, which its helper says."""
    (cell,) = prove(OPERATORS["linalg_qr"], [BY_NAME["beyond"]])
    assert cell.status is Status.PROVEN
