"""What an editor can do about a mistake."""

from __future__ import annotations

from codegen.lsp.actions import actions, fix_all
from codegen.lsp.edits import Edit
from codegen.lsp.problems import problems
from support.editor import Opened


def offered(opened: Opened, name: str, place: int) -> dict[str, tuple[Edit, ...]]:
    return {each.title: each.edits for each in actions(opened.state, opened.files[name], place, place)}


def carry_out(opened: Opened, edits: tuple[Edit, ...]) -> None:
    for edit in sorted(edits, key=lambda edit: -edit.span.start):
        text = opened.state.file(edit.path).text
        opened.state = opened.state.with_text(edit.path, text[: edit.span.start] + edit.text + text[edit.span.end :])


def test_the_word_that_was_meant_is_written(opened: Opened) -> None:
    before = opened.text("formulas")
    place = opened.edit("formulas", "scale(grad, self)", "scale(grda, self)")
    found = offered(opened, "formulas", place + len("scale(g"))
    assert list(found) == ["Write 'grad' instead of 'grda'", "Write all words that were meant"]
    carry_out(opened, found["Write 'grad' instead of 'grda'"])
    assert opened.text("formulas") == before


def test_all_words_of_a_file_are_written(opened: Opened) -> None:
    before = opened.text("formulas")
    opened.edit("formulas", "scale(grad, self)", "scale(grda, self)")
    opened.edit("formulas", "grad.times", "grad.tims")
    everything = fix_all(opened.state, opened.files["formulas"])
    assert everything is not None
    carry_out(opened, everything.edits)
    assert opened.text("formulas") == before
    assert fix_all(opened.state, opened.files["formulas"]) is None


def test_the_signature_that_is_declared_is_written(opened: Opened) -> None:
    before = opened.text("formulas")
    place = opened.edit("formulas", "times(Tensor self, Scalar factor=2)", "times(Tensor self, Scalar factor=3)")
    (edits,) = offered(opened, "formulas", place).values()
    carry_out(opened, edits)
    assert opened.text("formulas") == before


def test_a_kernel_gets_the_parameters_of_its_operator(opened: Opened) -> None:
    place = opened.edit("kernels", "def times_number(self, factor)", "def times_number(self, by)")
    ((title, edits),) = offered(opened, "kernels", place + len("def ")).items()
    assert title == "Give 'times_number' the parameters (self, factor)"
    carry_out(opened, edits)
    assert problems(opened.state, opened.files["kernels"]) == []


def test_elsewhere_nothing_is_offered(opened: Opened) -> None:
    place = opened.edit("formulas", "times(Tensor self, Scalar factor=2)", "times(Tensor self, Scalar factor=3)")
    assert offered(opened, "formulas", 0) == {}
    assert offered(opened, "formulas", place) != {}
