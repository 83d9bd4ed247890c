"""Which project a file belongs to, and what of it an editor's texts take the place of."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from unittest import mock

import pytest

from codegen.commands.init import make_package
from codegen.input_files import InputFiles
from codegen.lsp.analysis import analyze
from codegen.lsp.project import Project, Role, find_paths
from codegen.paths import PartKind
from codegen.source import Diagnostics
from support.documents import ROOT
from support.editor import Opened
from support.in_process import codegen


def test_files_of_the_checkout_have_roles() -> None:
    diagnostics = Diagnostics()
    paths = find_paths(ROOT / "docs", diagnostics)
    assert paths is not None
    project = Project(paths)
    assert project.role(ROOT / "native_functions.yaml") is Role.OPERATORS
    assert project.role(ROOT / "derivatives.yaml") is Role.DERIVATIVES
    assert project.role(ROOT / "samples.yaml") is Role.SAMPLES
    assert project.role(next((ROOT / "runtime/operators/helpers").glob("[a-z]*.py"))) is Role.HELPERS
    assert project.role(ROOT / "build_backend.py") is None
    assert not project.is_read(ROOT / "build_backend.py")
    assert project.path("derivatives.yaml") == ROOT / "derivatives.yaml"


def test_files_of_a_package_have_roles(tmp_path: Path) -> None:
    assert make_package("mylib", tmp_path) == 0
    paths = find_paths(tmp_path / "mylib" / "kernels.py", Diagnostics())
    assert paths is not None
    project = Project(paths)
    assert project.role(tmp_path / "mylib" / "native_functions.yaml") is Role.OPERATORS
    assert project.role(tmp_path / "mylib" / "kernels.py") is Role.KERNELS
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "mylib")
    assert project.known(link / "kernels.py") == tmp_path / "mylib" / "kernels.py"
    assert find_paths(tmp_path.parent, Diagnostics()) is None


def test_a_table_that_is_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradwright]\nschema_version = 1\npackge = "mylib"\n')
    diagnostics = Diagnostics()
    assert find_paths(tmp_path / "native_functions.yaml", diagnostics) is None
    assert "unknown key 'packge'" in [item.message for item in diagnostics.items]


def test_texts_take_the_place_of_all_kinds_of_files(opened: Opened) -> None:
    texts = {opened.files[name]: opened.text(name) for name in opened.files}
    for path in texts:
        path.write_text("this is nothing that could be read: [\n")
    header = opened.paths.operators / "kernels" / "small.hpp"
    header.write_text("")
    row = "GRADWRIGHT_KERNEL(scale, 1, elements)\n"
    found = analyze(opened.state.project, {**texts, header: row}).result.diagnostics.items
    assert [str(item.span.file.path) for item in found] == [opened.paths.shown(header)]
    functions = InputFiles(opened.paths, Diagnostics(), texts).index(opened.paths.functions(PartKind.HELPERS))
    assert functions.get("twice") is not None


@pytest.mark.parametrize("name", ["vscode/package.json", "neovim/gradwright.lua", "emacs/gradwright.el"])
def test_settings_of_editors_start_the_command(name: str) -> None:
    text = (ROOT / "editors" / name).read_text(encoding="utf-8")
    assert '"gradwright"' in text
    assert '"lsp"' in text
    if name.endswith(".json"):
        assert json.loads(text)["contributes"]["configuration"]["properties"]["gradwright.command"]["default"] == [
            "gradwright", "lsp",
        ]  # fmt: skip


def test_without_the_extra_the_command_says_what_to_install() -> None:
    with mock.patch("importlib.util.find_spec", return_value=None):
        finished = codegen("lsp")
    assert finished.returncode == 2
    assert finished.stderr.endswith("hint: pip install 'gradwright[lsp]'\n")


def test_an_analysis_that_is_over_is_forgotten(opened: Opened) -> None:
    assert opened.state.analysis.checked is not None
    old = weakref.ref(opened.state.analysis.checked.linear)
    opened.edit("formulas", "scale(grad, self)", "scale(self, grad)")
    opened.analyze()
    gc.collect()
    assert old() is None
