"""`import runtime` and `import generated`: either first, and what is said where the output is missing or stale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import runtime
from runtime.loading import load

ROOT = Path(__file__).parents[1]


def python(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(cwd)}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("first", ["import runtime, generated", "import generated, runtime"])
def test_either_may_come_first(first: str) -> None:
    script = f"{first}; x = runtime.tensor([1.0]); print(generated.mul(x, x).item(), runtime.mul is generated.mul)"
    done = python(script, ROOT)
    assert done.stdout == "1.0 True\n", done.stderr


def test_importing_does_not_load_what_is_used_later() -> None:
    script = (
        "import sys, runtime; print([name for name in ('scipy', 'ml_dtypes', 'jinja2', 'yaml', 'rich', 'torch') "
        "if name in sys.modules])"
    )
    assert python(script, ROOT).stdout == "[]\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("codegen", "runtime", "generated", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("native_functions.yaml", "derivatives.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_missing_output_is_an_error_that_names_the_command() -> None:
    with pytest.raises(ImportError, match="there is no generated code; run: python -m codegen"):
        load("a_package_that_is_not_there", runtime)


def test_output_of_other_yaml_is_an_error_that_names_the_command(copy: Path) -> None:
    with (copy / "derivatives.yaml").open("a") as file:
        file.write("# changed\n")
    done = python("import generated", copy)
    assert "ImportError: generated was made from other YAML; run: python -m codegen" in done.stderr
