"""What an editor offers at a place where somebody types."""

from __future__ import annotations

import pytest

from codegen.lsp.completion import Kind, complete
from support.editor import Opened

SELF = "self: twice(grad) * other"
PLUS = "plus(Tensor self, Tensor other) -> Tensor"
TAGS = "  tags: core\n"


@pytest.mark.parametrize(
    ("name", "old", "marked", "offered", "missing"),
    [
        ("formulas", SELF, "self: twice(grad) * ^", ("grad", "self", "other", "result", "twice", "scale"), ("self_t",)),
        ("formulas", SELF, "self: twice(grad) * ot^", ("other",), ("self", "scale")),
        ("formulas", SELF, "self: twice(^", ("grad", "self"), ()),
        ("formulas", SELF, "self: twice(grad).^", ("times", "scale", "sizes"), ("double", "twice", "grad")),
        ("formulas", SELF, "self: (grad * (other)).tim^", ("times",), ("sizes",)),
        ("formulas", SELF, "self: grad * other.sizes().^", ("size", "empty"), ("times",)),
        ("formulas", SELF, "self: ^", ("non_differentiable", "not_implemented", "grad"), ()),
        ("formulas", SELF, "self: grad +\n    oth^", ("other",), ()),
        ("formulas", '"grad.times(factor)"', '"grad.times(fac^', ("factor",), ("grad",)),
        ("formulas", '"grad.times(factor)"', "'grad.times(factor.^", ("toDouble",), ("times",)),
        ("formulas", "result: self_t * other_p + other_t * self_p", "result: sel^", ("self_t", "self_p"), ("grad",)),
        ("formulas", "  result: auto_linear\n", "  res^\n", ("result",), ("self",)),
        ("formulas", "  result: auto_linear\n", "  ^\n", ("result", "dispatch"), ("self", "name")),
        ("formulas", f"- name: {PLUS}\n", "- name: pl^\n", (PLUS,), ()),
        ("functions", TAGS, "  ta^\n", ("tags",), ("dispatch",)),
        ("functions", TAGS, "  ^\n", ("tags", "promotion", "batching"), ("dispatch", "func")),
        ("functions", TAGS, "  tags: po^\n", ("pointwise",), ("core",)),
        ("functions", TAGS, "  promotion: default(fac^\n", ("factor",), ()),
        ("functions", TAGS, "  promotion: int^\n", ("int_to_float",), ("default",)),
        ("functions", TAGS, "  autogen: ti^\n", ("times",), ("scale",)),
        ("functions", "    CPU: times_number", "    CPU: ti^", ("times_number",), ("scale",)),
        ("functions", "    CPU: times_number", "    C^", ("CPU", "CUDA"), ("times_number",)),
        ("functions", "scale(self, self).times(2)", "scale(self, self).ti^", ("times",), ("scale",)),
        ("samples", "- times:", "- ti^", ("times",), ("scale",)),
        ("samples", "  - T(2, 3), factor=3", "  - T(2, 3), fa^", ("factor=",), ()),
    ],
)  # fmt: skip
def test_what_fits_is_offered(
    opened: Opened, name: str, old: str, marked: str, offered: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    path, offset = opened.typed(name, old, marked)
    found = complete(opened.state, path, offset)
    labels = {item.label for item in found.items}
    assert set(offered) <= labels, labels
    assert not labels & set(missing)
    typed = opened.text(name)[found.start : offset]
    assert all(typed.lower() in label.lower() for label in labels)


def test_an_offer_says_what_it_is(opened: Opened) -> None:
    path, offset = opened.typed("formulas", SELF, "self: tw^")
    (item,) = complete(opened.state, path, offset).items
    assert (item.kind, item.detail) == (Kind.HELPER, "twice(Tensor grad) -> Tensor")
    assert item.documentation == "A gradient, as it is."
    path, offset = opened.typed("functions", TAGS, "  promo^\n")
    (item,) = complete(opened.state, path, offset).items
    assert (item.kind, item.detail) == (Kind.KEY, "Gradwright")
    assert item.documentation.startswith("how dtypes are brought together")


def test_nothing_is_offered_in_strings_and_in_python(opened: Opened) -> None:
    path, offset = opened.typed("formulas", SELF, 'self: not_implemented("th^')
    assert complete(opened.state, path, offset).items == ()
    path, offset = opened.place("kernels", "return self ^* other")
    assert complete(opened.state, path, offset).items == ()
