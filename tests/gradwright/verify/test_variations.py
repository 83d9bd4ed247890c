"""What is made of a sample: one thing is another one in each, and all are samples."""

from __future__ import annotations

import pytest

from generated.registry import OPERATORS
from gradwright.testing import make_sample, operator_of
from gradwright.verify.variations import ALL_RANGES, variations
from runtime.base import dtypes


def made_of(name: str, text: str, kind: str | None = None) -> list[str]:
    info = OPERATORS[name]
    every = variations(text, operator_of(info).signature.parameters, info.samples, pointwise=info.pointwise)
    return [each.text for each in every if kind in (None, each.kind)]


@pytest.mark.parametrize(
    ("name", "text", "kind", "expected"),
    [
        ("sum.dim_IntList", "T(2, 3, 4), [0, 2]", "list", {"T(2, 3, 4), [2, 0]", "T(2, 3, 4), [-3, -1]"}),
        ("sum.dim_IntList", "T(2, 3, 4), [0]", "choice", {"T(2, 3, 4), [0], keepdim=True"}),
        ("cumsum", "T(3, 4), 1", "dim", {"T(3, 4), -1", "T(3, 4), 0", "T(3, 4), -2"}),
        ("add.Tensor", "T(3, 4), T(3, 4)", "number", {"T(3, 4), T(3, 4), alpha=1.9", "T(3, 4), T(3, 4), alpha=0"}),
        (
            "add.Tensor", "T(3, 4), T(3, 4)", "broadcast",
            {"T(3, 4), T(4)", "T(3, 4), T(3, 1)", "T(1, 4), T(3, 4)", "T(), T(3, 4)", "T(4), T(1, 3, 4)"},
        ),
        ("addmv", "T(3), T(3, 4), T(4)", "broadcast", set()),
        ("addmm", "T(3, 1), T(3, 4), T(4, 5)", "size", {"T(1, 1), T(1, 4), T(4, 5)", "T(3, 1), T(3, 0), T(0, 5)"}),
        ("sin", "T(3)", "values", {"T(3, low=-1600.0, high=1600.0)", "T(3, low=-9.0, high=9.0)"}),
        ("log", "T(3, low=0.5, high=2)", "values", set()),
        ("sin", "T(3, low=-2.0, high=2.0)", "values", {"T(3, low=-9.0, high=9.0)"}),
        ("celu", "T(3), 0.5", "number", {"T(3), 1.1", "T(3), -0.5"}),
        ("lerp.Tensor", "T(3), T(3), C([0.5, 1.0])", "elements", {"T(3), T(3), C([0.85, 1.7])"}),
    ],
)  # fmt: skip
def test_other_calls(name: str, text: str, kind: str, expected: set[str]) -> None:
    assert expected <= set(made_of(name, text, kind))


def test_words_are_those_of_other_samples() -> None:
    made = made_of("div.Tensor_mode", "T(3), T(3), rounding_mode='floor'", "choice")
    assert made == ["T(3), T(3), rounding_mode='trunc'", "T(3), T(3), rounding_mode=None"]


def test_numbers_that_may_be_tolerances_keep_their_sign() -> None:
    assert not any("-" in each for each in made_of("native_layer_norm", "T(3, 4), [4], None, None, 0.1", "number"))


def test_a_range_that_is_named_is_kept() -> None:
    assert not made_of("log", "T(3, low=0.5, high=2)", "values")


def test_each_is_another_call_and_comes_once() -> None:
    for name in ("add.Tensor", "sum.dim_IntList", "conv2d"):
        for text in OPERATORS[name].samples:
            made = made_of(name, text)
            assert text not in made
            assert len(set(made)) == len(made) > 3


def test_each_is_a_sample() -> None:
    info = OPERATORS["add.Tensor"]
    parameters = operator_of(info).signature.parameters
    for each in variations("T(2, 1, 3), T(4, 1), alpha=2.5", parameters, info.samples, ALL_RANGES, True):
        assert len(make_sample(info, each.text, dtypes.float64).args) == 2
