"""`verify --html FILE`: what stands in the page, as a parser of HTML finds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from codegen.commands.main import main
from support.own_packages import Project
from support.wrong_rules import RULES, Rule, package_of

VOID = {"meta", "br", "hr"}
WRONG = tuple(rule for rule in RULES if rule.name in ("factor_dropped", "wrong_order"))
SAMPLES = ("T(4, 5)", "T(2)", "T(3, 4)")
SKIPPED = Rule(
    "skipped", "Tensor self", 'self.ravel(order="K").reshape(self.shape) * 2', ("self: grad * 2",),
    unproven=("layouts: its <result> is about memory",),
)  # fmt: skip


@dataclass
class Element:
    """An element of a page: its attributes, and what stands in it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The elements of a kind in it, in order."""
        own = [self] if self.tag == tag else []
        return [*own, *(found for child in self.children for found in child.all(tag))]

    def find(self, identifier: str) -> Element:
        """The one element with an id."""
        found = [each for each in self.every() if each.attributes.get("id") == identifier]
        assert len(found) == 1, identifier
        return found[0]

    def every(self) -> list[Element]:
        return [self, *(found for child in self.children for found in child.every())]

    @property
    def text(self) -> str:
        return " ".join([*self.words, *(child.text for child in self.children)]).strip()


class Reader(HTMLParser):
    """Reads a page, whose elements have to be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs))
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.open[-1].words.append(" ".join(data.split()))


def read(file: Path) -> Element:
    reader = Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    reader.close()
    assert len(reader.open) == 1
    return reader.root


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A package with two wrong rules, one of which fails in several samples, and one that is skipped in part."""
    several = [Rule(r.name, r.arguments, r.kernel, r.formulas, SAMPLES) if r is WRONG[0] else r for r in WRONG]
    made = package_of((*several, SKIPPED), tmp_path_factory.mktemp("wrong"))
    assert made.generate("--no-verify").returncode == 0
    finished = made.generate("verify", "--html", "pages/proofs.html")
    assert finished.returncode == 1, finished.stderr
    return made


@pytest.fixture(scope="module")
def page(project: Project) -> Element:
    return read(project.folder / "pages" / "proofs.html")


def cells(page: Element, operator: str) -> dict[str, Element]:
    """The cells of an operator by their properties."""
    head, *rows = page.find("operators").all("tr")
    (row,) = [row for row in rows if row.all("th")[0].text == operator]
    return dict(zip([cell.text for cell in head.all("th")[1:]], row.all("td"), strict=True))


def test_the_page_needs_nothing_else_and_fits_a_phone(page: Element) -> None:
    assert not [each for tag in ("link", "script", "img", "iframe") for each in page.all(tag)]
    assert not [each for each in page.every() if "src" in each.attributes]
    assert all(str(each.attributes["href"]).startswith("#") for each in page.all("a"))
    assert "url(" not in page.all("style")[0].text
    assert "@import" not in page.all("style")[0].text
    viewports = [each.attributes["content"] for each in page.all("meta") if each.attributes.get("name") == "viewport"]
    assert viewports == ["width=device-width, initial-scale=1"]
    for table in page.all("table"):  # what is wider than the screen is moved in its own box
        (box,) = [each for each in page.all("div") if table in each.children]
        assert box.attributes["class"] == "wide"


def test_every_link_leads_somewhere(page: Element) -> None:
    links = [str(each.attributes["href"])[1:] for each in page.all("a")]
    assert links
    for each in links:
        page.find(each)


def test_each_property_of_each_operator_has_a_cell(page: Element) -> None:
    named = [row.all("td")[0].text for row in page.find("properties").all("tr")[1:]]
    assert len(named) == 25
    for operator in ("factor_dropped", "wrong_order", "skipped"):
        assert list(cells(page, operator)) == named


def test_a_refuted_cell_has_its_smallest_sample_and_a_line_that_shows_it(page: Element, project: Project) -> None:
    cell = cells(page, "factor_dropped")["gradient"]
    assert (cell.text, cell.attributes["class"]) == ("\N{BALLOT X}", "refuted")
    (link,) = cell.all("a")
    told = page.find(str(link.attributes["href"])[1:])
    assert told.all("h3")[0].text == ": gradient factor_dropped"
    assert "off by the factor 0.5" in told.text
    where = [each.text for each in told.all("p") if each.attributes.get("class") == "sample"]
    assert where == ["factor_dropped(T(2)) in float64, the smallest of 3 failing samples"]
    (line,) = told.all("pre")
    finished = project.run("-c", line.text)
    assert finished.returncode == 1
    assert "Refuted: gradient of 'self' is off by the factor 0.5" in finished.stderr


def test_the_lines_of_all_refuted_cells_show_it(page: Element, project: Project) -> None:
    articles = page.all("article")
    assert {each.all("code")[0].text for each in articles} == {"factor_dropped", "wrong_order"}
    program = "".join(
        f"try:\n    {line.text}\nexcept Exception: shown += 1\n" for each in articles for line in each.all("pre")
    )
    assert project.output(f"shown = 0\n{program}print(shown)") == str(len(articles))


def test_a_skipped_cell_is_shown_with_its_reason_and_not_as_proven(page: Element) -> None:
    cell = cells(page, "skipped")["layouts"]
    assert (cell.text, cell.attributes["class"]) == ("?", "skipped")
    (link,) = cell.all("a")
    row = page.find(str(link.attributes["href"])[1:])
    assert [each.text for each in row.all("td")] == ["skipped", "layouts", "its <result> is about memory"]
    (counted,) = [
        row for row in page.find("properties").all("tr") if row.all("td") and row.all("td")[0].text == "layouts"
    ]
    assert [each.text for each in counted.all("td")[2:]] == ["2", "0", "1"]
    assert cells(page, "skipped")["gradient"].attributes["class"] == "proven"


def test_an_operator_without_a_property_has_an_empty_cell(page: Element) -> None:
    cell = cells(page, "skipped")["inplace"]
    assert (cell.text, cell.attributes) == ("", {})


def test_a_page_of_right_operators_names_nothing_refuted(tmp_path: Path) -> None:
    file = tmp_path / "proofs.html"
    assert main(["verify", "neg", "lerp", "--property", "gradient", "--property", "linear", "--html", str(file)]) == 0
    page = read(file)
    assert page.all("h1")[0].text == "Proofs of the derivative rules of Gradwright"
    assert page.find("summary").text.startswith("3 operators: 6 properties proven on ")
    assert not page.all("article")
    assert {name: cell.text for name, cell in cells(page, "lerp.Scalar").items()} == {"gradient": "+", "linear": "+"}


def test_a_single_number_is_no_multiple_of_another(tmp_path: Path) -> None:
    cubed = Rule("cubed", "Tensor self", "self * self * self", ("self: grad * self",), ("T()",))
    made = package_of((cubed,), tmp_path)
    assert made.generate("--no-verify").returncode == 0
    said = made.generate("verify", "cubed").stderr
    assert "gradient of 'self' is wrong" in said
    assert "factor" not in said
