"""What a run of these tests says of itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("reason", ["the native core is not built, or switched off", "nobody has a reason"])
@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_last_line_says_that_no_native_test_was_run(tmp_path: Path, reason: str, workers: str) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_one.py").write_text(f"import pytest\npytest.skip({reason!r}, allow_module_level=True)\n")
    (tmp_path / "test_two.py").write_text("def test_two():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "--rootdir", str(tmp_path), str(tmp_path)]
    finished = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTEST_ADDOPTS": ""}, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout
    last = finished.stdout.splitlines()[-1]
    if "native" in reason:
        assert last == "The tests of the native core were not run: the native core is not built, or switched off."
    else:
        assert last.startswith("1 passed, 1 skipped")
