"""The files of a package: on disks that are full, and as other editors and git on Windows leave them."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.writing import replace_texts, write_text
from support.documents import ROOT, contents
from support.own_packages import Project


def on_a_full_disk(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    """`gradwright` where no file can have more than some bytes."""
    return subprocess.run(
        [sys.executable, "-m", "codegen", *words], cwd=project.folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)),
    )  # fmt: skip


@pytest.mark.parametrize("words", [["new", "mish2(Tensor self) -> Tensor"], ["format"], []], ids=" ".join)
def test_what_can_not_be_written_stays_as_it_was(words: list[str], project: Project) -> None:
    project.append("native_functions.yaml", "\n\n\n# The end.\n")  # which `format` takes the blank lines from
    before = contents(project.folder)
    finished = on_a_full_disk(project, *words)
    assert finished.returncode == 2
    (line,) = finished.stderr.splitlines()
    assert line.startswith("error: File too large: ")
    assert str(os.getpid()) not in line
    assert contents(project.folder).items() >= before.items()
    left = [path.name for path in project.folder.rglob(".*") if path.name not in (".github", ".gitignore")]
    assert sorted(left) == [".gitattributes", ".pre-commit-config.yaml"]


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "missing" / "two"
    one.write_text("before")
    with pytest.raises(FileNotFoundError) as raised:
        replace_texts({one: "after", two: "after"})
    assert raised.value.filename == str(two)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("one", "before")]


def test_a_device_is_written_to(capfd: pytest.CaptureFixture[str]) -> None:
    """`verify --json /dev/stdout`: nothing is put in its place."""
    write_text(Path("/dev/null"), "text")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_an_output_that_is_full_is_an_error_in_a_line() -> None:
    with open("/dev/full", "w") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "codegen", "explain", "GW012"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
        )  # fmt: skip
    assert (finished.returncode, finished.stderr) == (2, "error: No space left on device\n")


def test_line_ends_and_a_mark_are_no_difference(project: Project) -> None:
    assert project.generate().returncode == 0
    for path in project.folder.rglob("*"):
        if path.is_file() and path.suffix in (".yaml", ".py", ".pyi", ".json", ".md", ".txt"):
            mark = b"\xef\xbb\xbf" if path.parent == project.file("") and path.suffix in (".yaml", ".py") else b""
            path.write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    for words in (["--check"], ["format", "--check"], ["lint"]):
        finished = project.generate(*words)
        assert (finished.returncode, finished.stderr) == (0, ""), words
    assert re.search(r": 0 of \d+ files written", project.generate().stdout)
    assert project.output("import mylib, gradwright; print(mylib.squareplus(gradwright.zeros(1)).item())") == "1.0"


def test_what_is_added_has_the_line_ends_of_the_file(project: Project) -> None:
    file = project.file("native_functions.yaml")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert project.generate("new", "mish2(Tensor self) -> Tensor").returncode == 0
    data = file.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# ")
    assert data.count(b"\n") == data.count(b"\r\n") > 20
    assert b"\r" not in project.file("derivatives.yaml").read_bytes()
