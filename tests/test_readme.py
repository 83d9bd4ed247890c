"""README.md holds: its tour is followed in a copy of the tree, and its commands exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import ROOT, Block, Command, blocks, commands, copy_tree, follow, run

PAGE = ROOT / "README.md"


def is_make(command: Command) -> bool:
    return command.line.split()[0] == "make"


def split() -> tuple[list[str], list[Block]]:
    """The `make` commands of the page, and the blocks of its tour."""
    made: list[str] = []
    tour: list[Block] = []
    for block in blocks(PAGE):
        found = list(commands(block)) if block.language == "console" else []
        made += [command.line for command in found if is_make(command)]
        if not any(map(is_make, found)):
            tour.append(block)
    return made, tour


def test_the_tour_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWRIGHT_VERIFY", "1")
    tree = copy_tree(tmp_path)
    assert run("python -m codegen", tree).returncode == 0  # which `make demo` has done by here
    for block in split()[1]:
        follow(block, tree)


@pytest.mark.parametrize("command", split()[0])
def test_a_make_command_exists(command: str, tmp_path: Path) -> None:
    # This test is part of what `make test` runs, so it cannot run that itself; .ci/run runs them all in full.
    target = command.partition("#")[0].split()[1]
    finished = run(f"make --dry-run {target}", copy_tree(tmp_path))
    assert finished.returncode == 0, finished.stdout
