"""Tests that are skipped say why, with a reason from a closed list: one that does not run should not go unnoticed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from support.documents import ROOT

FOLDERS = (ROOT / "tests", ROOT / "tools")

# Reasons, as the source of the tests has them, and in how many places. A new one has to be of a machine, or of a known
# difference to PyTorch; what has no meaning for some parameter is left out of the parameters.
REASONS = {
    # What a machine has not, or what is switched off.
    "NO_CORE": 5,
    "f'no native core: {native.why_not()}'": 1,
    "'there is no native core'": 1,
    "'compares with the core'": 1,
    "'a product with ones'": 1,
    "f'no extension can be built here: {REASON}'": 1,
    "'there is no C++ compiler'": 1,
    "'needs a C++ compiler'": 1,
    "'there is no git'": 1,
    "'there is no Neovim 0.11'": 1,
    "'there is no Emacs with Eglot'": 1,
    "'there are no timers'": 1,
    "'needs fork'": 2,
    "'only Linux has a device that is always full'": 1,
    "'no numbers longer than double here'": 1,
    "'cupy'": 1,
    "'no GPU'": 1,
    "'needs the torchgen package of PyTorch'": 1,
    # On the formulas of PyTorch itself.
    '"PyTorch\'s formulas of operators on lists"': 1,
    '"about this project\'s formulas"': 1,
    '"about the Nodes of this project\'s formulas"': 1,
    '"PyTorch\'s YAML chooses another overload"': 1,
    "'its Node keeps what was written there, a known fault'": 1,
    # Where PyTorch has nothing to compare with, or is known to differ.
    "'PyTorch has no such operator'": 1,
    "'PyTorch refuses to subtract bools'": 2,
    "'PyTorch counts an array that is a mask as one dimension'": 1,
    "'PyTorch rounds in between'": 1,
}
_WAYS = ("skip", "skipif", "importorskip", "xfail", "skipTest", "SkipTest")


def reasons(path: Path) -> Iterator[str]:
    """The reasons of a file, as they stand there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in _WAYS:
            continue
        named = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
        yield ast.unparse([*named, *node.args][0]) if named or node.args else ""


def test_every_skip_has_a_reason_from_the_list() -> None:
    assert Counter(reason for folder in FOLDERS for path in folder.rglob("*.py") for reason in reasons(path)) == REASONS
