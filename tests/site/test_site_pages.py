"""The pages of the site, before sphinx reads them; what it makes of them `make docs` looks at."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.documents import ROOT
from tools.site.charts import with_bars
from tools.site.checks import problems, read_page
from tools.site.examples import is_drawn, values, with_graphs
from tools.site.operators import Operators, Page, operator_pages
from tools.site.sources import sections, with_operators, with_titles

CHAIN_RULE = ROOT / "docs" / "from-the-chain-rule.md"


@cache
def operators() -> Operators:
    return Operators()


@cache
def pages() -> dict[str, Page]:
    return {page.base: page for page in operators().pages()}


@cache
def texts() -> dict[str, str]:
    return dict(operator_pages(operators()))


def test_every_operator_has_a_page() -> None:
    bases = {operator.name.base for operator in operators().plan.operators}
    assert pages().keys() == bases
    assert {f"operators/{base}.md" for base in bases} <= texts().keys()
    shown = {overload.name for page in pages().values() for overload in page.overloads}
    assert shown == {str(operator.name) for operator in operators().plan.operators}


def test_the_list_leads_to_every_page() -> None:
    listed = re.findall(r'href="operators/(\w+)\.html"', texts()["operators.md"])
    assert sorted(listed) == sorted(pages())


def test_pages_have_their_parts() -> None:
    for base, page in pages().items():
        text = texts()[page.file]
        headings = re.findall(r"^(#+ .*)$", text, re.MULTILINE)
        assert headings[0] == f"# {base}"
        assert [each for each in ("## Call", "## Derivative", "## Proven") if each not in headings] == []
        assert text.count("```") % 2 == 0, base
        for overload in page.overloads:
            assert overload.signature.replace("->", "-&gt;") in text


def test_the_markup_of_pages_is_closed() -> None:
    for name, text in texts().items():
        for block in re.findall(r"^```\{raw\} html\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            try:
                ElementTree.fromstring(f"<div>{block}</div>")
            except ElementTree.ParseError as error:
                pytest.fail(f"{name}: {error}")


def test_functions_of_one_tensor_are_plotted() -> None:
    plotted = {base for base, page in pages().items() if page.plot is not None}
    assert len(plotted) > 140
    assert plotted >= {"exp", "tanh", "relu", "softplus", "log", "erf", "abs", "sign"}
    assert not plotted & {"mm", "sum", "rand_like", "atan2"}
    assert pages()["tanh"].plot.has_derivative
    assert not pages()["signbit"].plot.has_derivative


def test_a_page_says_what_is_known_elsewhere() -> None:
    (tanh,) = pages()["tanh"].overloads
    assert tanh.saved == [("TanhBackward0", ["result: an output"])]
    assert ("gradients against finite differences", "gradient") in tanh.proven
    assert pages()["tanh"].example[0].startswith(">>> gradwright.tanh(")
    assert pages()["relu"].overloads[0].slopes == [("0", "0")]
    assert any("second derivatives" in each.operator for each in pages()["logaddexp"].differences)
    assert [names for names, *_ in pages()["pow"].values] == [["pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar"]]
    _, helper = pages()["atan2"].helpers
    assert helper.source.startswith("def atan2_backward_self(grad: Tensor, self: Tensor, other: Tensor)")
    assert "return" in helper.source


def test_the_navigation_has_every_page_of_docs() -> None:
    listed = sorted(page for section in sections() for page in section.pages)
    folder = ROOT / "docs"
    there = sorted(
        path.relative_to(folder).with_suffix("").as_posix()
        for path in folder.rglob("*.md")
        if path != folder / "README.md"
    )
    assert listed == there


def test_links_have_the_titles_of_pages() -> None:
    page = (
        "See [yaml.md](yaml.md), [speed](speed.md) and [docs/torch.md](../torch.md), listed in [README.md](README.md)."
    )
    wanted = "See [](yaml.md), [speed](speed.md) and [](../torch.md), listed in [the start page](index.md)."
    assert with_titles(page) == wanted


def test_reports_lead_to_the_pages_of_operators() -> None:
    table = "| `mul.Tensor` | proven |\n| `nothing` | |\n"
    assert with_operators(table, {"mul"}) == "| [`mul.Tensor`](../operators/mul.md) | proven |\n| `nothing` | |\n"


def test_what_leads_nowhere_or_is_loaded_from_elsewhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#there">b</a><a href="#top">a</a><a href="https://example.org">far</a>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text(
        '<p id="there"></p><a href="a.html#gone"></a><a href="c.html"></a><script src="https://example.org/x.js">'
        "</script>",
        encoding="utf-8",
    )
    (tmp_path / "far.css").write_text("@import 'https://example.org/x.css';", encoding="utf-8")
    assert sorted(problems(tmp_path)) == [
        "b.html: a.html#gone leads nowhere",
        "b.html: c.html leads nowhere",
        "b.html: loads https://example.org/x.js",
        "far.css: loads from elsewhere",
    ]


def test_examples_print_what_the_page_says() -> None:
    shown = list(values(CHAIN_RULE.read_text(encoding="utf-8")))
    assert len(shown) > 12
    assert [each for each in shown if each.wanted != each.value] == []


def test_graphs_follow_their_examples() -> None:
    text = with_graphs(CHAIN_RULE.read_text(encoding="utf-8"))
    graphs = re.findall(r'<figure class="graph">(.*?)</figure>', text, re.DOTALL)
    assert len(graphs) > 6
    for graph in graphs:
        ElementTree.fromstring(graph)
    assert "TanhBackward0" in graphs[0]
    assert "<style>" not in text
    assert 'class="failed"' in graphs[-1]
    assert not is_drawn("```python\nprint(1)\n```\n")


def test_ratios_become_bars() -> None:
    table = "| work | here | there |\n|---|---|---|\n| `a`, `b` | 0.50, 3.00 (2) | 1.0 |\n| none | | |\n"
    page = f"# Speed\n\n{table}\nText.\n"
    chart = with_bars(page)
    assert re.findall(r"width: ([\d.]+)%", chart) == ["33.3", "100.0"]
    assert "<code>a</code>, <code>b</code>" in chart
    assert chart.endswith("```\n\nText.\n")
    assert with_bars("# Nothing\n") == "# Nothing\n"


def test_a_page_without_its_parts_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "speed.html").write_text("<h1>Time</h1><figure></figure>", encoding="utf-8")
    assert list(problems(tmp_path)) == [
        "speed.html: there is no heading 'Speed'",
        "speed.html: there are 0 of <table>, and should be 3 or more",
    ]


def test_the_parts_of_a_page_are_read() -> None:
    read = read_page('<h1>T<a href="#t">#</a></h1><figure class="plot"></figure><math></math>')
    assert (read.headings, read.plots, read.elements["math"]) == ([("h1", "T")], 1, 1)
