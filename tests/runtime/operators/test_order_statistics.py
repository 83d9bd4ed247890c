"""Single elements of an order: their places are those that a stable sort gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradwright

NAN = float("nan")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_kthvalue_is_that_of_a_stable_sort(dtype: str) -> None:
    numbers = np.random.default_rng(0).integers(-3, 4, (5, 9)).astype(np.float64)
    if dtype != "int64":
        numbers[1, 2:5] = NAN
        numbers[2] = NAN
        numbers[3, 4] = -0.0
    x = gradwright.tensor(numbers.tolist(), dtype=getattr(gradwright, dtype))
    for dim, size in ((0, 5), (1, 9)):
        values, places = x.sort(stable=True, dim=dim)
        for k in range(1, size + 1):
            value, place = x.kthvalue(k, dim)
            assert place.tolist() == places.select(dim, k - 1).tolist()
            assert str(value.tolist()) == str(values.select(dim, k - 1).tolist())


def test_median_is_the_lower_of_the_middle_ones_and_the_first_nan() -> None:
    x = gradwright.tensor([[3.0, 1.0, 1.0, 2.0], [1.0, NAN, 0.0, NAN], [5.0, 5.0, 5.0, 5.0]])
    values, places = x.median(1)
    assert str(values.tolist()) == "[1.0, nan, 5.0]"
    assert places.tolist() == [2, 1, 1]


def test_multinomial_without_replacement_draws_each_place_once_and_no_zero() -> None:
    gradwright.manual_seed(0)
    weights = gradwright.tensor([[0.0, 1, 2, 3, 4, 5, 6, 7], [1.0] * 8])
    for count in (2, 7):
        for row, least in zip(weights.multinomial(count).tolist(), (1, 0), strict=True):
            assert len(set(row)) == count
            assert all(least <= place < 8 for place in row)


def test_the_first_of_a_draw_is_the_likeliest() -> None:
    gradwright.manual_seed(0)
    drawn = gradwright.tensor([1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).expand([2000, 8]).multinomial(3)
    first, last = ((drawn[:, at] == 1).sum().item() for at in (0, 2))
    assert first > 2 * last


def test_pairs_of_equal_elements_are_told_apart() -> None:
    for row in itertools.product([0.0, 1.0], repeat=4):
        x = gradwright.tensor(row)
        order = sorted(range(4), key=lambda place: row[place])  # Python's sort is stable
        assert [x.kthvalue(k)[1].item() for k in range(1, 5)] == order
