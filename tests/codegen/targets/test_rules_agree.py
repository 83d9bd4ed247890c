"""Every rule gives the gradients and tangents of the runtime, on arrays of NumPy, at the samples of its operator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.rule_agreement import compare_all, written_rules

AGREEING = 338  # rules that are compared and agree, of the operators with derivatives


def test_on_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = written_rules(tmp_path, monkeypatch)
    found = compare_all(rules, np.array, np.asarray, np.dtype)
    assert found.wrong == []
    assert len(found.agreeing) == len(rules) >= AGREEING
    assert found.comparisons > 3600
