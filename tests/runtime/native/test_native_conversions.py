"""Elements in another type: loops of the core, against NumPy's conversions and those of ml_dtypes."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import native
from support.native_core import needs_core

pytestmark = needs_core

USUAL = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")
PAIRS = [
    *itertools.permutations(USUAL, 2),
    *((half, "float32") for half in ("float16", "bfloat16")),
    *(("float32", half) for half in ("float16", "bfloat16")),
]
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.t(),
    "stepped": lambda x: x[:, ::2],
    "reversed": lambda x: x.flip(0)[1:],
    "expanded": lambda x: x[:1].expand(3, 8),
    "zero-dim": lambda x: x[0, 0],
    "empty": lambda x: x[:0],
}


def values(name: str) -> np.ndarray:
    generator = np.random.default_rng(0)
    dtype = getattr(gradwright, name).numpy
    if dtype.kind in "iu":
        return generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (6, 8), dtype, endpoint=True)
    if name == "bool":
        return generator.integers(0, 2, (6, 8)).astype(bool)
    return generator.uniform(-100, 100, (6, 8)).astype(dtype)


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_elements_are_converted(before: str, after: str) -> None:
    array, wanted = values(before), getattr(gradwright, after)
    if after == "uint8":
        array = abs(array) if before != "int64" else array  # negative numbers with a fraction are undefined there
    x = gradwright.tensor(array)
    for layout in LAYOUTS.values():
        part = layout(x)
        explained = native.explain(lambda part=part: part.to(wanted))
        assert [(call.name, call.kernel) for call in explained.records] == [("_to_copy", "native loop")]
        made = explained.result
        assert made.dtype is wanted
        assert made.stride() == part.clone().stride()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(made._array, part._array.astype(wanted.numpy), strict=True)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_copies_in_the_same_type(layout: Callable[[Any], Any]) -> None:
    part = layout(gradwright.tensor(values("float32")))
    copy = part.to(gradwright.float32, copy=True)
    assert copy is not part
    assert copy.stride() == part.clone().stride()
    np.testing.assert_array_equal(copy._array, part._array)


@pytest.mark.parametrize("layout", [LAYOUTS["dense"], LAYOUTS["stepped"]])
def test_numbers_that_are_too_large_become_infinite_without_a_warning(layout: Callable[[Any], Any]) -> None:
    x = layout(gradwright.tensor([[1e300, -1e300, float("nan"), 1.0]], dtype=gradwright.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = x.float()
        half = (single * 1e6).half()
        bool(x.bool().all())
    assert single.isinf().sum() == (x.abs() > 1e200).sum()
    assert half.isnan().sum() == x.isnan().sum()


def test_gradients_go_back_through_conversions() -> None:
    x = gradwright.ones(3, dtype=gradwright.float64, requires_grad=True)
    y = x.to(gradwright.bfloat16)
    assert y.grad_fn.name() == "ToCopyBackward0"
    y.sum().backward()
    assert x.grad.dtype is gradwright.float64
