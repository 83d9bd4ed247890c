"""PyTorch's own YAML files are valid input, whole and unmodified."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from codegen.formatting import formatted
from codegen.read.files import load, read_derivatives, read_native_functions, read_tags
from codegen.source import Diagnostics, SourceFile
from codegen.words import TAGS


def loaded(path: Path, diagnostics: Diagnostics) -> SourceFile:
    file = load(path, path.name, diagnostics)
    assert file is not None
    return file


def test_native_functions(packaged: Path) -> None:
    diagnostics = Diagnostics()
    file = loaded(packaged / "ATen/native/native_functions.yaml", diagnostics)
    functions = read_native_functions(file, diagnostics)
    assert diagnostics.items == []
    assert len(functions) == 2584
    for function in functions:
        assert str(function.schema) == function.text.value


def test_derivatives(packaged: Path) -> None:
    diagnostics = Diagnostics()
    file = loaded(packaged / "autograd/derivatives.yaml", diagnostics)
    entries = read_derivatives(file, diagnostics)
    assert diagnostics.items == []
    assert len(entries) == 687
    formulas = [
        formula
        for entry in entries
        for group in (entry.formulas, *(block for _, block in entry.dispatch))
        for formula in group
    ]
    assert len(formulas) == 1378
    for formula in formulas:
        text = formula.text
        there = "".join(file.text[text.offsets[index]] for index in range(len(text.value)))
        assert there.replace("\n", " ") == text.value.replace("\n", " ")


def test_tags(packaged: Path) -> None:
    diagnostics = Diagnostics()
    assert read_tags(loaded(packaged / "ATen/native/tags.yaml", diagnostics), diagnostics) == TAGS
    assert diagnostics.items == []


@pytest.mark.parametrize("name", ["ATen/native/native_functions.yaml", "autograd/derivatives.yaml"])
def test_a_formatted_file_says_the_same(name: str, packaged: Path) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (packaged / name).read_text(encoding="utf-8")
    neat = formatted(text)
    assert neat != text
    assert yaml.load(neat, loader) == yaml.load(text, loader)
    assert neat.count("#") == text.count("#")
    assert formatted(neat) == neat
