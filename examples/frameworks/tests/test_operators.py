"""Every operator of fields, by the samples of its entry in native_functions.yaml."""

import pytest
from fields._generated.registry import OPERATORS

from gradwright.testing import gradcheck_operator

CHECKED = [name for name, info in OPERATORS.items() if info.differentiable or info.composite]


@pytest.mark.parametrize("name", CHECKED)
def test_derivatives_agree_with_finite_differences(name):
    info = OPERATORS[name]
    result = gradcheck_operator(info)
    assert not result.failures, "\n".join(result.failures)
    # A composite may give something that has no gradient.
    assert result.first or (info.composite and info.samples), "the entry has no samples to check its derivatives with"
