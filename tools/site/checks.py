"""What is looked at in the finished site: links lead somewhere, pages have their parts, nothing comes from elsewhere.

Sphinx checks the links that it makes of Markdown; those of pages that are written as HTML are checked here, like all
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a reader of some pages has to see: headings, and at least so many elements.
PARTS: Mapping[str, tuple[Sequence[str], Mapping[str, int]]] = {
    "index.html": (("Gradwright", "Ways in"), {"a": 30, "img": 1}),
    "operators.html": (("Operators", "Linear algebra"), {"a": 900}),
    "operators/tanh.html": (
        ("tanh", "Call", "Value", "Derivative", "Kept for backward", "Proven"),
        {"math": 3, "svg": 1},
    ),
    "operators/logaddexp.html": (("logaddexp", "Where PyTorch differs"), {"math": 2}),
    "from-the-chain-rule.html": (("On paper", "When a gradient is not a number"), {"svg": 7}),
    "speed.html": (("Speed",), {"figure": 1, "table": 3}),
    "reports/messages.html": (("Messages",), {"h2": 60}),
    "search.html": ((), {"noscript": 1}),
}

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
_FAR = ("http", "https")


@dataclass
class Read:
    """What stands in a page: the links, what a browser loads with it, the places to link to, and its parts."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    headings: list[tuple[str, str]] = field(default_factory=list)
    elements: dict[str, int] = field(default_factory=dict)
    plots: int = 0


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self._heading: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given: Mapping[str, str] = {name: value or "" for name, value in attributes}
        self.read.elements[tag] = self.read.elements.get(tag, 0) + 1
        self.read.places.update(given[name] for name in ("id", "name") if name in given)
        self.read.plots += tag == "figure" and given.get("class") == "plot"
        if tag == "a" and "href" in given:
            self.read.links.append(given["href"])
        elif tag in _LOADED and _LOADED[tag] in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.read.loaded.append(given[_LOADED[tag]])
        if tag in ("h1", "h2", "h3"):
            self._heading, self._text = tag, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._heading:
            self.read.headings.append((tag, self._text.strip().removesuffix("#").strip()))
            self._heading = None


def read_page(text: str) -> Read:
    """What stands in the HTML of a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.read


def problems(site: Path) -> Iterator[str]:
    """What is wrong with a finished site, a line for each: broken links, missing parts, what would be loaded from
    elsewhere.
    """
    pages = {path.relative_to(site).as_posix(): read_page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for name, page in sorted(pages.items()):
        yield from (f"{name}: loads {address}" for address in page.loaded if urlsplit(address).scheme in _FAR)
        yield from (f"{name}: {missing}" for missing in _missing(page, *PARTS.get(name, ((), {}))))
        for link in dict.fromkeys((*page.links, *page.loaded)):
            if not _leads_somewhere(site, name, link, pages):
                yield f"{name}: {link} leads nowhere"
    for path in sorted(site.rglob("*.css")):
        text = path.read_text("utf-8")
        if "url(http" in text or "@import" in text:
            yield f"{path.relative_to(site).as_posix()}: loads from elsewhere"


def _missing(page: Read, headings: Sequence[str], elements: Mapping[str, int]) -> Iterator[str]:
    there = {heading for _, heading in page.headings}
    yield from (f"there is no heading {heading!r}" for heading in headings if heading not in there)
    for tag, count in elements.items():
        if page.elements.get(tag, 0) < count:
            yield f"there are {page.elements.get(tag, 0)} of <{tag}>, and should be {count} or more"


def _leads_somewhere(site: Path, name: str, link: str, pages: Mapping[str, Read]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True  # of another site, which is not looked at
    target = (site / name).parent / unquote(parts.path) if parts.path else site / name
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    other = pages.get(target.resolve().relative_to(site.resolve()).as_posix())
    return not parts.fragment or other is None or unquote(parts.fragment) in other.places
