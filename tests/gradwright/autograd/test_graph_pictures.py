"""Pictures of graphs in DOT, and the page that explains graphs."""

from __future__ import annotations

import re
import shutil

import pytest

import gradwright
from gradwright.autograd.graph import to_dot
from support.documents import ROOT


def edges_by_name(text: str) -> set[tuple[str, str]]:
    """The arrows of a picture by the first lines of the labels of what they join."""
    labels = dict(re.findall(r'^  (\w+) \[label="([^"\\]*)', text, re.M))
    return {(labels[a], labels[b]) for a, b in re.findall(r"^  (\w+) -> (\w+)", text, re.M)}


def test_every_node_and_edge_is_there() -> None:
    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    w = gradwright.ones(2, requires_grad=True)
    loss = (x * w).tanh().sum()
    text = to_dot(loss, {"x": x, "loss": loss})
    assert edges_by_name(text) == {
        ("SumBackward0", "loss: Float[]"),
        ("TanhBackward0", "SumBackward0"),
        ("MulBackward0", "TanhBackward0"),
        ("AccumulateGrad", "MulBackward0"),
    }
    assert text.count("AccumulateGrad") == 2
    assert "x: Float[2]" in text
    assert text.startswith("digraph {")


def test_outputs_are_numbered_and_each_node_comes_once() -> None:
    x = gradwright.ones(2, 2, requires_grad=True)
    first, second = (x * 2).unbind()
    text = to_dot([first + second])
    assert 'label="output 1"' in text
    assert text.count('label="UnbindBackward0"') == 1


def test_saved_state_and_quotes() -> None:
    x = gradwright.ones(2, requires_grad=True)
    y = x.exp()
    assert "result = Float[2]" in to_dot(y, show_saved=True)
    y.sum().backward()
    assert "result = freed" in to_dot(y, show_saved=True)
    assert r"a \"name\"" in to_dot(y, {'a "name"': y})


def test_tensors_without_a_graph() -> None:
    assert edges_by_name(to_dot(gradwright.ones(2))) == set()
    assert "AccumulateGrad" in to_dot(gradwright.ones(2, requires_grad=True))


def test_drawing_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    dot = to_dot(gradwright.ones(2))
    with pytest.raises(RuntimeError, match="Graphviz"):
        dot.render()
    assert dot._repr_svg_() is None


def test_a_deep_graph() -> None:
    x = gradwright.ones(1, requires_grad=True)
    for _ in range(5000):
        x = x + 1
    assert to_dot(x).count("AddBackward") == 5000


def test_the_code_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "autograd.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, scope)
