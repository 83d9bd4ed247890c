"""Operators on lists of Tensors beside PyTorch's: in place, with their gradients, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from generated.registry import OPERATORS
from gradwright.testing import Sample, operator_function, sample_inputs
from runtime.load.operator_info import OperatorInfo

pytestmark = pytest.mark.filterwarnings("ignore")

ON_LISTS = [info for name, info in OPERATORS.items() if name.startswith("_foreach_")]
IN_PLACE = [info for info in ON_LISTS if "(a!)" in info.schema]
# PyTorch has no derivative of these in place.
NO_DERIVATIVE = (
    "_foreach_maximum_", "_foreach_minimum_", "_foreach_copy_", "_foreach_addcmul_.Tensor", "_foreach_addcdiv_.Tensor",
)  # fmt: skip


def to_torch(value: Any) -> Any:
    if isinstance(value, gradwright.Tensor):
        return torch.from_numpy(np.array(value.numpy()))
    return [to_torch(item) for item in value] if isinstance(value, list | tuple) else value


def of_pytorch(info: OperatorInfo) -> Any:
    base, _, overload = info.name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def written(function: Any, sample: Sample, differentiated: bool) -> Any:
    """The first list after the call, or the class of the error; `differentiated`: gradients of what was in it."""
    args, kwargs = list(sample.args), dict(sample.kwargs)
    leaves = args[0]
    if differentiated:
        leaves = [tensor.detach().requires_grad_() for tensor in args[0]]
        args[0] = [leaf * 1 for leaf in leaves]
    try:
        function(*args, **kwargs)
    except Exception as error:  # whatever it is, the other side has to have the same
        return [type(error)]
    if not differentiated:
        return [tensor.tolist() for tensor in args[0]]
    sum(tensor.sum() for tensor in args[0]).backward()
    return [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


def close(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, int | float | complex) and isinstance(other, int | float | complex):
        return bool(one == other or abs(one - other) <= 1e-10 * max(1, abs(one)) or (one != one and other != other))
    return bool(one is other)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("info", IN_PLACE, ids=lambda info: info.name)
def test_lists_are_written(info: OperatorInfo, dtype: str) -> None:
    for sample in sample_inputs(info, dtype, False):
        theirs = Sample(sample.text, to_torch(sample.args), {name: to_torch(v) for name, v in sample.kwargs.items()})
        found, wanted = (
            written(f, s, False) for f, s in ((operator_function(info), sample), (of_pytorch(info), theirs))
        )
        assert close(found, wanted), (sample.text, found, wanted)


@pytest.mark.parametrize(
    "info", [i for i in IN_PLACE if not i.name.startswith(NO_DERIVATIVE)], ids=lambda info: info.name
)
def test_what_is_written_has_a_gradient(info: OperatorInfo) -> None:
    for sample in sample_inputs(info, "float64", False):
        theirs = Sample(sample.text, to_torch(sample.args), {name: to_torch(v) for name, v in sample.kwargs.items()})
        found, wanted = (
            written(f, s, True) for f, s in ((operator_function(info), sample), (of_pytorch(info), theirs))
        )
        assert close(found, wanted), (sample.text, found, wanted)


@pytest.mark.parametrize(
    "call",
    [
        "_foreach_add([], [x])", "_foreach_add([x], [x, x])", "_foreach_add([], [])", "_foreach_add([x], [1, 2])",
        "_foreach_exp([])", "_foreach_zero_([])", "_foreach_mul([x], x)", "_foreach_mul_([x], x)",
        "_foreach_addcmul([x], [x], [x], [1, 2])", "_foreach_addcmul([x], [x], [x], x)",
        "_foreach_addcdiv_([x], [x], [x], x.reshape(2, 1))", "_foreach_add([x], [x[:1].reshape(1, 1, 1), x])",
        "_foreach_add_([x], [x.reshape(2, 1)])", "_foreach_exp_([x.long()])", "_foreach_lerp([x], [x], [x, x])",
    ],
)  # fmt: skip
def test_what_is_refused(call: str) -> None:
    refused = []
    for module in (gradwright, torch):
        with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)) as raised:
            eval(f"m.{call}", {"m": module, "x": module.ones(2)})
        refused.append(raised.type)
    assert refused[0] is refused[1]


def test_elements_of_different_shapes_and_dtypes() -> None:
    for module in (gradwright, torch):
        lists = [module.ones(2), module.zeros(2, 2).long()]
        found = module._foreach_add(lists, [module.ones(1), module.ones(2)], alpha=2)
        assert type(found) is tuple
        assert [tensor.tolist() for tensor in found] == [[3.0, 3.0], [[2.0, 2.0], [2.0, 2.0]]]


def test_batches() -> None:
    x = gradwright.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = gradwright.vmap(lambda row: gradwright._foreach_mul([row, row[:1]], [2.0, 3.0]))(x)
    assert [tensor.tolist() for tensor in found] == [[[2.0, 4.0], [6.0, 8.0]], [[3.0], [9.0]]]
