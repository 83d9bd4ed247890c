"""Tensors of several dtypes, and integers where floats are asked for: short ways give what the general one gives.

There are two: `runtime/call/other_dtypes.py`, and where it is built that of the native core.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import Sample, sample_inputs
from runtime.base import modes
from runtime.base.tensor import Tensor
from runtime.call import other_dtypes
from runtime.load.operator_info import OperatorInfo

DTYPES = [
    getattr(gradwright, name)
    for name in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
        "complex128",
    )
]  # fmt: skip
SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (((2, 3), (2, 3)), ((2, 3), ()), ((), (3,)), ((), ()))
NUMBERS: tuple[Any, ...] = (True, 3, 2.5, 2**63)


def values(shape: tuple[int, ...], dtype: gradwright.dtype) -> Any:
    return (gradwright.arange(int(np.prod(shape))).reshape(shape) % 5 + 1).to(dtype)


def outcome(function: Callable[..., Any], sample: Sample) -> list[Any]:
    """All that can be seen of one call: the error, or the results with their history and gradients."""
    arguments = [*sample.args, *sample.kwargs.values()]
    inputs = [value for value in arguments if isinstance(value, Tensor) and value.requires_grad]
    try:
        out = function(*sample.args, **sample.kwargs)
        results = [each for each in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(each, Tensor)]
        seen = [
            (each.dtype, each.shape, each.stride(), each.grad_fn and each.grad_fn.name(), each.detach())
            for each in results
        ]
        recorded = [each for each in results if each.requires_grad]
        if recorded:
            ones = [gradwright.ones_like(each) for each in recorded]
            seen.append(gradwright.autograd.grad(recorded, inputs, ones, allow_unused=True))
    except Exception as error:
        return [type(error), str(error)]
    return seen


def same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if not isinstance(one, Tensor):
        return bool(one == other)
    if one.dtype is not other.dtype or one.shape != other.shape:
        return False
    wide = gradwright.complex128 if one.is_complex() else gradwright.float64
    limit = 0.02 if one.element_size() == 2 else 2e-5  # what is float64 may come of float32
    return np.allclose(one.to(wide).numpy(), other.to(wide).numpy(), rtol=limit, atol=limit, equal_nan=True)


def check(function: Any, sample: Sample) -> None:
    """Compare the function, and its Python where it is native, with the general path."""
    with modes.unusual():
        expected = outcome(function, sample)
    for each in {function, getattr(function, "__wrapped__", function)}:
        found = outcome(each, sample)
        assert same(found, expected), f"{each} of {sample.args}, {sample.kwargs}: {found}, not {expected}"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call from now on went the short way in Python, if it came there."""
    seen: list[bool] = []
    before = other_dtypes.computed

    def computed(*args: Any) -> Any:
        out = before(*args)
        seen.append(out is not None)
        return out

    monkeypatch.setattr(other_dtypes, "computed", computed)
    return seen


def test_common_dtypes(taken: list[bool]) -> None:
    compared = 0
    for (left, right), (one, other) in itertools.product(itertools.product(DTYPES, DTYPES), SHAPES):
        x, y = values(one, left), values(other, right)
        for function in (operators.mul_Tensor, operators.div_Tensor, operators.eq_Tensor):
            check(function, Sample("", (x, y), {}))
            compared += 1
    assert compared == 1728
    assert sum(taken) > 1000


@pytest.mark.parametrize("default", [gradwright.float32, gradwright.float64, gradwright.bfloat16])
def test_numbers_beside_tensors(default: gradwright.dtype) -> None:
    before = gradwright.get_default_dtype()
    gradwright.set_default_dtype(default)
    try:
        compared = 0
        for dtype, number, shape in itertools.product(DTYPES, NUMBERS, ((2, 3), ())):
            sample = Sample("", (values(shape, dtype), number), {})
            for function in (operators.mul_Scalar, operators.div_Scalar, operators.lt_Scalar, operators.add_Scalar):
                check(function, sample)
                compared += 1
        assert compared == 384
    finally:
        gradwright.set_default_dtype(before)


def test_the_result_lies_as_the_arguments_do() -> None:
    x = values((3, 2), gradwright.float32).t()
    n = values((3, 2), gradwright.int64).t()
    assert (x * n).stride() == (1, 2)
    check(operators.mul_Tensor, Sample("", (x, n), {}))


def test_what_is_saved_are_the_arguments_themselves() -> None:
    x, n = values((2, 3), gradwright.float32).requires_grad_(), values((2, 3), gradwright.int64)
    product: Any = x * n
    assert product.grad_fn._saved_other is n or product.grad_fn._saved_other.dtype is gradwright.int64
    n += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_a_number_that_no_integer_holds_goes_to_python() -> None:
    with pytest.raises((RuntimeError, OverflowError)):
        values((2,), gradwright.int64) * 2**64


def test_writes_that_would_lose_the_kind_are_refused() -> None:
    n = values((2, 3), gradwright.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        n.mul_(values((2, 3), gradwright.float32))
    assert n._version == 0
    assert n.tolist() == values((2, 3), gradwright.int64).tolist()


# -- all operators that promote


def converting() -> Iterator[OperatorInfo]:
    """The operators that bring arguments to one element type."""
    for info in OPERATORS.values():
        operator: Any = getattr(operators, f"{info.function}_op", None)
        if getattr(operator, "converts", False) and operator.promotion is not None:
            yield info


CONVERTING = list(converting())
AT_LEAST = 180
# Operators of one Tensor, which compute in the dtype that it has.
OF_ONE_DTYPE = {"abs", "isneginf", "isposinf", "relu"}
OTHERS = (gradwright.int64, gradwright.bool, gradwright.float32, gradwright.bfloat16, gradwright.complex64)


def variants(sample: Sample) -> Iterator[Sample]:
    """The sample with one argument of another element type, or all of them."""
    places = [i for i, value in enumerate(sample.args) if isinstance(value, Tensor)]
    for dtype in OTHERS:
        for chosen in [*([i] for i in places), places] if len(places) > 1 else [places]:
            arguments = list(sample.args)
            for i in chosen:
                arguments[i] = sample.args[i].detach().to(dtype)
                if arguments[i].is_floating_point() or arguments[i].is_complex():
                    arguments[i].requires_grad_(sample.args[i].requires_grad)
            yield Sample(sample.text, tuple(arguments), sample.kwargs)


def test_many_operators_convert() -> None:
    assert len(CONVERTING) >= AT_LEAST


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", CONVERTING, ids=lambda info: info.name)
def test_every_operator_computes_what_the_general_path_does(info: OperatorInfo, taken: list[bool]) -> None:
    function: Any = getattr(operators, info.function)
    compared = 0
    for sample in itertools.islice(sample_inputs(info, "float64", requires_grad=True), 4):
        for variant in variants(sample):
            check(function, variant)
            compared += 1
    assert compared or not info.samples
    assert any(taken) or not compared or info.name in OF_ONE_DTYPE
