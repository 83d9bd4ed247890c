"""Finite differences at numbers of any size: right within their bound, or not settled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradwright.verify import numerical

FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "sin": (np.sin, np.cos),
    "square": (lambda x: x * x, lambda x: 2 * x),
    "log": (lambda x: np.log(abs(x)), lambda x: 1 / x),
    "trunc": (np.trunc, lambda x: 0.0),
    "arctan": (np.arctan, lambda x: 1 / (1 + x * x)),
    "exp": (np.exp, np.exp),
}


# Steps beyond that are as long as the stairs of a function.
PLACES = [
    (name, x)
    for name in FUNCTIONS
    for x in (1e-30, 3e-12, 2.5e-4, 0.31, 1.7, 9.3, 311.7, 54321.3, 7.7e8 + 0.3, 4.4e13, 2.2e30)
    if name != "trunc" or x <= numerical.LARGE
]


@pytest.mark.parametrize(("name", "x"), PLACES)
def test_an_estimate_is_right_or_has_not_settled(name: str, x: float) -> None:
    function, slope = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        found = numerical.derivative(lambda step: np.asarray(function(x + step)), x)
    if found.settled:
        assert abs(found.value - slope(x)) <= 20 * found.error + 1e-9 * abs(slope(x))


@pytest.mark.parametrize(
    ("name", "x"), [("sin", 0.31), ("sin", 311.7), ("log", 3e-12), ("square", 7.7e8), ("log", 4.4e13), ("exp", 9.3)]
)
def test_most_settle(name: str, x: float) -> None:
    function, slope = FUNCTIONS[name]
    found = numerical.derivative(lambda step: np.asarray(function(x + step)), x)
    assert found.error <= 1e-6 * (abs(slope(x)) + 1)
    assert abs(found.value - slope(x)) <= 1e-7 * abs(slope(x))


def test_numbers_of_the_usual_size_are_known_to_the_last_digits() -> None:
    found = numerical.derivative(lambda step: np.asarray([np.sin(0.31 + step), 2.0]))
    assert abs(found.value[0] - np.cos(0.31)) <= 20 * found.error[0] <= 4e-10
    assert found.error[1] < 1e-12  # what does not change has no rounding


@pytest.mark.parametrize("x", [0.02, 0.31, 1.7, 9.3])
@pytest.mark.parametrize("name", ["sin", "square", "log", "arctan", "exp"])
def test_along_a_gradient_the_last_digits_are_known(name: str, x: float) -> None:
    function, slope = FUNCTIONS[name]

    def with_size(step: float) -> tuple[float, float]:
        value = float(function(x + step))
        return value, abs(value)

    found = numerical.to_the_last_digits(with_size, 1e-9)
    if name != "log" or x > 0.1:  # near a pole nothing is said
        assert found is not None
    if found is not None:
        assert abs(found[0] - slope(x)) <= 20 * found[1] <= 2e-8 * abs(slope(x))
        assert abs(found[0] - slope(x)) <= 3e-10 * abs(slope(x))


@pytest.mark.parametrize("near", [1e-9, 1e-4, 1e-3, 0.01, 0.2, 0.9])
def test_beside_a_kink_digits_are_right_or_unknown(near: float) -> None:
    found = numerical.to_the_last_digits(lambda step: (max(step, -near) + 1, 1.0), 1e-9)
    assert found is None or abs(found[0] - 1) < 1e-9


def test_digits_of_what_is_refused_are_unknown() -> None:
    def refusing(step: float) -> tuple[float, float]:
        raise ValueError("not defined")

    assert numerical.to_the_last_digits(refusing, 1e-9) is None


def test_to_one_side() -> None:
    for side in (1, -1):
        found = numerical.one_sided(lambda step: np.asarray(abs(step)), side)
        assert found.settled
        assert found.value == side
