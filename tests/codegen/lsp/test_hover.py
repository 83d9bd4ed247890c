"""What an editor shows of what the pointer is over."""

from __future__ import annotations

import pytest

from codegen.lsp.hover import hover
from support.editor import Opened


def shown(opened: Opened, name: str, marked: str) -> str:
    found = hover(opened.state, *opened.place(name, marked))
    return "" if found is None else found.text


@pytest.mark.parametrize(
    ("name", "marked", "words"),
    [
        ("formulas", "self: tw^ice(grad) * other", ("twice(Tensor grad) -> Tensor", "A gradient, as it is.")),
        ("formulas", "self: twice(gr^ad) * other", ("grad: Tensor", "a gradient", "Nothing is saved because of this.")),
        ("formulas", "self: twice(grad) * ot^her", ("other: Tensor", "an argument", "Saved because of this: `other`.")),
        ("formulas", "self: twice(grad) ^* other", ("scale(Tensor self, Tensor", "Multiply two arrays.", "`other`")),
        ("formulas", '"grad.ti^mes(factor)"', ("times(Tensor self, Scalar factor=2) -> Tensor", "`factor`")),
        ("formulas", "result: self_^t * other_p", ("self: Tensor", "the tangent of an argument")),
        ("formulas", "  sel^f: twice(grad)", ("Tensor self", "an argument of `scale`")),
        ("formulas", "  res^ult: self_t *", ("Tensor", "a result of `scale`")),
        ("formulas", "- name: sc^ale(", ("self: twice(grad) * other", "Saved by `ScaleBackward0`: other: an input")),
        ("formulas", "- na^me: scale(", ("`name`: The signature",)),
        ("functions", "composite: scale(self, self).ti^mes(2)", ("times(Tensor self",)),
        ("functions", "promo^tion: default(self, other)", ("how dtypes are brought together",)),
        ("functions", "    CPU: sca^le\n", ("def scale(self, other)", "Multiply two arrays.")),
        ("functions", "times(Tensor self, Scalar fac^tor=2)", ("Scalar factor=2", "an argument of `times`")),
        ("samples", "- ti^mes:", ("times(Tensor self, Scalar factor=2) -> Tensor",)),
        ("kernels", "def times_n^umber", ("def times_number(self, factor)", "- func: times(Tensor self")),
    ],
)  # fmt: skip
def test_it_says_what_stands_there(opened: Opened, name: str, marked: str, words: tuple[str, ...]) -> None:
    text = shown(opened, name, marked)
    assert [word for word in words if word not in text] == [], text


def test_what_was_typed_since_the_analysis_is_known(opened: Opened) -> None:
    place = opened.typed("formulas", "self: twice(grad) * other", "self: grad.times(2) + gr^ad")
    found = hover(opened.state, *place)
    assert found is not None
    assert "grad: Tensor" in found.text


def test_parts_of_a_formula_that_does_not_fit_are_known(opened: Opened) -> None:
    place = opened.typed("formulas", "self: twice(grad) * other", "self: twice(unknown) * ot^her")
    found = hover(opened.state, *place)
    assert found is not None
    assert "other: Tensor" in found.text


def test_nothing_is_known_of_blanks(opened: Opened) -> None:
    assert shown(opened, "functions", "  tags: pointwise\n  python_operator: self * other\n^") == ""


def test_of_a_list_of_signatures_it_is_the_one_that_the_pointer_is_over(opened: Opened) -> None:
    several = "- func:\n  - one(Tensor self, Tensor first) -> Tensor\n  - two(Tensor self, Tensor second) -> Tensor\n"
    path = opened.files["functions"]
    opened.state = opened.state.with_text(path, f"{opened.text('functions')}{several}  composite: self * 2\n")
    assert "an argument of `one`" in shown(opened, "functions", "Tensor fi^rst")
    assert "an argument of `two`" in shown(opened, "functions", "Tensor sec^ond")
