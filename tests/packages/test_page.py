"""docs/packages.md and docs/native-kernels.md hold: from an empty folder, all they say is done and prints what they
say.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from codegen import project
from codegen.inputs import INTERFACE
from support.compiling import needs_compiler
from support.documents import ROOT, blocks, follow
from support.in_process import run_line
from support.native_core import needs_core

PAGE = ROOT / "docs" / "packages.md"


def test_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWRIGHT_VERIFY", "1")
    monkeypatch.setenv("CXXFLAGS", "-O0")  # compiled at once: it is called a few times
    for block in blocks(PAGE):
        follow(block, tmp_path, run_line)


@needs_compiler
@needs_core
def test_the_page_about_kernels_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    for block in blocks(ROOT / "docs" / "native-kernels.md"):
        follow(block, tmp_path)


def test_the_table_of_keys_is_whole() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [key for key in project.KEYS if f"`{key}`" not in text] == []


def test_the_promise_names_the_versions_that_there_are() -> None:
    text = " ".join((ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8").split())
    assert f"it is {project.SCHEMA_VERSION}" in text
    assert isinstance(INTERFACE, int)


def test_the_example_depends_on_what_there_is() -> None:
    table = tomllib.loads((ROOT / "examples" / "out_of_tree" / "pyproject.toml").read_text(encoding="utf-8"))
    assert table["tool"]["gradwright"] == {"schema_version": project.SCHEMA_VERSION, "package": "planar"}
