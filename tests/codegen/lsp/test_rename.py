"""Another name for an argument, in all files that have it."""

from __future__ import annotations

import pytest

from codegen.lsp.edits import Edit
from codegen.lsp.problems import problems
from codegen.lsp.rename import RenameError, occurrences_of, renamable, rename
from support.editor import Opened


def carry_out(opened: Opened, edits: list[Edit]) -> None:
    for edit in sorted(edits, key=lambda edit: -edit.span.start):
        text = opened.state.file(edit.path).text
        opened.state = opened.state.with_text(edit.path, text[: edit.span.start] + edit.text + text[edit.span.end :])


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("functions", "- func: scale(Tensor self, Tensor ot^her)"),
        ("formulas", "- name: scale(Tensor self, Tensor oth^er)"),
        ("formulas", "  oth^er: scale(grad, self)"),
        ("formulas", "self: twice(grad) * oth^er"),
        ("formulas", "result: self_t * other^_p + other_t * self_p"),
    ],
)
def test_it_is_renamed_in_both_files_and_in_its_kernel(opened: Opened, name: str, marked: str) -> None:
    carry_out(opened, rename(opened.state, *opened.place(name, marked), "by"))
    assert "- func: scale(Tensor self, Tensor by) -> Tensor" in opened.text("functions")
    assert "promotion: default(self, by)" in opened.text("functions")
    assert "python_operator: self * by" in opened.text("functions")
    assert "- func: plus(Tensor self, Tensor other)" in opened.text("functions")
    formulas = opened.text("formulas")
    assert formulas.startswith(
        "- name: scale(Tensor self, Tensor by) -> Tensor\n"
        "  self: twice(grad) * by\n"
        "  by: scale(grad, self)\n"
        "  result: self_t * by_p + by_t * self_p\n"
    )
    assert "def scale(self, by):" in opened.text("kernels")
    assert "return self * by\n" in opened.text("kernels")
    opened.analyze()
    assert [problems(opened.state, path) for path in opened.files.values()] == [[]] * len(opened.files)


def test_keywords_of_samples_are_renamed(opened: Opened) -> None:
    carry_out(opened, rename(opened.state, *opened.place("formulas", '"grad.times(fac^tor)"'), "by"))
    assert "  - T(2, 3), by=3\n" in opened.text("samples")
    assert '"grad.times(by)"' in opened.text("formulas")
    assert "times(Tensor self, Scalar by=2)" in opened.text("functions")
    opened.analyze()
    assert [problems(opened.state, path) for path in opened.files.values()] == [[]] * len(opened.files)


def test_operators_that_share_a_kernel_are_renamed_together(opened: Opened) -> None:
    more = (
        "- func: times_too(Tensor self, Scalar factor) -> Tensor\n  dispatch:\n    CPU: times_number\n\n- func: double("
    )
    opened.edit("functions", "- func: double(", more)
    opened.analyze()
    place = opened.place("functions", "- func: times(Tensor self, Scalar fac^tor=2)")
    carry_out(opened, rename(opened.state, *place, "by"))
    assert "- func: times_too(Tensor self, Scalar by)" in opened.text("functions")


def test_operators_that_share_an_entry_are_renamed_together(opened: Opened) -> None:
    entry = (
        "- func:\n  - one(Tensor self, Tensor factor) -> Tensor\n  - two(Tensor self, Tensor factor) -> Tensor\n"
        "  composite: scale(self, factor)\n\n- func: double("
    )
    opened.edit("functions", "- func: double(", entry)
    opened.analyze()
    carry_out(opened, rename(opened.state, *opened.place("functions", "- two(Tensor self, Tensor fac^tor)"), "by"))
    renamed = entry.replace("factor", "by")
    assert renamed in opened.text("functions")
    assert "Scalar factor=2" in opened.text("functions")


def test_references_beside_samples_are_renamed(opened: Opened) -> None:
    opened.edit(
        "samples", "- times:\n  - T(2, 3), factor=3\n",
        "- times:\n    samples:\n    - T(2, 3), factor=3\n    reference: numpy.multiply(self, factor)\n",
    )  # fmt: skip
    opened.analyze()
    carry_out(
        opened, rename(opened.state, *opened.place("functions", "- func: times(Tensor self, Scalar fac^tor=2)"), "by")
    )
    assert "    - T(2, 3), by=3\n    reference: numpy.multiply(self, by)\n" in opened.text("samples")


@pytest.mark.parametrize(
    ("name", "marked", "new", "message"),
    [
        ("functions", "- func: scale(Tensor self, Tensor ot^her)", "2by", "'2by' is no name"),
        ("functions", "- func: scale(Tensor self, Tensor ot^her)", "self", "'scale' has an argument 'self' already"),
        ("functions", "- func: scale(Tensor se^lf, Te", "by", "'self' is what methods are called on, and stays"),
        ("functions", "- func: sc^ale(", "by", "only arguments of operators have their names changed here"),
        ("formulas", "  other: scale(gr^ad, self)", "by", "only arguments of operators have their names changed here"),
        ("formulas", "self: twice(grad) * oth^er", "grad", "'grad' is an argument and a gradient that comes in"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused(opened: Opened, name: str, marked: str, new: str, message: str) -> None:
    with pytest.raises(RenameError) as error:
        rename(opened.state, *opened.place(name, marked), new)
    assert str(error.value) == message


def test_a_parameter_that_is_hidden_inside_a_kernel_is_refused(opened: Opened) -> None:
    opened.edit("kernels", "    return self * factor\n", "    return (lambda factor: factor)(self * factor)\n")
    with pytest.raises(RenameError, match="a function inside of 'times_number' has a parameter 'factor', too"):
        rename(opened.state, *opened.place("formulas", '"grad.times(fac^tor)"'), "by")


def test_the_name_and_its_places_are_known_before(opened: Opened) -> None:
    path, offset = opened.place("formulas", "result: self_t * other^_p + other_t * self_p")
    span = renamable(opened.state, path, offset)
    assert span is not None
    assert span.file.text[span.start : span.end] == "other_p"
    names = [
        each.span.file.text[each.span.start : each.span.end] for each in occurrences_of(opened.state, path, offset)
    ]
    assert (len(names), set(names)) == (10, {"other", "other_p", "other_t"})
