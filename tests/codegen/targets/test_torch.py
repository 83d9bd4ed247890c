"""The target of PyTorch: what is written of some operators of a package.

A file of `golden/torch` has the name of an operator of `support.framework_package` and what is written of it; a new one
is an empty file and `pytest --update-goldens`. Lines of the YAML have no numbers there.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.framework_package import make_framework_package

GOLDEN = Path(__file__).parent / "golden" / "torch"
FILES = sorted(GOLDEN.glob("*.py"))
_LINE = re.compile(r"(derivatives|native_functions)\.yaml:\d+")
_HEAD = re.compile(r"^# -- (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is written of each operator."""
    project = make_framework_package(tmp_path_factory.mktemp("sections"), "framed", '["torch"]')
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    _, *parts = _HEAD.split(_LINE.sub(r"\1.yaml", project.file("torch/operators.py").read_text()))
    return {name: f"{text.strip()}\n" for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file: Path, sections: dict[str, str], update_goldens: bool) -> None:
    if update_goldens:
        file.write_text(sections[file.stem], encoding="utf-8")
    assert sections[file.stem] == file.read_text(encoding="utf-8")
