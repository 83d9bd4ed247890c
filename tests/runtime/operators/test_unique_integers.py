"""Distinct integers, which are counted where they lie close together and sorted where they do not."""

from __future__ import annotations

import numpy as np
import pytest

import gradwright

LISTS = {
    "int8": [-128, 127, 5, 127, -128, 0],
    "uint8": [255, 0, 255, 3],
    "int32": [7, 7, 7],
    "int64 close": [2**62, 2**62 + 3, 2**62, 2**62 + 1],
    "int64 far": [2**62, -(2**62), 0, 2**62],
    "int64 the whole range": [2**63 - 1, -(2**63), 2**63 - 1],
    "uint64": [2**64 - 1, 2**64 - 2, 2**64 - 1],
}


@pytest.mark.parametrize("name", LISTS)
def test_distinct_integers(name: str) -> None:
    kind = name.split()[0]
    array = np.array([LISTS[name]] * 2, kind)
    values, inverse, counts = gradwright.unique(gradwright.tensor(array), return_inverse=True, return_counts=True)
    expected, places, times = np.unique(array, return_inverse=True, return_counts=True)
    assert values.dtype is gradwright.tensor(array).dtype
    assert values.tolist() == expected.tolist()
    assert inverse.tolist() == places.reshape(array.shape).tolist()
    assert counts.tolist() == times.tolist()
    assert gradwright.unique(gradwright.tensor(array)).tolist() == expected.tolist()
