"""What the demo prints of its checks, and the picture that it draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from demo import checking, training
from gradwright.testing import CheckResult


def test_one_line_where_all_passed(capsys: pytest.CaptureFixture[str]) -> None:
    checking.show([CheckResult("add", 2, 2), CheckResult("mul", 3, 3)])
    assert capsys.readouterr().out == "2 of 2 operators passed: 5 first-order and 5 second-order checks\n"


def test_what_failed_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    failed = CheckResult("mul", 1, 0, failures=["mul(T(3)) in float64: wrong"])
    checking.show([CheckResult("add", 2, 2), failed, CheckResult("sub")])
    assert capsys.readouterr().out == (
        "mul(T(3)) in float64: wrong\n"
        "sub: not checked\n"
        "1 of 3 operators passed: 3 first-order and 2 second-order checks\n"
    )


def history() -> training.History:
    labels = np.arange(40) % 10
    predictions = labels.copy()
    predictions[[5, 39]] = 0
    digits = np.random.default_rng(0).random((40, 8, 8))
    return training.History([1.0, 0.1], [0.5, 0.9], [0.4, 0.8], digits, labels, predictions)


def test_the_same_numbers_give_the_same_picture(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        training.plot(history(), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_wrong_digits_are_among_those_shown() -> None:
    shown = training._chosen(history())
    assert len(shown) == training.GRID[0] * training.GRID[1]
    assert {5, 39} <= set(shown)
