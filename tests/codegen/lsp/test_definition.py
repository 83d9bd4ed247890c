"""Where an editor goes from what stands at a place, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from codegen.lsp.definition import Location, definition, implementation, references
from codegen.pipeline import emit
from support.editor import Opened

Find = Callable[..., list[Location]]


def lines(opened: Opened, found: Iterable[Location]) -> list[tuple[str, str]]:
    """The files by their short names, and what is marked with the rest of its line."""
    names = {path: name for name, path in opened.files.items()}
    return [
        (names.get(each.path, each.path.name), each.span.file.text[each.span.start :].partition("\n")[0])
        for each in found
    ]


@pytest.mark.parametrize(
    ("name", "marked", "places"),
    [
        ("formulas", "self: tw^ice(grad) * other", [("helpers", "twice(grad: Tensor) -> Tensor:")]),
        ("formulas", "self: twice(grad) ^* other", [("functions", "scale(Tensor self, Tensor other) -> Tensor")]),
        ("formulas", "self: twice(grad) * ot^her", [("formulas", "other) -> Tensor")]),
        ("formulas", "self: twice(gr^ad) * other", [("formulas", "Tensor")]),
        ("formulas", "result: self^_t * other_p + other_t", [("formulas", "self, Tensor other) -> Tensor")]),
        ("formulas", '"grad.ti^mes(factor)"', [("functions", "times(Tensor self, Scalar factor=2) -> Tensor")]),
        ("formulas", "  sel^f: twice(grad)", [("formulas", "self, Tensor other) -> Tensor")]),
        ("formulas", "- name: sc^ale(", [("functions", "scale(Tensor self, Tensor other) -> Tensor")]),
        ("formulas", "times(Tensor self, Scalar fac^tor=2)", [("functions", "factor=2) -> Tensor")]),
        ("functions", "times(Tensor self, Scalar fac^tor=2)", [("formulas", "factor=2) -> Tensor")]),
        ("functions", "- func: sc^ale(", [("kernels", "scale(self, other):")]),
        ("functions", "- func: dou^ble(", [("functions", "scale(self, self).times(2)")]),
        ("functions", "    CPU: times_nu^mber", [("kernels", "times_number(self, factor):")]),
        ("functions", "composite: sca^le(self, self)", [("functions", "scale(Tensor self, Tensor other) -> Tensor")]),
        ("samples", "- ti^mes:", [("functions", "times(Tensor self, Scalar factor=2) -> Tensor")]),
        ("kernels", "def times_n^umber", [("functions", "times_number")]),
        ("helpers", "def tw^ice", [("formulas", "twice(grad) * other")]),
    ],
)  # fmt: skip
def test_it_goes_to_the_definition(opened: Opened, name: str, marked: str, places: list[tuple[str, str]]) -> None:
    assert lines(opened, definition(opened.state, *opened.place(name, marked))) == places


def test_references_are_all_that_name_an_operator(opened: Opened) -> None:
    found = references(opened.state, *opened.place("functions", "- func: ti^mes("))
    assert lines(opened, found) == [
        ("functions", "times(Tensor self, Scalar factor=2) -> Tensor"),
        ("formulas", "times(Tensor self, Scalar factor=2) -> Tensor"),
        ("samples", "times:"),
        ("formulas", 'grad.times(factor)"'),
        ("functions", "scale(self, self).times(2)"),
    ]
    found = references(opened.state, *opened.place("formulas", "self: tw^ice(grad) * other"))
    assert lines(opened, found) == [("formulas", "twice(grad) * other")]


def test_places_are_those_of_the_text_by_now(opened: Opened) -> None:
    opened.edit("functions", "- func: scale(", "# a line above\n- func: scale(")
    (found,) = definition(opened.state, *opened.place("formulas", "- name: sc^ale("))
    assert opened.text("functions")[found.span.start :].startswith("scale(Tensor self")


def test_it_goes_to_generated_code_and_back(opened: Opened) -> None:
    plan = opened.state.analysis.result.plan
    assert plan is not None
    for name, text in emit(opened.paths, plan).items():
        file = opened.paths.output / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    found = implementation(opened.state, *opened.place("formulas", "- name: sc^ale("))
    kernel, operator, node = lines(opened, found)
    assert kernel == ("kernels", "scale(self, other):")
    assert operator[0] == "operators.py"
    assert operator[1].startswith("scale_default(self, other")
    assert node == ("nodes.py", "ScaleBackward0(RecordedNode):")
    back = lines(opened, definition(opened.state, found[2].path, found[2].span.start))
    assert back == [(name, "scale(Tensor self, Tensor other) -> Tensor") for name in ("functions", "formulas")]
    generated = found[2].span.file.text
    place = generated.index("twice(grad) * other")
    assert lines(opened, definition(opened.state, found[2].path, place)) == [
        ("formulas", "  self: twice(grad) * other")
    ]


def test_it_goes_to_kernels_in_cpp_and_back(opened: Opened) -> None:
    file = opened.paths.operators / "kernels" / "small.hpp"
    row = "GRADWRIGHT_KERNEL(times_number, 2, elements)"
    file.write_text(f"// A kernel.\n{row}\n", encoding="utf-8")
    python, cpp = implementation(opened.state, *opened.place("functions", "    CPU: times_nu^mber"))
    assert lines(opened, [python, cpp]) == [
        ("kernels", "times_number(self, factor):"),
        ("small.hpp", "times_number, 2, elements)"),
    ]
    assert lines(opened, definition(opened.state, cpp.path, cpp.span.start)) == [
        ("functions", "times(Tensor self, Scalar factor=2) -> Tensor")
    ]
