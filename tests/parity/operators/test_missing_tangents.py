"""A tangent that is missing takes no part: tangents through one input alone, where other derivatives are infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import Sample, sample_inputs
from runtime.load.operator_info import OperatorInfo
from support.operator_comparison import (
    ON_PYTORCHS_FORMULAS,
    Side,
    mapped,
    to_numpy,
    to_torch,
    torch_operator,
)

SPECIAL = (0.0, float("inf"), -float("inf"), 1e300, -0.0, 1.0)

# Infinities of complex numbers multiply in many ways, and infinite targets are no probabilities.
OTHERWISE = frozenset(("polar", "binary_cross_entropy_with_logits"))
# Its mean and deviation are those of its input, and here they are not; sums over windows, in which each of the ways to
# compute them multiplies other zeros with infinities; what is not in an image, which counts as 0 times its weight, be
# that NaN, and has no gradient.
INCONSISTENT = frozenset(
    (
        "native_layer_norm_backward", "convolution_backward", "conv_tbc",
        "grid_sampler_2d", "grid_sampler_2d_backward", "grid_sampler_3d_backward",
    )
)  # fmt: skip
# Infinite numbers in products of matrices are added up in another order, or the matrix is split otherwise.
ORDER = frozenset(("triangular_solve", "linalg_lu_solve", "linalg_householder_product"))
# The order in which slopes are multiplied decides what overflows.
OVERFLOW = frozenset(("silu_backward", "mish_backward", "softplus_backward", "elu_backward", "logit_backward"))
# PyTorch has no formula forward, and its backward one can not be differentiated.
REFUSED_THERE = frozenset(("_cdist_forward", "_embedding_bag_backward", "_embedding_bag_dense_backward"))
# A query with NaN gives zeros in PyTorch, see docs/deviations.md.
SWALLOWED = frozenset(("_scaled_dot_product_flash_attention_for_cpu",))


def several_inputs(info: OperatorInfo) -> list[int]:
    """The numbers of the samples with two or more differentiable inputs."""
    samples = sample_inputs(info, "float64") if info.differentiable and not info.random else []
    return [number for number, sample in enumerate(samples) if len(sample.tensors()) > 1]


CASES = [
    pytest.param(info, id=info.name)
    for info in OPERATORS.values()
    if several_inputs(info) and info.name not in INCONSISTENT | ORDER | OVERFLOW | SWALLOWED
]


def made_special(sample: Sample, shift: int) -> Sample:
    """Every other number of the inputs becomes zero, infinite or very large, other ones for another shift."""
    for start, tensor in enumerate(sample.tensors(), shift):
        numbers = tensor._array.reshape(-1).copy()
        for place in range(numbers.size):
            if (place + start) % 2 == 0:
                numbers[place] = SPECIAL[(place // 2 + start) % len(SPECIAL)]
        tensor._array[...] = numbers.reshape(tensor._array.shape)
    return sample


def through_one(side: Side, number: int, tangent: np.ndarray) -> list[Any]:
    """The tangents of the results where only one input has a tangent; None where the library refuses the numbers."""
    forward_ad = side.library.autograd.forward_ad
    try:
        with forward_ad.dual_level():
            inputs = [x.detach() for x in side.inputs]
            inputs[number] = forward_ad.make_dual(inputs[number], side.library.tensor(tangent))
            return [forward_ad.unpack_dual(out).tangent for out in side.call(inputs)]
    except (RuntimeError, ValueError):
        return []


def from_backward(side: Side, number: int, tangent: np.ndarray, name: str) -> list[Any]:
    """The same by the backward formula, which has one gradient for each input."""
    operator = getattr(operators, f"{OPERATORS[name].function}_op")
    jvp, operator.jvp = operator.jvp, None
    try:
        return through_one(side, number, tangent)
    finally:
        operator.jvp = jvp


def array_of(tangent: Any, like: np.ndarray) -> np.ndarray:
    return np.zeros_like(like) if tangent is None else to_numpy(tangent)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("info", CASES)
def test_the_tangent_through_one_input(info: OperatorInfo) -> None:
    theirs_function = torch_operator(info.name)
    compared = 0
    for place in several_inputs(info):
        for shift in range(3):
            sample = made_special(sample_inputs(info, "float64")[place], shift)
            ours = Side(gradwright, getattr(operators, info.function), sample.args, sample.kwargs)
            kwargs = {key: mapped(value, to_torch) for key, value in sample.kwargs.items()}
            theirs = Side(torch, theirs_function, mapped(sample.args, to_torch), kwargs)
            for number, x in enumerate(ours.inputs):
                way = np.random.default_rng(0).standard_normal(x.shape)
                found = through_one(ours, number, way)
                wanted = through_one(theirs, number, way) if theirs_function is not None else []
                other = from_backward(ours, number, way, info.name)
                # Of PyTorch's formulas, some refuse numbers or shapes backward that they take forward.
                assert ON_PYTORCHS_FORMULAS or len(other) == len(found), (sample.text, number)
                if not other:
                    continue
                for place_of_result, tangent in enumerate(found):
                    like = next(
                        (to_numpy(t[place_of_result]) for t in (found, other) if t and t[place_of_result] is not None),
                        None,
                    )
                    if like is None:
                        continue
                    array = array_of(tangent, like)
                    by_backward = array_of(other[place_of_result], like)
                    right = np.isclose(array, by_backward, rtol=1e-6, equal_nan=True)
                    if wanted and wanted[place_of_result] is not None:
                        of_torch = to_numpy(wanted[place_of_result])
                        right |= np.isclose(array, of_torch, rtol=1e-6, equal_nan=True)
                        lost = np.isnan(array) & ~np.isnan(of_torch)
                        assert info.name in OTHERWISE or not lost.any(), (sample.text, number, array, of_torch)
                    assert right.all(), (sample.text, number, array, by_backward, wanted)
                    compared += 1
    assert compared or (ON_PYTORCHS_FORMULAS and info.name in REFUSED_THERE)


x, y = ([1.0, -2.0], [0.0, 0.0])
EXAMPLES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "div": lambda t, a, b: a / b,
    "div of a sum": lambda t, a, b: (a + b) / (b * 2),
    "div in place": lambda t, a, b: (a * 1).div_(b),
    "mul by infinity": lambda t, a, b: a * (1 / b),
    "addcdiv": lambda t, a, b: t.addcdiv(a, b + 1, b),
    "addcdiv, above": lambda t, a, b: t.addcdiv(b, a, b),
    "addcmul": lambda t, a, b: t.addcmul(a, b, 1 / b),
    "xlogy": lambda t, a, b: t.xlogy(a, b),
    "xlogy of zero": lambda t, a, b: t.xlogy(b, a.abs()),
    "pow": lambda t, a, b: a.abs() ** b,
    "pow of zero": lambda t, a, b: b**a,
    "atan2": lambda t, a, b: t.atan2(a, b),
    "atan2 of zero": lambda t, a, b: t.atan2(b, a),
    "hypot": lambda t, a, b: t.hypot(b, a * 1e200),
    "where": lambda t, a, b: t.where(a > 0, a, 1 / b),
    "lerp": lambda t, a, b: t.lerp(a, 1 / b, b),
    "dot": lambda t, a, b: t.dot(a, 1 / b),
    "fmod": lambda t, a, b: t.fmod(1 / b, a),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("nested", [False, True])
def test_examples(name: str, nested: bool) -> None:
    """Also where the tangent is of a level inside another one, on which nothing depends."""

    def tangent(library: Any) -> Any:
        a, b = library.tensor(x, dtype=library.float64), library.tensor(y, dtype=library.float64)
        push = lambda a: library.func.jvp(lambda a: EXAMPLES[name](library, a, b), (a,), (library.ones_like(a),))[1]  # noqa: E731
        if nested:
            return library.func.jvp(lambda b: push(a) + 0 * b.sum(), (b + 1,), (b,))[0]
        return push(a)

    np.testing.assert_allclose(to_numpy(tangent(gradwright)), to_numpy(tangent(torch)), rtol=1e-10)
