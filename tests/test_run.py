"""What a run of these tests says of itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--rootdir", str(folder), *options, str(folder)]
    variables = {**os.environ, "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("reason", "workers"), [("the native core is not built, or switched off", "1"), ("nobody has a reason", "0")]
)
def test_the_last_line_says_that_no_native_test_was_run(tmp_path: Path, reason: str, workers: str) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_one.py").write_text(f"import pytest\npytest.skip({reason!r}, allow_module_level=True)\n")
    (tmp_path / "test_two.py").write_text("def test_two():\n    pass\n")
    finished = run_pytest(tmp_path, "-q", "-n", workers)
    assert finished.returncode == 0, finished.stdout
    last = finished.stdout.splitlines()[-1]
    if "native" in reason:
        assert last == "The tests of the native core were not run: the native core is not built, or switched off."
    else:
        assert last.startswith("1 passed, 1 skipped")


def test_a_group_of_tests_runs_in_one_process(tmp_path: Path) -> None:
    """Versions of pytest and pytest-xdist have to fit for that; nothing fails in a run where they do not."""
    (tmp_path / "test_many.py").write_text(
        "import os\nimport pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('number', range(20))\n"
        "def test_one(number):\n    print(f'process {os.getpid()}')\n"
    )
    finished = run_pytest(tmp_path, "-n", "2", "--dist", "loadgroup", "-rP")
    assert finished.returncode == 0, finished.stdout
    lines = [line for line in finished.stdout.splitlines() if line.startswith("process ")]
    assert len(lines) == 20
    assert len(set(lines)) == 1


@pytest.mark.parametrize("line", ["registered.packages['mine'] = 'mine'", "Tensor.mine = 1"])
def test_a_module_that_leaves_something_registered_is_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_one.py").write_text(
        f"from gradwright import Tensor\nfrom runtime.call import registered\ndef test_one():\n    {line}\n"
    )
    finished = run_pytest(tmp_path)
    assert finished.returncode == 1, finished.stdout
    assert "1 passed, 1 error" in finished.stdout


def test_guards_of_tests_that_take_turns_run_each_time(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = rotates: takes turns\n")
    (tmp_path / "test_many.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.rotates\n"
        "@pytest.mark.parametrize('number', range(30))\n"
        "def test_one(number):\n    pass\n"
        "def test_guard():\n    pass\n"
    )
    seen = []
    for part in range(3):
        finished = run_pytest(tmp_path, "-v", "--rotate", f"{part}/3")
        assert finished.returncode == 0, finished.stdout
        assert "::test_guard PASSED" in finished.stdout
        seen += [line.split()[0] for line in finished.stdout.splitlines() if "::test_one[" in line]
    assert len(seen) == len(set(seen)) == 30
