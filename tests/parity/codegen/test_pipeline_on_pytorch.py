"""The whole generator on PyTorch's own YAML: errors with places for what Gradwright has not, and never a traceback."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.paths import Paths
from codegen.pipeline import analyze
from codegen.read.files import load, read_derivatives
from codegen.source import Diagnostics
from support.documents import ROOT
from tools.upstream import paths_of


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


def _part(packaged: Path, folder: Path, keep: Callable[[str], bool]) -> Paths:
    """Of PyTorch's YAML what belongs to some operators, by their base names, with all that its formulas call."""
    paths = paths_of(packaged)
    for file in (paths.native_functions, paths.derivatives):
        head, *entries = re.split(r"(?m)^(?=- (?:func|name): )", file.read_text(encoding="utf-8"))
        kept = [entry for entry in entries if keep(re.split(r"[ .(]", entry[8:].lstrip(' "'))[0])]
        (folder / file.name).write_text(head + "".join(kept), encoding="utf-8")
    return replace(paths, native_functions=folder / "native_functions.yaml", derivatives=folder / "derivatives.yaml")


def _bases(packaged: Path) -> list[str]:
    text = paths_of(packaged).native_functions.read_text(encoding="utf-8")
    return sorted(set(re.findall(r"(?m)^- func: (\w+)", text)))


@pytest.mark.parametrize("base", ["aminmax", "cumprod", "index_select", "sub", "_softmax"])
def test_without_one_operator(packaged: Path, tmp_path: Path, base: str) -> None:
    result = analyze(_part(packaged, tmp_path, lambda name: name != base))
    assert [item.message for item in result.diagnostics.items] == []


@pytest.mark.parametrize("base", ["sin", "add", "cat"])
def test_one_operator_alone(packaged: Path, tmp_path: Path, base: str) -> None:
    result = analyze(_part(packaged, tmp_path, lambda name: name == base))
    assert [item.message for item in result.diagnostics.items] == []
    assert result.plan is not None
    assert len(result.plan.nodes) > 200  # those of the operators that only this project has are there, too


@pytest.mark.parametrize(("seed", "share"), [(0, 0.5), (1, 0.1), (2, 0.9)])
def test_some_operators(packaged: Path, tmp_path: Path, seed: int, share: float) -> None:
    """What they call and do not declare is an error in their file; there is none in ours."""
    choice = random.Random(seed)
    kept = {base for base in _bases(packaged) if choice.random() < share}
    result = analyze(_part(packaged, tmp_path, kept.__contains__))
    theirs = {str(tmp_path / name) for name in ("native_functions.yaml", "derivatives.yaml")}
    assert {item.span.file.path for item in result.diagnostics.items} <= theirs
