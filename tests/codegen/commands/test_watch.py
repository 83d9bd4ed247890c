"""`watch`: each time that a file is saved, a generation runs; Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegen.commands.init import make_package
from support.documents import ROOT
from support.own_packages import Project

# The command, where Ctrl-C is not ignored as it is below a shell's background job.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from codegen.commands.main import main
sys.exit(main(sys.argv[1:]))
"""
WAITING = "waiting for a file to be saved; Ctrl-C ends\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    assert make_package("mylib", tmp_path) == 0
    return Project(tmp_path)


def lines_until_it_waits(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        if line == WAITING:
            return
        yield line
    raise AssertionError("it ended")


def test_a_file_that_is_saved_is_generated_from(project: Project) -> None:
    words = [sys.executable, "-c", PROGRAM, "watch", "--no-verify"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words, cwd=project.folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert "files written to mylib/_generated" in "".join(lines_until_it_waits(process))
            right = project.file("derivatives.yaml").read_text()
            project.append("derivatives.yaml", "- name: nothing(Tensor self) -> Tensor\n  self: grad\n")
            assert "error: " in "".join(lines_until_it_waits(process))
            project.file("derivatives.yaml").write_text(right)
            assert "operators, " in "".join(lines_until_it_waits(process))
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_what_is_no_project_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.gradwright\n")
    finished = Project(tmp_path).generate("watch")
    assert finished.returncode == 1
    assert "this is not TOML" in finished.stderr
