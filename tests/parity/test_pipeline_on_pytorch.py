"""The whole generator on PyTorch's own YAML: errors with places for what Gradwright has not, and never a traceback."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.read import load, read_derivatives
from codegen.source import Diagnostics

pytestmark = pytest.mark.parity
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def packaged() -> Path:
    specification = importlib.util.find_spec("torchgen")
    if specification is None or specification.origin is None:
        pytest.skip("needs the torchgen package of PyTorch")
    return Path(specification.origin).parent / "packaged"


def test_every_error_has_a_place(packaged: Path, tmp_path: Path) -> None:
    native, derivatives = packaged / "ATen/native/native_functions.yaml", packaged / "autograd/derivatives.yaml"
    words = ["--native-functions", native, "--derivatives", derivatives, "--out", tmp_path / "out"]
    words += ["--strict", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "codegen", *map(str, words)],
        cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    errors = json.loads(done.stdout)
    lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in (native, derivatives)}
    for error in errors:
        line = lines[Path(error["file"]).name][error["line"] - 1]
        assert 1 <= error["column"] <= len(line), error
        assert error["message"]
    assert not (tmp_path / "out").exists()


def test_no_formula_fails_to_parse(packaged: Path) -> None:
    diagnostics = Diagnostics()
    path = packaged / "autograd/derivatives.yaml"
    file = load(path, path.name, diagnostics)
    assert file is not None
    entries = read_derivatives(file, diagnostics)
    assert diagnostics.items == []
    formulas = sum(len(entry.formulas) + sum(len(block) for _, block in entry.dispatch) for entry in entries)
    assert formulas >= 1378
