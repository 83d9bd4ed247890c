"""Puts the sources of the site together: one folder of Markdown, which sphinx reads."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from tools.site.charts import with_bars
from tools.site.examples import is_drawn, with_graphs
from tools.site.operators import Operators, operator_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_HERE = Path(__file__).parent
_INDEX = "README.md"  # of docs/, whose lists become the navigation
_LISTED = re.compile(r"^- \[[^]]+\]\(([\w/-]+)\.md\)", re.MULTILINE)

_NAMED_AS_FILE = re.compile(r"\[(?:[\w.-]+/)*[\w-]+\.md\]\(([\w./-]+\.md)\)")
_FIRST_CELL = re.compile(r"^\| `(?P<name>[\w.]+)` \|", re.MULTILINE)
_PICTURE = re.compile(r"^!\[.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A part of the navigation: a title, and pages without their suffix."""

    title: str
    pages: tuple[str, ...]


def write_sources(target: Path) -> int:
    """Write all sources into a folder, which is emptied first; how many pages there are."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    written = 0
    for name, text in _pages():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written += 1
    for picture in DOCS.glob("*.png"):
        shutil.copy(picture, target / picture.name)
    return written


def _pages() -> Iterator[tuple[str, str]]:
    """The names of all pages below the folder, and their Markdown."""
    operators = Operators()
    bases = frozenset(operator.name.base for operator in operators.plan.operators)
    yield "index.md", _beginning() + (_HERE / "index.md").read_text(encoding="utf-8") + _navigation()
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).as_posix()
        if name != _INDEX:
            text = page.read_text(encoding="utf-8")
            if name.startswith("reports/"):
                text = with_operators(text, bases)
            yield name, with_titles(with_bars(with_graphs(text) if is_drawn(text) else text))
    yield "notation.md", (_HERE / "notation.md").read_text(encoding="utf-8")
    yield from operator_pages(operators)


def with_titles(text: str) -> str:
    """A page whose links to other pages, which are named as files, are named by the titles of these."""
    return _NAMED_AS_FILE.sub(r"[](\1)", text.replace(f"[{_INDEX}]({_INDEX})", "[the start page](index.md)"))


def with_operators(text: str, bases: Set[str]) -> str:
    """A report whose tables begin with the names of operators, with links to their pages."""

    def linked(match: re.Match[str]) -> str:
        base = match["name"].partition(".")[0]
        return f"| [`{match['name']}`](../operators/{base}.md) |" if base in bases else match[0]

    return _FIRST_CELL.sub(linked, text)


def _beginning() -> str:
    """The first part of the project's README.md, with links as they are from docs/."""
    text = (ROOT / _INDEX).read_text(encoding="utf-8").partition("\n## ")[0]
    return _PICTURE.sub("", text).replace("](docs/", "](")


def sections() -> Iterator[Section]:
    """The navigation: the lists of docs/README.md, under their headings."""
    _, *parts = (DOCS / _INDEX).read_text(encoding="utf-8").split("\n## ")
    for part in parts:
        title, _, text = part.partition("\n")
        yield Section(title, tuple(_LISTED.findall(text)))


def _navigation() -> str:
    parts = [Section("Operators", ("operators", "notation")), *sections()]
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {section.title}\n\n" + "\n".join(section.pages) + "\n```\n"
        for section in parts
    )
