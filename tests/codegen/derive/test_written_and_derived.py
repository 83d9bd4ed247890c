"""Derivatives that are written for operators that are expressions, beside those that follow."""

from __future__ import annotations

import pytest

from codegen import pipeline
from codegen.derive.entries import Derivation
from codegen.paths import project_paths

PATHS = project_paths()
# One that is written and is also an expression, as it is and with another formula of the same values.
NAME, FORMULA, SAME = "sigmoid", "sigmoid_backward(grad, result)", "sigmoid_backward(grad, result) * 1"


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators that are compared."""
    names: list[str] = []
    compare = Derivation.check

    def check(self: Derivation, known: object, entry: object) -> None:
        names.append(str(known.function.name))  # type: ignore[attr-defined]
        compare(self, known, entry)  # type: ignore[arg-type]

    monkeypatch.setattr(Derivation, "check", check)
    return names


def test_what_is_written_is_what_would_follow(compared: list[str]) -> None:
    derived, diagnostics = pipeline.derive(PATHS)
    derived.known.compare(derived.elementwise.own_names)
    assert not diagnostics
    assert len(compared) >= 39


def test_what_is_proven_is_not_compared_again(compared: list[str]) -> None:
    assert pipeline.analyze(PATHS).plan is not None
    assert compared == []


def test_what_is_not_proven_is_compared(compared: list[str]) -> None:
    text = PATHS.derivatives.read_text(encoding="utf-8")
    assert text.count(FORMULA) == 1
    result = pipeline.analyze(PATHS, {PATHS.derivatives: text.replace(FORMULA, SAME)})
    assert result.plan is not None
    assert compared == [NAME]
    assert pipeline.analyze(PATHS, {PATHS.derivatives: text.replace(FORMULA, f"{FORMULA} * 2")}).diagnostics
