"""What native_functions.yaml declares linear, and what derivatives show to be factors, is so: on every sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwright
from codegen.read.model import NativeFunction
from generated.registry import OPERATORS
from gradwright.testing import operator_function, sample_inputs
from support.own_project import own_analysis

RESULT = own_analysis()
OUTPUTS = {str(entry.function.name): entry.differentiable_outputs for entry in RESULT.resolved}
DECLARED = [(function, group) for function in RESULT.functions for group in function.linear]


@pytest.mark.parametrize(("function", "group"), DECLARED, ids=lambda value: str(getattr(value, "name", "")))
def test_it_is_linear(function: NativeFunction, group: frozenset[str]) -> None:
    info = OPERATORS[str(function.name)]
    random = np.random.default_rng(0)
    names = [argument.name for argument in function.schema.arguments]
    call = operator_function(info)
    samples = sample_inputs(info, "float64", requires_grad=False)
    assert samples
    for sample in samples:
        given = dict(zip(names, sample.args, strict=False)) | dict(sample.kwargs)
        other = {name: gradwright.tensor(random.standard_normal(tuple(given[name].shape))) for name in group}
        mixed = {name: 2 * given[name] - 3 * other[name] for name in group}
        first, second, both = (results(call(**{**given, **change}), function) for change in ({}, other, mixed))
        assert first
        for one, two, together in zip(first, second, both, strict=True):
            np.testing.assert_allclose((2 * one - 3 * two).numpy(), together.numpy(), rtol=1e-12, atol=1e-12)


def results(out: Any, function: NativeFunction) -> list[gradwright.Tensor]:
    values = out if isinstance(out, list | tuple) else [out]
    places = OUTPUTS[str(function.name)] or range(len(values))  # `detach` is linear, and has no derivative
    return [values[index] for index in places]


assert RESULT.plan is not None
FACTORS = [(operator.source, group) for operator in RESULT.plan.operators for group in operator.autograd.factors]


@pytest.mark.parametrize(("function", "group"), FACTORS, ids=lambda value: str(getattr(value, "name", "")))
def test_results_are_zero_where_factors_are(function: NativeFunction, group: tuple[str, ...]) -> None:
    info = OPERATORS[str(function.name)]
    names = [argument.name for argument in function.schema.arguments]
    dtype = "float64" if sample_inputs(info, "float64") else "complex128"
    for sample in sample_inputs(info, dtype, requires_grad=False):
        given = dict(zip(names, sample.args, strict=False)) | dict(sample.kwargs)
        change = {name: zeros_like(given[name]) for name in group if given.get(name) is not None}
        if len(change) < len(group):
            continue
        out = operator_function(info)(**{**given, **change})
        for result in out if isinstance(out, list | tuple) else [out]:
            assert not result.numpy().any()


def zeros_like(value: Any) -> Any:
    return [zeros_like(item) for item in value] if isinstance(value, list) else gradwright.zeros_like(value)


def test_some_factors() -> None:
    found = {(str(function.name), group) for function, group in FACTORS}
    assert {
        ("mul.Tensor", ("self",)),
        ("mul.Tensor", ("other",)),
        ("div.Tensor", ("self",)),
        ("add.Tensor", ("self", "other")),
        ("addcmul", ("self", "tensor1")),
        ("mm", ("mat2",)),
        ("cat", ("tensors",)),
    } <= found
    # What is added to something, a number among the arguments, a step function of another argument.
    for name in ("add.Scalar", "masked_fill.Scalar", "heaviside"):
        assert not any(operator == name for operator, _ in found)
    assert ("select_scatter", ("src",)) not in found
