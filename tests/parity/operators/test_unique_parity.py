"""What occurs in a Tensor once, beside PyTorch's: values, places and counts, their shapes and dtypes, and refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

RANDOM = np.random.default_rng(3)
ARRAYS = {
    "numbers": RANDOM.integers(0, 4, 12).astype(np.float64),
    "a matrix": RANDOM.integers(0, 2, (5, 2)),
    "a transposed matrix": RANDOM.integers(0, 2, (3, 6)).T,
    "three dimensions": RANDOM.integers(0, 2, (4, 2, 3)).astype(np.float32),
    "every other one": RANDOM.integers(0, 3, 14)[::2],
    "truths": RANDOM.integers(0, 2, (3, 4)).astype(bool),
    "bytes": RANDOM.integers(0, 200, 9).astype(np.uint8),
    "NaN and infinities": np.array([np.nan, 1, -np.inf, np.nan, np.inf, 1, -0.0, 0.0]),
    "one number": np.array(3.0),
    "nothing": np.zeros(0),
    "rows of nothing": np.zeros((3, 0)),
    "no rows": np.zeros((0, 3), np.int32),
    "equal rows": np.ones((3, 2, 2)),
    "complex": np.array([1j, 1j]),
}
FLAGS = list(itertools.product((False, True), repeat=2))


def outcome(call: Any) -> Any:
    """Values, dtypes and shapes; or the class of the error."""
    try:
        found = call()
    except Exception as error:  # whatever it is, the other side has to have the same
        return type(error)
    many = found if isinstance(found, tuple) else (found,)
    return type(found).__name__, [(str(x.dtype).partition(".")[2], list(x.shape), repr(x.tolist())) for x in many]


def both(name: str, method: str, *args: Any, **options: Any) -> None:
    array = ARRAYS[name]
    own, other = gradwright.tensor(array), torch.tensor(array)
    wanted = outcome(lambda: getattr(other, method)(*args, **options))
    assert outcome(lambda: getattr(own, method)(*args, **options)) == wanted
    assert outcome(lambda: getattr(gradwright, method)(own, *args, **options)) == wanted


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("method", ["unique", "unique_consecutive"])
def test_what_occurs_once(method: str, name: str) -> None:
    for inverse, counts in FLAGS:
        # PyTorch sorts rows by `<`, which leaves those with a NaN anywhere.
        for dim in (None,) if "NaN" in name and method == "unique" else (None, 0, 1, -1, 2):
            both(name, method, return_inverse=inverse, return_counts=counts, dim=dim)


@pytest.mark.parametrize("name", ["numbers", "a matrix", "bytes"])
def test_the_order_is_kept_without_being_asked_for(name: str) -> None:
    values, inverse, counts = gradwright.unique(
        gradwright.tensor(ARRAYS[name]), sorted=False, return_inverse=True, return_counts=True
    )
    assert values.tolist() == np.unique(ARRAYS[name]).tolist()
    assert values[inverse].tolist() == ARRAYS[name].tolist()
    assert int(counts.sum()) == ARRAYS[name].size


@pytest.mark.parametrize("name", ["_unique", "_unique2", "unique_dim", "unique_dim_consecutive", "unique_consecutive"])
def test_the_operators(name: str) -> None:
    own, other = getattr(gradwright.ops, name), getattr(torch.ops.aten, name)
    array = ARRAYS["a matrix"]
    for flags in FLAGS:
        args: tuple[Any, ...] = flags
        if "dim" in name:
            args = (0, *((True,) if name == "unique_dim" else ()), *flags)
        found, wanted = own(gradwright.tensor(array), *args), other(torch.tensor(array), *args)
        assert [x.tolist() for x in found] == [x.tolist() for x in wanted]


@pytest.mark.parametrize("method", ["unique", "unique_consecutive"])
def test_half_precision(method: str) -> None:
    values = [1.5, 0.25, 1.5, 1.5, -3]
    own = getattr(gradwright, method)(gradwright.tensor(values, dtype=gradwright.bfloat16))
    assert own.tolist() == getattr(torch, method)(torch.tensor(values, dtype=torch.bfloat16)).tolist()


@pytest.mark.parametrize("method", ["unique", "unique_consecutive"])
def test_its_gradient_is_not_implemented(method: str) -> None:
    for module in (gradwright, torch):
        values = getattr(module, method)(module.tensor([2.0, 1.0, 1.0], requires_grad=True))
        assert values.requires_grad
        with pytest.raises(NotImplementedError, match="is not implemented"):
            values.sum().backward()
