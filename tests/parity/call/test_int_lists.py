"""Lists of ints with elements that are none of Python's: NumPy's ints, and Tensors of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

CALLS: list[Callable[[Any, Any], Any]] = [
    lambda library, x: x.sum([np.int64(0)]),
    lambda library, x: x.sum([library.tensor(1)]),
    lambda library, x: x.mean((np.int8(1),)),
    lambda library, x: x.amax([np.int64(0)]),
    lambda library, x: x.view([np.int64(3), 2]),
    lambda library, x: x.reshape([library.tensor(3), 2]),
    lambda library, x: x.permute([np.int64(1), 0]),
    lambda library, x: library.permute(x, dims=[np.int64(1), 0]),
    lambda library, x: x.expand([np.int64(2), 3]),
    lambda library, x: x.flip([np.int64(0)]),
    lambda library, x: x.roll([np.int64(1)], [0]),
    lambda library, x: x.repeat([np.int8(1), 2]),
    lambda library, x: library.zeros([np.int64(2), 3]),
    lambda library, x: x.flip([1.5]),
    lambda library, x: x.permute("a"),
    lambda library, x: x.view([True, 6]),
    lambda library, x: library.zeros([2.0, 3]),
]


def outcome(library: Any, call: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    x = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    try:
        out = call(library, x)
    except Exception as error:
        return (type(error),)
    if not out.requires_grad:
        return out.tolist(), None
    out.sum().backward()
    return out.tolist(), x.grad.tolist()


@pytest.mark.parametrize("call", CALLS)
def test_as_in_torch(call: Callable[[Any, Any], Any]) -> None:
    assert outcome(gradwright, call) == outcome(torch, call)


def test_messages_name_what_was_given() -> None:
    with pytest.raises(TypeError, match="not list of float"):
        gradwright.ones(2, 3).flip([1.5])


@pytest.mark.parametrize(
    "dims", [([0], [0]), ([-1], [0]), ([0, -1], [0, -1]), ([1], [0]), ([0], [1]), ([], []), ([0, 1], [-1, 2.5])]
)
def test_dimensions_of_a_number_are_looked_at(dims: tuple[list[Any], list[Any]]) -> None:
    classes = []
    for library in (torch, gradwright):
        try:
            classes.append(tuple(library.movedim(library.tensor(3.0), *dims).shape))
        except Exception as error:
            classes.append(type(error))
    assert classes[0] == classes[1]


def test_an_overload_is_not_chosen_by_the_first_element() -> None:
    for library in (torch, gradwright):
        x = library.ones(2, 3, 4)
        assert library.movedim(x, [0, 1], [1, 0]).shape == (3, 2, 4)
        for wrong in ([0, 1.0], [0, None]):
            with pytest.raises(TypeError):
                library.movedim(x, wrong, [1, 0])
            with pytest.raises(TypeError):
                library.movedim(x, [0, 1], destination=wrong)
