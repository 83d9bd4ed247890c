"""What docs/architecture.md says of the places that a change touches, done in a copy of the generator."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import ROOT

TABLE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

# What tells where a new key and a new dispatch key are known: it is run in the copy.
ASK = r"""
import json
from codegen import editor_schemas
from codegen.dispatch_keys import KEYS as DISPATCH_KEYS
from codegen.formatting import formatted
from codegen.read.files import read_derivatives, read_native_functions
from codegen.read.keys import documented_keys
from codegen.source import Diagnostics, SourceFile

diagnostics = Diagnostics()
text = "- func: sin(Tensor self) -> Tensor\n  tags: pointwise\n  is_odd: True\n  dispatch: NPU\n"
(function,) = read_native_functions(SourceFile("functions", text), diagnostics)
rules = "- name: sin(Tensor self) -> Tensor\n  dispatch:\n    AutogradNPU:\n      self: grad\n"
(entry,) = read_derivatives(SourceFile("rules", rules), diagnostics)
schemas = {name: json.loads(schema) for name, schema in editor_schemas.texts()}
print(json.dumps({
    "errors": [each.message for each in diagnostics.items],
    "value": getattr(function, "is_odd", None),
    "kernels": [[each.key, str(each.kernel)] for each in function.dispatch],
    "formulas": [str(key) for key, _ in entry.dispatch],
    "formatted": formatted(text),
    "documented": [line for line in documented_keys() if "is_odd" in line],
    "completed": schemas["native_functions.schema.json"]["items"]["properties"].get("is_odd"),
    "key of formulas": "AutogradNPU" in json.dumps(schemas["derivatives.schema.json"]),
    "key of kernels": "NPU|" in json.dumps(schemas["native_functions.schema.json"]),
    "key at run time": "NPU" in DISPATCH_KEYS,
}))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "codegen", tmp_path / "codegen", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def edit(copy: Path, change: str, edits: dict[str, tuple[str, str]]) -> None:
    """Make edits, all in files that the table names for the change."""
    row = re.search(rf"^\| {re.escape(change)} \| (.*) \|$", TABLE, re.MULTILINE)
    assert row is not None, change
    assert len(edits) <= 2
    for name, (before, after) in edits.items():
        assert f"`{name}`" in row[1], name
        file = copy / "codegen" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1, (name, before)
        file.write_text(text.replace(before, after), encoding="utf-8")


def ask(copy: Path) -> dict[str, object]:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    finished = subprocess.run(
        [sys.executable, "-c", ASK], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    assert isinstance(told, dict)
    return told


def test_a_key_and_a_dispatch_key_are_each_added_in_two_places(copy: Path) -> None:
    before = ask(copy)
    assert before["errors"] == [
        "unknown key 'is_odd'", "unknown dispatch key 'NPU'", "unknown dispatch key 'AutogradNPU'",
    ]  # fmt: skip
    key = '    Key(\n        "numbers_as_tensors",'
    added = '    Key("is_odd", "whether f(-x) is -f(x)", _BOOLEAN, _boolean("is_odd"), "is_odd", is_own=True),\n'
    field = "    late_bound: bool = False"
    edit(copy, "a key of operators", {
        "read/keys.py": (key, added + key),
        "read/model.py": (field, f"    is_odd: bool = False\n{field}"),
    })  # fmt: skip
    edit(copy, "a dispatch key", {"dispatch_keys.py": ('"Lazy", "Meta",\n', '"Lazy", "Meta", "NPU",\n')})
    assert ask(copy) == {
        "errors": [],
        "value": True,
        "kernels": [["NPU", "sin"]],
        "formulas": ["AutogradNPU"],
        "formatted": "- func: sin(Tensor self) -> Tensor\n  dispatch: NPU\n  tags: pointwise\n  is_odd: True\n",
        "documented": ["| `is_odd` | *Gradwright:* whether f(-x) is -f(x) |"],
        "completed": {"description": "whether f(-x) is -f(x)", "type": "boolean"},
        "key of formulas": True,
        "key of kernels": True,
        "key at run time": True,
    }
