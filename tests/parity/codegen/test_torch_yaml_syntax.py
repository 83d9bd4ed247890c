"""PyTorch's own YAML files, as its wheel installs them: every signature and every formula parses and prints back."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.formula.parser import parse_formula
from codegen.formula.printer import print_formula
from codegen.schema.defaults import default_value
from codegen.schema.parser import parse_schema
from codegen.schema.types import SchemaKind
from codegen.schema.variants import signature

SIGNATURES = 2584
ENTRIES = 687
FORMULAS = 1378


def _load(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return entries


@pytest.fixture(scope="module")
def signatures(packaged: Path) -> list[str]:
    return [entry["func"] for entry in _load(packaged / "ATen/native/native_functions.yaml")]


@pytest.fixture(scope="module")
def entries(packaged: Path) -> list[dict[str, Any]]:
    return _load(packaged / "autograd/derivatives.yaml")


def _bare(text: str) -> str:
    """`text` without what printing may change: comments, blanks and parentheses that precedence makes needless."""
    return re.sub(r"/\*.*?\*/|[\s()]", "", text)


def _formulas(entries: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        blocks = entry["dispatch"].values() if "dispatch" in entry else [entry]
        for block in blocks:
            found += [text for key, text in block.items() if key not in ("name", "output_differentiability")]
    return found


def test_signatures_print_back(signatures: list[str]) -> None:
    assert len(signatures) == SIGNATURES
    assert [text for text in signatures if str(parse_schema(text)) != text] == []


def test_entry_names_print_back(entries: list[dict[str, Any]]) -> None:
    assert len(entries) == ENTRIES
    assert [entry["name"] for entry in entries if str(parse_schema(entry["name"])) != entry["name"]] == []


def test_defaults_have_values(signatures: list[str]) -> None:
    for text in signatures:
        for argument in parse_schema(text).all_arguments:
            if argument.default is not None:
                default_value(argument)


def test_kinds_and_signatures_are_torchgens(signatures: list[str]) -> None:
    """The kinds agree, and so do the groups of variants, with two exceptions.

    torchgen calls an operator functional that writes `self` under a functional name (`set_data`), and gives
    `bernoulli.p` a signature of its own, which leaves out its in-place variant when defaults are stripped.
    """
    from torchgen.model import FunctionSchema as TorchSchema

    groups: dict[object, set[str]] = defaultdict(set)
    torch_groups: dict[object, set[str]] = defaultdict(set)
    for text in signatures:
        schema, theirs = parse_schema(text), TorchSchema.parse(text)
        kind = theirs.kind().name
        if kind == "functional" and any(argument.is_write for argument in schema.all_arguments):
            kind = "mutable"  # such as set_data
        assert schema.kind is SchemaKind[kind.upper()], text
        if schema.name.base in ("bernoulli", "bernoulli_"):
            continue
        groups[signature(schema)].add(text)
        torch_groups[str(theirs.signature(strip_default=True))].add(text)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, torch_groups.values()))


def test_formulas_print_back(entries: list[dict[str, Any]]) -> None:
    formulas = _formulas(entries)
    assert len(formulas) == FORMULAS
    for text in formulas:
        tree = parse_formula(text)
        printed = print_formula(tree)
        assert parse_formula(printed) == tree, text
        assert _bare(printed) == _bare(text)
