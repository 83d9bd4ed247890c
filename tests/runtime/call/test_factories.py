"""Operators that make a Tensor of a size: what their fast path takes, and what it leaves to the general one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from runtime.base import dtypes, modes
from runtime.call.dispatch import Operator

FACTORIES = pytest.mark.parametrize("factory", [gradwright.zeros, gradwright.ones, gradwright.empty])


@FACTORIES
@pytest.mark.parametrize(
    "sizes",
    [(2, 3), ((2, 3),), ([2, 3],), ((np.int64(2), 3),), ([gradwright.tensor(2), 3],), (gradwright.Size([2, 3]),)],
)
def test_sizes_in_every_form(factory: Callable[..., Any], sizes: tuple[Any, ...]) -> None:
    assert factory(*sizes).shape == (2, 3)
    assert factory(*sizes, dtype=dtypes.int16).dtype is dtypes.int16
    assert factory(*sizes, device="cpu").shape == (2, 3)


@FACTORIES
@pytest.mark.parametrize("sizes", [((True, 3),), ((2.0, 3),), (("2",),), ((None,),)])
def test_what_is_no_size(factory: Callable[..., Any], sizes: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        factory(*sizes)


@FACTORIES
def test_the_dtype(factory: Callable[..., Any]) -> None:
    assert factory(2).dtype is dtypes.float32
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert factory(2).dtype is dtypes.float64
        assert factory(2, dtype=dtypes.float32).dtype is dtypes.float32
    finally:
        dtypes.set_default_dtype(dtypes.float32)
    with pytest.raises(TypeError, match="dtype"):
        factory(2, dtype="float32")
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        factory(2, -1)


@FACTORIES
def test_modes_see_the_call(factory: Callable[..., Any]) -> None:
    seen: list[str] = []

    def handle(operator: Operator, variant: Any, values: list[Any], proceed: Callable[[list[Any]], Any]) -> Any:
        seen.append(operator.name)
        return proceed(values)

    with modes.handle_calls(handle):
        factory(2)
    assert [name.partition(".")[0] for name in seen] == [factory.__name__]
    with gradwright.inference_mode():
        assert factory(2).is_inference()
    assert not factory(2).is_inference()


def test_results_and_fresh_memory() -> None:
    one, other = gradwright.zeros(3), gradwright.zeros(3)
    one.add_(1)
    np.testing.assert_array_equal(other, np.zeros(3, np.float32))
    np.testing.assert_array_equal(gradwright.ones(2, 0), np.ones((2, 0), np.float32))
    assert one.requires_grad_().is_leaf
