"""The JSON Schemas that editors use say the same as the reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from codegen import editor_schemas
from codegen.dispatch_keys import AUTOGRAD_KEYS, KERNEL_KEYS
from codegen.read import backends
from codegen.read.implied import IMPLIED
from codegen.read.keys import FORMER_NAMES, KEYS, NAMES, documented_keys
from support.documents import ROOT


def schema(name: str) -> dict[str, Any]:
    loaded = json.loads(dict(editor_schemas.texts())[f"{name}.schema.json"])
    assert isinstance(loaded, dict)
    return loaded


def problems(name: str, text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema(name))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [error.message for error in validator.iter_errors(yaml.load(text, loader))]


@pytest.mark.parametrize("name", ["native_functions", "derivatives", "samples"])
def test_the_projects_own_file_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert problems(name, (ROOT / f"{name}.yaml").read_text(encoding="utf-8")) == []


def test_every_key_is_completed_and_documented(update_goldens: bool) -> None:
    properties = schema("native_functions")["items"]["properties"]
    assert properties.keys() == {*NAMES, *FORMER_NAMES, IMPLIED}
    assert [name for name, grammar in properties.items() if "deprecated" in grammar] == list(FORMER_NAMES)
    page = ROOT / "docs" / "yaml.md"
    text = page.read_text(encoding="utf-8")
    table = re.search(r"(?<=\n\n)\| key \| value \|\n(?:\|.*\n)+", text)
    assert table is not None
    wanted = "\n".join((*documented_keys(), ""))
    if update_goldens:
        page.write_text(text.replace(table[0], wanted), encoding="utf-8", newline="\n")
    else:
        assert table[0] == wanted
    assert sorted(set(re.findall(r"^\| `(\w+)`", wanted, re.MULTILINE))) == sorted(
        key.name for key in KEYS if key.has_effect
    )


def test_the_vocabulary_is_the_readers() -> None:
    operator = "func: f(Tensor self) -> Tensor"
    keys = [*(f"- {operator}\n  dispatch:\n    {key}: kernel\n" for key in sorted(KERNEL_KEYS))]
    assert problems("native_functions", "".join(keys)) == []
    blocks = [f"- name: f(Tensor self) -> Tensor\n  dispatch:\n    {key}:\n      self: grad\n" for key in AUTOGRAD_KEYS]
    assert problems("derivatives", "".join(blocks)) == []


def test_the_keys_of_a_back_end_are_the_readers() -> None:
    assert schema("backend")["properties"].keys() == set(backends.KEYS) - {"autograd"}  # which is refused
    text = "backend: NPU\ndevice: npu\narrays: arrays\nkernels: kernels\narray_api: True\nsupported:\n"
    assert problems("backend", text) == problems("backend", f"{text}- add.Tensor\n- mm: fast_mm\n") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("native_functions", "- func: f(Tensor self) -> Tensor\n  variant: method\n"),
        ("native_functions", "- func: f(Tensor self) -> Tensor\n  variants: methods\n"),
        ("native_functions", "- func: f(Tensor self) -> Tensor\n  dispatch:\n    cpu: f\n"),
        ("native_functions", "- func: f(Tensor self) -> Tensor\n  promotion: no_such\n"),
        ("native_functions", "- func: f(Tensor self) -> Tensor\n  dtypes: floats\n"),
        ("native_functions", "- func: f(Tensor self) -> Tensor\n  domain: [1]\n"),
        ("native_functions", "- variants: method\n"),
        ("native_functions", "- implied: half\n"),
        ("native_functions", "- implied: variants\n  func: f(Tensor self) -> Tensor\n"),
        ("samples", "- add.Tensor: T(3)\n"),
        ("samples", "- add(Tensor self):\n  - T(3)\n"),
        ("derivatives", "- self: grad\n"),
        ("derivatives", "- name: f(Tensor self) -> Tensor\n  self: [grad]\n"),
        ("derivatives", "- name: f(Tensor self) -> Tensor\n  output_differentiability: []\n"),
        ("backend", "backend: NPU\n"),
        ("backend", "backend: NPU\narrays: arrays.py\n"),
        ("backend", "backend: NPU\narrays: arrays\nsuported: [mm]\n"),
        ("backend", "backend: NPU\narrays: arrays\nsupported: [[mm]]\n"),
    ],
)
def test_mistakes_are_found(name: str, text: str) -> None:
    assert problems(name, text)


@pytest.mark.parity
@pytest.mark.parametrize(
    ("name", "path"),
    [("native_functions", "ATen/native/native_functions.yaml"), ("derivatives", "autograd/derivatives.yaml")],
)
def test_pytorchs_own_file_is_valid(name: str, path: str) -> None:
    import torchgen

    file = Path(torchgen.__file__).parent / "packaged" / path
    assert problems(name, file.read_text(encoding="utf-8")) == []
