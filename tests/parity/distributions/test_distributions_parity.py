"""Distributions against PyTorch: densities, moments and their gradients, errors, shapes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from support.distribution_cases import CASES, build
from support.two_modules import attempt, compare

Library = Any


def outcome(library: Library, call: Any, parameters: Any) -> Any:
    """What a call gives, and the gradients of a weighted sum of it in the parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = attempt(call, message=False)
        if not isinstance(made, library.Tensor) or not made.requires_grad:
            return made
        weights = library.arange(1, made.numel() + 1, dtype=made.dtype).reshape(made.shape)
        found = attempt(lambda: slopes(library, made, weights, list(parameters.values())))
        return made.detach(), found if isinstance(found, list) else "not implemented"


def slopes(library: Library, made: Any, weights: Any, used: Any) -> Any:
    """Gradients; those that are none or NaN, where a branch that is not taken is infinite, count as zero."""
    found = library.autograd.grad((made * weights)[made.isfinite()].sum(), used, allow_unused=True)
    pairs = zip(used, found, strict=True)
    return [library.zeros_like(one) if slope is None else slope.nan_to_num(0.0) for one, slope in pairs]


def value_of(library: Library, case: Any) -> Any:
    whole = isinstance(case.value[0], int)
    return library.tensor(case.value, dtype=library.int64 if whole else getattr(library, case.dtype))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("what", ["log_prob", "cdf", "icdf", "entropy", "mean", "mode", "variance", "stddev"])
def test_values_and_gradients(name: str, what: str) -> None:
    case = CASES[name]

    def body(torch: Library) -> Any:
        made, parameters = build(torch, case)
        if what in ("log_prob", "cdf"):
            return outcome(torch, lambda: getattr(made, what)(value_of(torch, case)), parameters)
        if what == "icdf":
            chances = torch.tensor([0.2, 0.7, 0.4, 0.9], dtype=getattr(torch, case.dtype))
            return outcome(torch, lambda: made.icdf(chances[: max(1, sum(made.batch_shape[-1:]))]), parameters)
        if what == "entropy":
            return outcome(torch, made.entropy, parameters)
        return outcome(torch, lambda: getattr(made, what), parameters)

    compare(body, rtol=case.tolerance, atol=case.tolerance)
