"""Documents as tests: the code blocks of a Markdown page say in their first line what is to be done with them.

    ```yaml append=FILE     add the block to the end of FILE
    ```python create=FILE   write FILE
    ```diff apply=FILE      replace the lines marked `-`, which stand in FILE exactly once, by those marked `+`
    ```console              run each line after `$ `; the lines below it are what it prints, `...` is anything
    ```console status=1     the same, and each ends with that exit status instead of 0

Blocks with no such word are only read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(?P<language>\w+)(?: (?P<action>\w+)=(?P<object>\S+))?\n(?P<text>.*?)^```$", re.M | re.S)
_NOT_COPIED = shutil.ignore_patterns(
    ".git",
    ".venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "dist",
    "*.png",
    "build",
    "_native-*",  # a copy is edited, and what was built of the original would not belong to it
)


@dataclass(frozen=True)
class Block:
    """A code block; `line` is where it begins in the page."""

    language: str
    action: str | None
    object: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line after `$ `, and what the page says it prints."""

    line: str
    output: str


def blocks(page: Path) -> Iterator[Block]:
    """The code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(match["language"], match["action"], match["object"] or "", match["text"], line)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, output)


def copy_tree(target: Path) -> Path:
    """A copy of the working tree, in which a page may do what it says."""
    tree = target / "tree"
    shutil.copytree(ROOT, tree, ignore=_NOT_COPIED)
    return tree


def contents(folder: Path) -> dict[str, bytes]:
    """The files in a folder by name, but for the bytecode that stands beside them."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run(command: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the copy, with `python` the interpreter of the tests; both streams come back as one."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    # Of the enclosing test run, or of whoever set it: neither belongs to the copy.
    for name in ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "MAKEFLAGS", "MAKELEVEL", "GRADWRIGHT_NATIVE"):
        environment.pop(name, None)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


def follow(block: Block, tree: Path, run: Callable[[str, Path], subprocess.CompletedProcess[str]] = run) -> None:
    """Do what a block says, and compare what its commands print."""
    if block.language == "console":
        status = int(block.object) if block.action == "status" else 0
        for command in commands(block):
            finished = run(command.line, tree)
            assert (matches(command.output, finished.stdout), finished.returncode) == (True, status), (
                f"line {block.line}: `{command.line}` ends with {finished.returncode} and prints\n{finished.stdout}\n"
                f"and the page says {status} and\n{command.output}"
            )
    elif block.action is not None:
        _edit(block, tree / block.object)


def matches(expected: str, printed: str) -> bool:
    """Whether the two are equal, `...` standing for anything."""
    parts = (re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(".*".join(parts), printed.strip(), re.S) is not None


def _edit(block: Block, path: Path) -> None:
    if block.action == "create":
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    if block.action == "append":
        path.write_text(f"{text.rstrip()}\n\n{block.text}", encoding="utf-8")
        return
    assert block.action == "apply", f"line {block.line}: unknown action '{block.action}'"
    old, new = (
        "".join(line[1:] for line in block.text.splitlines(keepends=True) if line.startswith(mark)) for mark in "-+"
    )
    assert text.count(old) == 1, f"line {block.line}: {path.name} does not hold this exactly once:\n{old}"
    path.write_text(text.replace(old, new), encoding="utf-8")
