"""Every operator on the device against the CPU, on the stand-in for CuPy: values, gradients, and what is missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from gradwright_cupy import agreement
from gradwright_cupy.agreement import Outcome

# How many operators have values on the device, at least: a kernel that is lost is seen.
LEAST = {"float64": 830, "int64": 620, "bool": 490, "complex128": 530, "float32": 830}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in LEAST:
            order = 2 if dtype == "float64" else 1
            found[dtype] = [agreement.compare(info, dtype, order=order) for info in agreement.operators()]
    return found


def missing(outcomes: dict[str, list[Outcome]]) -> Iterator[str]:
    return (message for found in outcomes.values() for outcome in found for message in outcome.missing)


@pytest.mark.parametrize("dtype", LEAST)
def test_values_and_gradients_are_those_of_the_cpu(outcomes: dict[str, list[Outcome]], dtype: str) -> None:
    assert [f"{each.name}: {line}" for each in outcomes[dtype] for line in each.wrong] == []
    assert sum(each.values > 0 for each in outcomes[dtype]) >= LEAST[dtype]


def test_gradients_are_compared_up_to_the_second(outcomes: dict[str, list[Outcome]]) -> None:
    assert sum(each.gradients for each in outcomes["float64"]) > 2_200


def test_what_has_no_kernel_says_so_by_name(outcomes: dict[str, list[Outcome]]) -> None:
    words = ("has no kernel for CUDA", "the array API standard has no", "not implemented for", "is not implemented (")
    assert [message for message in missing(outcomes) if not any(each in message for each in words)] == []
