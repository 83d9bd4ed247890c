"""Pictures of profiles: what has a bar, what is inside of what, and how much is drawn of many events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree

import gradwright
from gradwright.autograd.profiler import EventList, FunctionEvent, profile, record_function
from gradwright.autograd.profiler.events import Scope
from gradwright.autograd.profiler.timeline import MOST_BARS, MOST_LANES, MOST_ROWS

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Drawn:
    """A bar: its kinds, what it says, its label, and its place."""

    kinds: frozenset[str]
    about: str
    label: str
    left: float
    top: float
    right: float

    def holds(self, other: Drawn) -> bool:
        """Whether another bar is within this one in time, but for a pixel, and lower."""
        return self.left - 1 < other.left and other.right < self.right + 1 and self.top < other.top


def bars_of(text: str | None) -> list[Drawn]:
    assert text is not None
    bars = []
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        rect, about, label = (group.find(f"{SVG}{name}") for name in ("rect", "title", "text"))
        if rect is None or about is None:
            continue
        left, top, width = (float(rect.get(name, "")) for name in ("x", "y", "width"))
        kinds = frozenset(group.get("class", "").split())
        shown = "" if label is None else label.text or ""
        bars.append(Drawn(kinds, about.text or "", shown, left, top, left + width))
    return bars


def texts_of(text: str | None) -> list[str]:
    assert text is not None
    return [each.text or "" for each in ElementTree.fromstring(text).iter(f"{SVG}text")]


def size_of(text: str | None) -> tuple[int, int]:
    assert text is not None
    root = ElementTree.fromstring(text)
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    return int(root.get("width", "")), int(root.get("height", ""))


def events_of(*spans: tuple[str, float, float], thread: int = 1, scope: int = Scope.FUNCTION) -> EventList:
    """Events from names, beginnings and ends in microseconds."""
    events = EventList(
        [
            FunctionEvent(number, name, thread, start, end, scope=scope)
            for number, (name, start, end) in enumerate(spans, 1)
        ]
    )
    events._build_tree()
    return events


def test_operators_nodes_and_blocks_have_bars_inside_of_each_other() -> None:
    x = gradwright.ones(20, 30, requires_grad=True)
    with profile(record_shapes=True) as prof:
        with record_function("a <block> & more"):
            loss = gradwright.matmul(x, x.t()).exp().sum()
        loss.backward()
    bars = bars_of(prof._repr_svg_())
    assert {kind for bar in bars for kind in bar.kinds} - {"merged"} == {"operator", "node", "block"}
    # Each event has a bar, or its part in one; those around Nodes have none.
    counts = [int(each[1]) if (each := re.match(r"(\d+) events, ", bar.about)) else 1 for bar in bars]
    around = [event for event in prof.function_events if "evaluate_function" in event.name]
    assert len(around) > 3
    assert sum(counts) == len(prof.function_events) - len(around)
    (block,) = [bar for bar in bars if "block" in bar.kinds]
    assert block.about.startswith("a <block> & more, total ")
    assert any(block.holds(bar) for bar in bars if "operator" in bar.kinds)
    assert min(bar.top for bar in bars if "node" in bar.kinds) == block.top
    assert not any(block.holds(bar) for bar in bars if "node" in bar.kinds)


def test_a_bar_says_what_is_known_of_its_event() -> None:
    events = events_of(("aten::add", 0, 100), ("aten::mul", 10, 30))
    events[1].input_shapes, events[1].sequence_nr, events[1].cpu_memory_usage = [[2, 3], []], 7, 2048
    add, mul = bars_of(events._repr_svg_())
    assert (add.label, add.about) == ("add", "aten::add, total 100.000us, self 80.000us")
    assert mul.about == (
        "aten::mul, total 20.000us, self 20.000us, memory 2.00 KB, shapes [[2, 3], []], sequence number 7"
    )
    assert add.holds(mul)
    width = size_of(events._repr_svg_())[0] - 24
    assert abs((mul.left - add.left) / width - 0.1) < 0.01
    assert abs((mul.right - mul.left) / width - 0.2) < 0.01


def test_names_are_cut_where_bars_are_narrow() -> None:
    events = events_of(("a_long_name", 0, 6), ("another", 6, 100), ("x", 100.5, 101))
    labels = [bar.label for bar in bars_of(events._repr_svg_())]
    assert labels == ["a_lon…", "another", ""]


def test_what_is_narrower_than_a_pixel_is_merged_and_counted() -> None:
    events = events_of(
        ("outer", 0, 1000), *(("aten::add", 10 + i / 10, 10.05 + i / 10) for i in range(20)), ("z", 500, 900)
    )
    text = events._repr_svg_()
    _, *merged, last = bars_of(text)
    assert [bar.kinds for bar in merged] == [{"operator", "merged"}]
    assert merged[0].about == "20 events, total 1.000us: aten::add x20"
    assert last.label == "z"
    assert "20 events narrower than a pixel are merged into 1 bar" in texts_of(text)
    assert not any("merged" in each for each in texts_of(events_of(("a", 0, 1), ("b", 1, 2))._repr_svg_()))


def test_many_events_make_a_picture_that_is_small() -> None:
    spans = []
    for i in range(10_000):
        spans.append(("aten::linear", 10.0 * i, 10.0 * i + 9))
        spans += [(f"aten::op{i % 7}", 10.0 * i + k, 10.0 * i + k + 0.5) for k in (1, 3, 5)]
    text = events_of(*spans)._repr_svg_()
    assert text is not None
    assert len(bars_of(text)) <= MOST_BARS
    assert len(text) < 250_000
    assert any(
        re.fullmatch(r"40,000 events narrower than .* are merged into \d+ bars", each) for each in texts_of(text)
    )
    assert sum(int(re.findall(r"^[\d,]+", bar.about)[0].replace(",", "")) for bar in bars_of(text)) == 40_000
    # Wide bars alone do not become too many, either.
    wide = [(f"aten::op{i}", i, i + 0.8) for i in range(900)] + [("x", i + 0.1, i + 0.7) for i in range(900)]
    assert len(bars_of(events_of(*wide)._repr_svg_())) <= MOST_BARS


def test_the_size_follows_from_the_nesting_alone() -> None:
    one = events_of(("a", 0, 10), ("b", 1, 5))
    other = events_of(("a", 0, 1e6), *((f"c{i}", 5.0 * i, 5.0 * i + 1) for i in range(500)))
    assert size_of(one._repr_svg_()) == size_of(other._repr_svg_())
    deep = events_of(*((f"d{i}", i, 1000 - i) for i in range(40)))
    deeper = events_of(*((f"d{i}", i, 1000 - i) for i in range(90)))
    assert size_of(deep._repr_svg_()) == size_of(deeper._repr_svg_())
    assert len(bars_of(deep._repr_svg_())) == MOST_ROWS
    assert f"{40 - MOST_ROWS} events are not shown" in texts_of(deep._repr_svg_())


def test_bars_lie_within_the_picture_and_rows_do_not_overlap() -> None:
    events = events_of(*((f"aten::op{i}", 3.0 * i, 3.0 * i + (i % 5) / 2) for i in range(400)))
    text = events._repr_svg_()
    width, height = size_of(text)
    bars = bars_of(text)
    assert all(0 < bar.left < bar.right < width and 0 < bar.top < height - 18 for bar in bars)
    for bar, following in pairwise(bars):
        assert bar.right <= following.left + 1  # what has no width is drawn a pixel wide


def test_memory_is_shown_where_it_was_followed() -> None:
    with profile(profile_memory=True) as prof:
        kept = gradwright.ones(64, 64)
        for _ in range(3):
            (kept * 2).exp()
    text = prof._repr_svg_()
    assert text is not None
    (group,) = [each for each in ElementTree.fromstring(text).iter(f"{SVG}g") if each.get("class") == "memory"]
    peak = re.findall(r"at most (\d+)\.00 KB allocated", text)
    assert peak == ["48"]  # what is kept, and two results
    assert "allocated, at most 48.00 KB" in [each.text for each in group]
    with profile() as prof:
        kept.exp()
    assert "allocated" not in (prof._repr_svg_() or "")


def test_threads_and_cycles_stand_below_each_other() -> None:
    with gradwright.profiler.profile(
        acc_events=True, schedule=gradwright.profiler.schedule(wait=0, warmup=1, active=1)
    ) as prof:
        for _ in range(6):
            gradwright.ones(2).exp()
            prof.step()
    text = prof._repr_svg_()
    assert [each for each in texts_of(text) if "recording" in each] == [
        f"recording {number}, thread {prof.events()[0].thread}" for number in (1, 2, 3)
    ]
    steps = [bar for bar in bars_of(text) if bar.about.startswith("ProfilerStep*, ")]
    assert len({bar.top for bar in steps}) == 3
    many = EventList([FunctionEvent(i, "a", i, 0, 10) for i in range(1, 21)])
    many._build_tree()
    assert len(bars_of(many._repr_svg_())) == MOST_LANES
    assert f"{20 - MOST_LANES} events are not shown" in texts_of(many._repr_svg_())


def test_what_has_no_picture() -> None:
    prof = profile()
    assert prof._repr_svg_() is None
    with prof:
        gradwright.ones(2).exp()
        assert prof._repr_svg_() is None
    assert prof.key_averages()._repr_svg_() is None  # sums have no place in time
    assert EventList([FunctionEvent(1, "a", 1, 0, 10)])._repr_svg_() is None  # it is not known how events nest
    assert gradwright.profiler.profile()._repr_svg_() is None
    with gradwright.profiler.profile() as running:
        assert running._repr_svg_() is None
    assert bars_of(running._repr_svg_()) == []
    assert "0 events in 0.000us" in texts_of(running._repr_svg_())


def test_the_picture_is_the_same_for_the_same_events_and_loads_nothing() -> None:
    events = events_of(("aten::add", 0, 100), ("aten::mul", 10, 30))
    text = events._repr_svg_()
    assert text == events._repr_svg_()
    assert text is not None
    assert text.count("http") == 1  # the name of SVG
    assert "prefers-color-scheme: dark" in text
    style = re.findall(r"<style>(.*?)</style>", text, re.S)[0]
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", style.replace("@media (prefers-color-scheme: dark) {", ""))
    assert all(".profile " in rule for rule in rules)  # a page around it keeps its own colours
