"""docs/backend.md holds: from an empty folder, everything it says is done and prints what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from codegen import project
from codegen.dispatch_keys import KERNEL_KEYS
from codegen.read import backends
from support.documents import ROOT, blocks, follow
from support.in_process import run_line

PAGE = ROOT / "docs" / "backend.md"


def test_the_page_holds(tmp_path: Path) -> None:
    for block in blocks(PAGE):
        follow(block, tmp_path, run_line)


def test_the_table_of_keys_is_whole() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = {*backends.KEYS} - {"extra_headers", "ir_gen", "non_native"}
    assert [key for key in shown if f"`{key}`" not in text] == []


def test_the_keys_that_are_taken_are_listed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    composite = {key for key in KERNEL_KEYS if key.startswith("Composite")}
    pattern = re.compile("(Autograd|Quantized|SparseCsr|Sparse|NestedTensor)?(.+)")
    unsaid = [pattern.sub(r"\2", key) for key in KERNEL_KEYS - composite if f"`{key}`" not in text]
    assert [key for key in unsaid if f"`{key}`" not in text] == []
    assert len(composite) == 4


def test_the_example_is_one_of_this_version() -> None:
    table = tomllib.loads((ROOT / "examples" / "backend" / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {"schema_version": project.SCHEMA_VERSION, "package": "toynpu", "dispatch_keys": ["NPU"]}
    assert table["tool"]["gradwright"] == wanted
