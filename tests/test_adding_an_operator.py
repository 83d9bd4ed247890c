"""docs/adding-an-operator.md holds: everything it says is done in a copy of the tree, and prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.documents import ROOT, blocks, copy_tree, follow, run

PAGE = ROOT / "docs" / "adding-an-operator.md"


def test_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWRIGHT_VERIFY", "1")
    tree = copy_tree(tmp_path)
    for block in blocks(PAGE):
        follow(block, tree)


def test_after_a_mistake_the_last_good_output_is_still_there(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path)
    assert run("python -m codegen", tree).returncode == 0
    before = {path.name: path.read_bytes() for path in (tree / "generated").iterdir() if path.is_file()}
    with (tree / "derivatives.yaml").open("a", encoding="utf-8") as file:
        file.write("\n- name: no_such_operator(Tensor self) -> Tensor\n  self: grad\n")
    assert run("python -m codegen", tree).returncode == 1
    assert before == {path.name: path.read_bytes() for path in (tree / "generated").iterdir() if path.is_file()}
