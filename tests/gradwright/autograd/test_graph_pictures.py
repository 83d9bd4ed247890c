"""Pictures of graphs as SVG and in DOT, and the page that explains graphs."""

from __future__ import annotations

import re
import shutil
from xml.etree import ElementTree

import pytest

import gradwright
from gradwright.autograd.drawing.layers import lay_out
from gradwright.autograd.graph import draw, to_dot
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
    assert "result = Float[2], 8 B" in to_dot(y, show_saved=True)
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


def test_a_deep_graph() -> None:
    x = gradwright.ones(1, requires_grad=True)
    for _ in range(5000):
        x = x + 1
    assert to_dot(x).count("AddBackward") == 5000


SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(text: str) -> dict[str, tuple[str, list[str], tuple[float, ...]]]:
    """Kind, lines and place (left, top, right, bottom) of each box, by its name."""
    boxes = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        left, top, width, height = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        lines = [each.text or "" for each in group.iter(f"{SVG}text")]
        boxes[group.get("id", "")] = (group.get("class", ""), lines, (left, top, left + width, top + height))
    return boxes


def program() -> tuple[gradwright.Tensor, dict[str, gradwright.Tensor]]:
    x, w = gradwright.ones(2, 3, requires_grad=True), gradwright.ones(3, 4, requires_grad=True)
    first, second = (x @ w).tanh().chunk(2, 1)
    loss = (first * second.sigmoid()).sum() + (w**2).sum()
    return loss, {"x": x, "w<1>": w, "loss": loss}


def test_a_drawing_shows_each_node_with_what_it_saves() -> None:
    boxes = boxes_of(draw(*program()))
    kinds = sorted(kind for kind, _, _ in boxes.values())
    assert kinds == ["leaf"] * 2 + ["node"] * 9 + ["result"]
    titles = [lines[0] for _, lines, _ in boxes.values()]
    assert {"MmBackward0", "SplitBackward0", "PowBackward0", "loss: Float[]"} <= set(titles)
    assert ["AccumulateGrad", "w<1>: Float[3, 4]"] in [lines for _, lines, _ in boxes.values()]
    assert ["TanhBackward0", "result = Float[2, 4], 32 B"] in [lines for _, lines, _ in boxes.values()]
    assert "output 1" in draw(*program())
    assert "32 B" not in draw(*program(), show_saved=False)


def test_boxes_of_a_drawing_do_not_overlap_and_fit_into_it() -> None:
    text = draw(*program())
    places = [place for _, _, place in boxes_of(text).values()]
    width, height = (float(value) for value in re.findall(r'viewBox="0 0 (\d+) (\d+)"', text)[0])
    for number, (left, top, right, bottom) in enumerate(places):
        assert 0 < left < right < width
        assert 0 < top < bottom < height
        for other in places[:number]:
            assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top


def test_arrows_go_up_from_each_box_to_those_that_gradients_reach() -> None:
    text = draw(*program())
    boxes = boxes_of(text)
    paths = re.findall(r'<path d="M(\S+) (\S+) .* (\S+) (\S+)" marker-end', text)
    assert len(paths) == 13
    for x, y, to_x, to_y in (map(float, path) for path in paths):
        starts = [n for n, (_, _, p) in boxes.items() if abs(x - (p[0] + p[2]) / 2) < 0.2 and abs(y - p[1]) < 0.2]
        ends = [n for n, (_, _, p) in boxes.items() if abs(to_x - (p[0] + p[2]) / 2) < 0.2 and abs(to_y - p[3]) < 0.2]
        assert (len(starts), len(ends)) == (1, 1)
        assert to_y < y


def test_a_drawing_is_the_same_in_each_run_and_shows_itself() -> None:
    drawing = draw(*program())
    assert drawing == draw(*program())
    assert drawing._repr_svg_() == drawing


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_the_node_that_failed_is_red() -> None:
    x = gradwright.zeros(2, requires_grad=True)
    with gradwright.autograd.detect_anomaly():
        y = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="nan"):
            y.backward()
    failed = [lines[0] for kind, lines, _ in boxes_of(draw(y)).values() if kind == "failed"]
    assert failed == ["SqrtBackward0"]
    assert to_dot(y).count("tomato") == 1


def test_a_drawing_of_a_deep_graph_and_of_none() -> None:
    x = gradwright.ones(1, requires_grad=True)
    for _ in range(2000):
        x = x + 1
    assert draw(x).count("AddBackward") == 2000
    assert len(boxes_of(draw(gradwright.ones(2)))) == 1
    assert boxes_of(draw([])) == {}


def test_what_is_joined_stands_near() -> None:
    """Two chains beside each other stay straight, and an arrow over layers passes between boxes."""
    widths = dict.fromkeys(["a2", "b2", "a1", "b1", "a0", "b0"], 50.0)
    layout = lay_out(widths, [("a2", "a1"), ("b2", "b1"), ("a1", "a0"), ("b1", "b0"), ("a2", "a0")])
    assert layout.layers == {"a2": 2, "b2": 2, "a1": 1, "b1": 1, "a0": 0, "b0": 0}
    assert len(layout.bends[4]) == 1
    assert [layout.bends[number] for number in range(4)] == [()] * 4
    assert abs(layout.centres["b2"] - layout.centres["b0"]) < 1
    assert layout.width < 200


def test_the_code_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "autograd.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, scope)
