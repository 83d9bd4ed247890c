"""Examples of pages that are run: blocks of Python that begin with `draw=NAME` are followed by the graph of what has
that name.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradwright

_BLOCK = re.compile(r"^```python(?: draw=(?P<drawn>\w+))?\n(?P<code>.*?)^```\n", re.MULTILINE | re.DOTALL)
_STYLE = re.compile(r"<style>.*?</style>\n?", re.DOTALL)  # of a drawing that stands alone; the page has its own


@dataclass(frozen=True)
class Shown:
    """An expression whose value a page shows in a comment behind it, and the value."""

    code: str
    wanted: str
    value: str


def is_drawn(text: str) -> bool:
    """Whether a page has examples with graphs."""
    return any(match["drawn"] for match in _BLOCK.finditer(text))


def with_graphs(text: str) -> str:
    """A page in Markdown, with the graphs of its examples, which are run in their order."""
    names: dict[str, Any] = {}

    def shown(match: re.Match[str]) -> str:
        _run(match["code"], names)
        block = f"```python\n{match['code']}```\n"
        if match["drawn"] is None:
            return block
        return f"{block}\n```{{raw}} html\n{graph(names[match['drawn']])}\n```\n"

    return _BLOCK.sub(shown, text)


def graph(tensor: Any) -> str:
    """The graph behind a Tensor, as HTML."""
    picture = _STYLE.sub("", str(gradwright.autograd.graph.draw(tensor)))
    return f'<figure class="graph">{picture.strip()}</figure>'


def values(text: str) -> Iterator[Shown]:
    """Run the examples of a page; the values that it shows in comments."""
    names: dict[str, Any] = {}
    for match in _BLOCK.finditer(text):
        yield from _run(match["code"], names)


def _run(code: str, names: dict[str, Any]) -> list[Shown]:
    found = []
    lines = code.splitlines()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of anomaly mode, that it is slow
        for statement in ast.parse(code).body:
            comment = lines[statement.end_lineno - 1].partition("  # ")[2] if statement.end_lineno else ""
            if isinstance(statement, ast.Expr) and comment:
                value = eval(compile(ast.Expression(statement.value), "<example>", "eval"), names)
                found.append(Shown(ast.unparse(statement), comment, str(value)))
            else:
                exec(compile(ast.Module([statement], []), "<example>", "exec"), names)
    return found
