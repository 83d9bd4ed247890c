"""Every rule gives the gradients and tangents of the runtime, on Tensors of PyTorch through array-api-compat."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support.rule_agreement import compare_all, written_rules

AGREEING = 338


def compat() -> Any:
    """The package array_api_compat, or the copy of it that SciPy brings."""
    try:
        return importlib.import_module("array_api_compat")
    except ImportError:
        return importlib.import_module("scipy._lib.array_api_compat")


def test_on_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_api_compat", compat())
    rules = written_rules(tmp_path, monkeypatch)
    found = compare_all(
        rules,
        lambda array: torch.from_numpy(np.array(array)),
        lambda tensor: tensor.detach().resolve_conj().numpy(),
        lambda name: getattr(torch, name),
    )
    assert found.wrong == []
    assert len(found.agreeing) == len(rules) >= AGREEING


def test_without_the_package_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    rules = written_rules(tmp_path, monkeypatch)
    tensor = torch.ones(2)
    saved = rules["mul.Tensor"].save(tensor, tensor, tensor)
    with pytest.raises(TypeError, match="for arrays of PyTorch install array-api-compat"):
        rules["mul.Tensor"].vjp(saved, tensor)
