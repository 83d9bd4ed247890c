"""README.md holds: its tour is followed in a copy of the tree, and its commands exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from support.documents import ROOT, Block, Command, blocks, commands, copy_tree, follow, matches, run
from support.in_process import codegen

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


def test_what_the_tour_calls_comes_with_both_commands() -> None:
    assert any("pytest" in command.line for block in split()[1] for command in commands(block))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra in ("demo", "test"):
        assert any(requirement.startswith("pytest>") for requirement in extras[extra])


def test_what_comes_out_for_other_frameworks_is_what_the_page_shows(tmp_path: Path) -> None:
    page = list(blocks(PAGE))
    entry, *shown = page[:4]
    assert (entry.language, [each.language for each in shown]) == ("yaml", ["python"] * 3)
    folder = tmp_path / "mylib"
    assert codegen("init", "mylib", folder=tmp_path).returncode == 0
    (folder / "native_functions.yaml").write_text(entry.text, encoding="utf-8")
    (folder / "derivatives.yaml").write_text("[]\n", encoding="utf-8")
    for target, block in zip(("torch", "jax", "rules"), shown, strict=True):
        written = codegen("explain", "softsign", "--code", "--target", target, folder=tmp_path).stdout
        assert matches(f"...{block.text.strip()}...", written), f"line {block.line}: {target} writes\n{written}"


def test_the_versions_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = PAGE.read_text(encoding="utf-8")
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in page
    numpy = next(each for each in project["dependencies"] if each.startswith("numpy>="))
    assert f"NumPy {numpy.removeprefix('numpy>=')} or newer" in page


def test_the_rows_of_speed_are_those_of_its_page() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Speed")[2].partition("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) > 3
    assert not set(rows) - set((ROOT / "docs" / "speed.md").read_text(encoding="utf-8").splitlines())


def test_the_index_lists_each_page_once() -> None:
    index = ROOT / "docs" / "README.md"
    listed = re.findall(r"^- \[([\w/-]+\.md)\]\(([\w/-]+\.md)\): ", index.read_text(encoding="utf-8"), re.MULTILINE)
    pages = [path.relative_to(index.parent).as_posix() for path in index.parent.rglob("*.md") if path != index]
    assert sorted(listed) == sorted((page, page) for page in pages)


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (page, link)
        for page in (PAGE, *(ROOT / "docs").rglob("*.md"))
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if re.fullmatch(r"[\w./-]+", link)
    ]
    assert len(links) > 80
    assert not [(page.name, link) for page, link in links if not (page.parent / link).exists()]


def test_prose_by_hand_fits_into_120_columns() -> None:
    """Rows of tables, code and pictures are as long as they are."""
    compared = 0
    for page in (PAGE, *(ROOT / "docs").glob("*.md")):
        code = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            code ^= line.lstrip().startswith("```")
            if not (code or line.startswith(("|", "    ", "!["))):
                compared += 1
                assert len(line) <= 120, f"{page.name}:{number}"
    assert compared > 2000


def test_no_page_installs_from_where_nothing_is() -> None:
    pages = [PAGE, *(ROOT / "docs").rglob("*.md"), *(ROOT / "templates").rglob("*.md.j2")]
    found = re.compile(r"pip install gradwright|pypi\.org/project/gradwright")
    assert [page.name for page in pages if found.search(page.read_text(encoding="utf-8"))] == []
