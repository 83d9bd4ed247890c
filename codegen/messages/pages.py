"""All pages, and what is printed of them."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.codes import Code
from codegen.messages import of_derivatives, of_files, of_findings, of_formulas, of_operators, of_proofs
from codegen.messages.page import PACKAGE

PAGES = {
    page.code: page
    for group in (of_files, of_operators, of_formulas, of_derivatives, of_findings, of_proofs)
    for page in group.PAGES
}
_ABOUT = """\
# Messages

Each message of the generator ends with a code. It stands for a kind of mistake and stays the same in every version; the
words of a message may change. `gradwright explain GW012` prints what stands here. This page is made of
`codegen/messages` by `python -m pytest tests/codegen/test_messages.py --update-goldens`; that test runs each example.

Where an example shows one file, the others of its package are these:
"""


def page_text(code: Code) -> str:
    """The page of a code, for a terminal."""
    page = PAGES[code]
    return "\n".join((f"{code}: {page.title}", "", *page.lines()))


def document() -> str:
    """The text of docs/reports/messages.md."""
    return "\n".join(_document())


def _document() -> Iterator[str]:
    yield _ABOUT
    for name, text in PACKAGE.items():
        language = {"yaml": "yaml", "py": "python", "toml": "toml"}[name.rpartition(".")[2]]
        yield from (f"`{name}`:", "", f"```{language}", *text.splitlines(), "```", "")
    yield from ("| code | what it says |", "|---|---|")
    yield from (f"| [{code}](#{str(code).lower()}) | {PAGES[code].title} |" for code in Code)
    for code in Code:
        yield from ("", f"## {code}", "", f"**{PAGES[code].title}.**", "", *PAGES[code].lines())
    yield ""
