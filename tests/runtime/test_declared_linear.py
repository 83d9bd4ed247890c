"""What native_functions.yaml declares linear, because no formula shows it, is linear: on every sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime
from codegen.model import NativeFunction
from codegen.paths import project_paths
from codegen.pipeline import analyze
from generated.registry import OPERATORS
from runtime.testing import operator_function, sample_inputs

RESULT = analyze(project_paths())
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
        other = {name: runtime.tensor(random.standard_normal(tuple(given[name].shape))) for name in group}
        mixed = {name: 2 * given[name] - 3 * other[name] for name in group}
        first, second, both = (results(call(**{**given, **change}), function) for change in ({}, other, mixed))
        assert first
        for one, two, together in zip(first, second, both, strict=True):
            np.testing.assert_allclose((2 * one - 3 * two).numpy(), together.numpy(), rtol=1e-12, atol=1e-12)


def results(out: Any, function: NativeFunction) -> list[runtime.Tensor]:
    values = out if isinstance(out, list | tuple) else [out]
    return [values[index] for index in OUTPUTS[str(function.name)]]
