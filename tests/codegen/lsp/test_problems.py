"""What is wrong is shown as one types, before the whole project has been analyzed again."""

from __future__ import annotations

import pytest

from codegen.lsp.problems import problems
from support.editor import Opened


def messages(opened: Opened, name: str) -> list[str]:
    return [each.diagnostic.message for each in problems(opened.state, opened.files[name])]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("formulas", "scale(grad, self)", "scale(grda, self)", "unknown name 'grda'"),
        ("formulas", "scale(grad, self)", "scale(grad, self", "unbalanced parenthesis: '(' is never closed"),
        ("formulas", 'factor)"', "factor)", "invalid YAML: the quoted text is never closed"),
        ("formulas", "twice(grad)", "thrice(grad)", "unknown function 'thrice'"),
        ("functions", "tags: core", "tags: cored", "unknown tag 'cored'"),
        ("functions", "scale(self, self)", "scale(self, other)", "unknown name 'other'"),
        ("functions", "  promotion: default\n", "  promotes: default\n", "unknown key 'promotes'"),
        ("samples", "- times:", "- tmes:", "no operator 'tmes' in native_functions.yaml"),
        ("samples", "factor=3", "factor=", "the sample is not the inside of a Python call: invalid syntax"),
        (
            "kernels",
            "def times_number(self, factor)",
            "def times_number(self, factro)",
            "'times_number(self, factro)' does not fit 'times(Tensor self, Scalar factor=2) -> Tensor'",
        ),
        ("kernels", "return self + other", "return self  +", "this Python file does not parse: invalid syntax"),
        (
            "helpers",
            "grad: Tensor",
            "grad: Tenser",
            "parameter 'grad' of helper 'twice' has no type that formulas know: 'Tenser'",
        ),
    ],
)
def test_a_mistake_is_shown_with_the_key_that_makes_it(
    opened: Opened, name: str, old: str, new: str, message: str
) -> None:
    opened.edit(name, old, new)
    assert messages(opened, name) == [message]
    opened.edit(name, new, old)
    assert messages(opened, name) == []


def test_a_whole_analysis_says_the_same_of_open_files(opened: Opened) -> None:
    opened.edit("formulas", "scale(grad, self)", "scale(grda, self)")
    opened.edit("kernels", "def times_number(self, factor)", "def times_number(self, factro)")
    shown = {name: messages(opened, name) for name in ("formulas", "kernels")}
    opened.analyze()
    assert {name: messages(opened, name) for name in shown} == shown
    assert messages(opened, "functions") == shown["kernels"]  # where the operator names it


def test_what_an_analysis_found_moves_with_its_line_and_goes_with_its_mistake(opened: Opened) -> None:
    opened.edit("formulas", "scale(grad, self)", "scale(grda, self)")
    opened.analyze()
    opened.edit("formulas", "- name: scale", "# a line above\n\n- name: scale")
    (problem,) = problems(opened.state, opened.files["formulas"])
    span = problem.diagnostic.span
    assert span.file.text[span.start : span.end] == "grda"
    assert opened.text("formulas")[span.start : span.end] == "grda"
    opened.edit("formulas", "grda", "grad")
    assert messages(opened, "formulas") == []


def test_a_hint_that_can_be_followed_moves_along(opened: Opened) -> None:
    opened.edit("formulas", "scale(grad, self)", "scale(grda, self)")
    opened.analyze()
    opened.edit("formulas", '"grad.times(factor)"', '"grad.times(factor).times(2)"')
    opened.edit("formulas", "- name: scale", "# a line above\n- name: scale")
    (problem,) = problems(opened.state, opened.files["formulas"])
    replacement = problem.diagnostic.replacement
    assert replacement is not None
    assert opened.text("formulas")[replacement.span.start : replacement.span.end] == "grda"
