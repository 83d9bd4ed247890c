"""Where proofs look beside the samples."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from generated.registry import OPERATORS
from gradwright.verify import prove, search
from gradwright.verify.points import array
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


def test_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(texts(OPERATORS["mul.Tensor"]))
    ticks = itertools.count()
    monkeypatch.setattr(search.time, "process_time", lambda: next(ticks) / 10)
    assert 0 < len(texts(OPERATORS["mul.Tensor"])) < whole


def test_what_a_formula_refuses_is_no_error() -> None:
    """Of a QR decomposition with mode='complete' there is no derivative, which its helper says."""
    (cell,) = prove(OPERATORS["linalg_qr"], [BY_NAME["beyond"]])
    assert cell.status is Status.PROVEN
