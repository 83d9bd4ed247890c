"""`testing.assert_close` and `make_tensor`: the same pairs pass and fail, with the same errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

pytestmark = pytest.mark.filterwarnings("ignore:.*assert_allclose:FutureWarning")

INFINITY, NAN = float("inf"), float("nan")

PAIRS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "equal": lambda m: (m.ones(3), m.ones(3)),
    "near": lambda m: (m.ones(3), m.ones(3) + 1e-6),
    "far": lambda m: (m.tensor([1.0, 2.0, 3.0]), m.tensor([1.0, 2.5, 3.25])),
    "matrix": lambda m: (m.zeros(2, 2), m.tensor([[0.0, 0.0], [0.0, 1.0]])),
    "scalar tensors": lambda m: (m.tensor(1.0), m.tensor(2.0)),
    "whole": lambda m: (m.tensor([1, 2]), m.tensor([1, 4])),
    "bool": lambda m: (m.tensor([True, False]), m.tensor([True, True])),
    "dtypes": lambda m: (m.ones(3), m.ones(3, dtype=m.float64)),
    "half": lambda m: (m.ones(3, dtype=m.float16), m.ones(3, dtype=m.float16) * 1.001),
    "bfloat16": lambda m: (m.ones(3, dtype=m.bfloat16), m.ones(3, dtype=m.bfloat16) * 1.01),
    "double": lambda m: (m.ones(3, dtype=m.float64), m.ones(3, dtype=m.float64) + 1e-6),
    "complex": lambda m: (m.tensor([1 + 1j]), m.tensor([1 + 2j])),
    "shapes": lambda m: (m.ones(3), m.ones(1, 3)),
    "nan": lambda m: (m.tensor([NAN]), m.tensor([NAN])),
    "infinity": lambda m: (m.tensor([INFINITY, -INFINITY]), m.tensor([INFINITY, -INFINITY])),
    "other infinity": lambda m: (m.tensor([INFINITY]), m.tensor([-INFINITY])),
    "empty": lambda m: (m.ones(0), m.ones(0)),
    "numbers": lambda m: (1.0, 1.0 + 1e-9),
    "far numbers": lambda m: (1.0, 1.5),
    "ints": lambda m: (1, 2),
    "int and float": lambda m: (1, 1.0),
    "bools": lambda m: (True, False),
    "none": lambda m: (None, None),
    "none and one": lambda m: (None, 1.0),
    "lists": lambda m: ([m.ones(2), 1.0], [m.ones(2), 1.0]),
    "far in a list": lambda m: ([m.ones(2), m.ones(2)], [m.ones(2), m.zeros(2)]),
    "far in a dict": lambda m: ({"a": [1.0, 2.0]}, {"a": [1.0, 3.0]}),
    "lengths": lambda m: ([1.0], [1.0, 2.0]),
    "keys": lambda m: ({"a": 1.0}, {"b": 1.0}),
    "arrays": lambda m: (np.ones(3), np.ones(3)),
    "array and tensor": lambda m: (np.ones(3), m.ones(3)),
    "texts": lambda m: (object(), object()),
    "strides": lambda m: (m.ones(2, 2).t(), m.ones(2, 2)),
}
OPTIONS: list[dict[str, Any]] = [
    {}, {"equal_nan": True}, {"rtol": 0.5, "atol": 0.1}, {"rtol": 0.0, "atol": 0.0}, {"check_dtype": False},
    {"check_stride": True}, {"rtol": 0.1},
]  # fmt: skip


def outcome(call: Callable[[], None]) -> Any:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error).replace("torch.", "gradwright.").splitlines()
    return None


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name, options):
    ours, theirs = (
        outcome(lambda m=m: m.testing.assert_close(*PAIRS[name](m), **options)) for m in (gradwright, torch)
    )
    assert (ours is None) == (theirs is None), (ours, theirs)
    if ours is not None:
        assert ours[0] == theirs[0], (ours, theirs)
        if ours[0] == "AssertionError" and name != "keys":
            # Half precision is compared in float32 here.
            last = -1 if name in ("half", "bfloat16") else None
            assert ours[1][:last] == theirs[1][:last]


def test_messages():
    for m in (gradwright, torch):
        with pytest.raises(AssertionError, match=r"^mine$"):
            m.testing.assert_close(1.0, 2.0, msg="mine")
        with pytest.raises(AssertionError, match=r"^before Scalars"):
            m.testing.assert_close(1.0, 2.0, msg=lambda text: f"before {text}")
        m.testing.assert_allclose(m.tensor([NAN, 1.0]), [NAN, 1.0])
        with pytest.raises(AssertionError):
            m.testing.assert_allclose(m.tensor([1.0]), [2.0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int64", "uint8", "bool"])
def test_random_tensors(dtype):
    for m in (gradwright, torch):
        kind = getattr(m, dtype)
        made = m.testing.make_tensor(40, 30, dtype=kind, device="cpu")
        assert tuple(made.shape) == (40, 30)
        assert made.dtype == kind
        assert m.testing.make_tensor((2, 3), dtype=kind, device="cpu").shape[1] == 3
        assert not m.testing.make_tensor(4, 6, dtype=kind, device="cpu", noncontiguous=True).is_contiguous()
        assert bool((m.testing.make_tensor(200, dtype=kind, device="cpu", exclude_zero=True) != 0).all())
        values = np.abs(made.numpy().astype(np.complex128))
        assert values.max() <= (13 if "complex" in dtype else 9)
        if dtype == "bool":
            continue
        small = m.testing.make_tensor(500, dtype=kind, device="cpu", low=2, high=4).numpy()
        assert small.real.min() >= 2
        assert small.real.max() <= (4 if small.dtype.kind in "fc" else 3)
    with pytest.raises(ValueError, match="requires_grad"):
        gradwright.testing.make_tensor(2, dtype=gradwright.int64, requires_grad=True)
    assert gradwright.testing.make_tensor(2, dtype=gradwright.float32, requires_grad=True).requires_grad
