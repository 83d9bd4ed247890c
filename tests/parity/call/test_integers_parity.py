"""Python numbers against Tensors of all dtypes, and in-place operators for all pairs of dtypes, as in PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import sample_inputs
from runtime.base.tensor import Tensor
from runtime.load.operator_info import OperatorInfo

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
NUMBERS = (
    *(0, 1, 2, -1, -3, 127, 128, -128, -129, 255, 256, 300, 70000, -70000, 2**31, 2**32 + 5, 2**63 - 1, -(2**63)),
    *(2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, 1.5, -1.5, 1e10, float("inf"), float("nan")),
)


def assigned(x: Any, value: Any) -> Any:
    x = x.clone()
    x[0] = value
    return x


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda L, x, v: x + v,
    "add alpha": lambda L, x, v: L.add(x, x, alpha=v),
    "add number alpha": lambda L, x, v: L.add(x, 1, alpha=v),
    "sub": lambda L, x, v: x - v,
    "rsub": lambda L, x, v: v - x,
    "mul": lambda L, x, v: x * v,
    "div": lambda L, x, v: x / v,
    "div trunc": lambda L, x, v: L.div(x, v, rounding_mode="trunc"),
    "floor_divide": lambda L, x, v: x // v,
    "reflected floor_divide": lambda L, x, v: v // x,
    "remainder": lambda L, x, v: x % v,
    "reflected remainder": lambda L, x, v: v % x,
    "fmod": lambda L, x, v: L.fmod(x, v),
    "pow": lambda L, x, v: x**v,
    "reflected pow": lambda L, x, v: v**x,
    "and": lambda L, x, v: x & v,
    "or": lambda L, x, v: x | v,
    "xor": lambda L, x, v: v ^ x,
    "left shift": lambda L, x, v: x << v,
    "right shift": lambda L, x, v: x >> v,
    "shift of a number": lambda L, x, v: L.bitwise_right_shift(v, x),
    "eq": lambda L, x, v: x == v,
    "ne": lambda L, x, v: x != v,
    "lt": lambda L, x, v: x < v,
    "le": lambda L, x, v: x <= v,
    "gt": lambda L, x, v: x > v,
    "ge": lambda L, x, v: x >= v,
    "clamp": lambda L, x, v: L.clamp(x, v, 100),
    "clamp_min": lambda L, x, v: L.clamp_min(x, v),
    "clamp_max": lambda L, x, v: L.clamp_max(x, v),
    "fill_": lambda L, x, v: x.clone().fill_(v),
    "full": lambda L, x, v: L.full((2,), v, dtype=x.dtype),
    "full of its own dtype": lambda L, x, v: L.full((2,), v),
    "full_like": lambda L, x, v: L.full_like(x, v),
    "new_full": lambda L, x, v: x.new_full((2,), v),
    "scalar_tensor": lambda L, x, v: L.scalar_tensor(v, dtype=x.dtype),
    "tensor": lambda L, x, v: L.tensor([v], dtype=x.dtype),
    "masked_fill": lambda L, x, v: x.masked_fill(x > 1, v),
    "where": lambda L, x, v: L.where(x > 1, x, v),
    "where of a number": lambda L, x, v: L.where(x > 1, v, x),
    "where of numbers": lambda L, x, v: L.where(x > 1, v, v),
    "index_fill": lambda L, x, v: x.index_fill(0, L.tensor([0]), v),
    "index_add": lambda L, x, v: L.index_add(x, 0, L.tensor([0]), x[:1], alpha=v),
    "scatter": lambda L, x, v: x.scatter(0, L.tensor([0]), v),
    "setitem": lambda L, x, v: assigned(x, v),
    "pad": lambda L, x, v: L.constant_pad_nd(x, [1, 0], v),
    "addcmul": lambda L, x, v: L.addcmul(x, x, x, value=v),
    "addmm": lambda L, x, v: L.addmm(*[x[:1].reshape(1, 1)] * 3, alpha=v, beta=v),
    "addmv": lambda L, x, v: L.addmv(x[:1], x[:1].reshape(1, 1), x[:1], alpha=v, beta=v),
    "threshold": lambda L, x, v: L.threshold(x, v, v),
    "add_": lambda L, x, v: x.clone().add_(v),
    "mul_": lambda L, x, v: x.clone().mul_(v),
    "pow_": lambda L, x, v: x.clone().pow_(v),
    "bitwise_and_": lambda L, x, v: x.clone().bitwise_and_(v),
    "eq_": lambda L, x, v: x.clone().eq_(v),
    "clamp_": lambda L, x, v: x.clone().clamp_(v),
    "true_divide_": lambda L, x, v: x.clone().true_divide_(v),
    "copysign": lambda L, x, v: L.copysign(x, v),
    "xlogy": lambda L, x, v: L.xlogy(x, v),
}


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    """The dtype and the elements of what was computed, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call()
        except Exception as error:
            return "raised", type(error).__name__
    numbers = result.tolist()
    if result.dtype.is_floating_point:
        numbers = [float(f"{number:.5g}") + 0.0 for number in numbers]  # another last digit, and 0 for -0
    return str(result.dtype).rpartition(".")[2], repr(numbers)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", CALLS)
def test_numbers_with_integers(name: str, dtype: str) -> None:
    for number in NUMBERS:

        def of(library: Any, number: Any = number) -> tuple[str, str]:
            x = library.tensor([1, 2, 255 if dtype == "uint8" else 100], dtype=getattr(library, dtype))
            return outcome(lambda: CALLS[name](library, x, number))

        assert of(gradwright) == of(torch), number


# What PyTorch's kernels say in other classes, and what is no question of the dtypes that are written.
NOT_OURS = {
    "abs_": "real lengths may be written into complex numbers here",
    "absolute_": "real lengths may be written into complex numbers here",
    "addcdiv_": "PyTorch refuses integers as dividend and divisor, whatever self is",
    "ldexp_": "PyTorch lacks kernels for powers of two of bools and of half precision",
    "hardtanh_": "PyTorch cuts negative limits off before it looks at their sign",
    "sub_.Tensor": "bools may be subtracted from numbers here",
    "subtract_.Tensor": "bools may be subtracted from numbers here",
    "clamp_.Tensor": "bools have an order here",
    "clip_.Tensor": "bools have an order here",
    "detach_": "PyTorch refuses views, as the method does here; the operator of PyTorch's YAML takes them",
    "addbmm_": "a result of another shape is refused here",
}
DTYPES = ("uint8", "int8", "int64", "bool", "float16", "float32", "float64", "complex64")


def torch_operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base, None), overload or "default", None)


WRITING = [
    pytest.param(info, id=info.inplace)
    for info in OPERATORS.values()
    if info.inplace is not None
    and not info.random
    and info.inplace not in NOT_OURS
    and torch_operator(info.inplace) is not None
]


@pytest.mark.parametrize("info", WRITING)
def test_writes_into_all_dtypes(info: OperatorInfo) -> None:
    assert info.inplace is not None
    base, _, overload = info.inplace.partition(".")
    ours, theirs = getattr(operators, f"{base}_{overload or 'default'}"), torch_operator(info.inplace)
    for sample in sample_inputs(info, "float64", requires_grad=False)[:2]:
        several = sum(isinstance(value, Tensor) for value in sample.args) > 1
        for target in DTYPES:
            for other in DTYPES if several else DTYPES[:1]:
                written = [
                    run(library, function, sample, target, other)
                    for library, function in ((gradwright, ours), (torch, theirs))
                ]
                raised = [name.endswith("Error") for name in written]
                # Which class an unknown kernel or another mistake in the same call has is no question here.
                assert written[0] == written[1] or all(raised), (sample.text, target, other)


def run(library: Any, function: Callable[..., Any], sample: Any, target: str, other: str) -> str:
    """The dtype of what an operator wrote, or the class of its error."""
    count = 0

    def given(value: Any) -> Any:
        nonlocal count
        if isinstance(value, list | tuple):
            return type(value)([given(item) for item in value])
        if isinstance(value, gradwright.dtype):
            return getattr(library, str(value).rpartition(".")[2])
        if not isinstance(value, Tensor):
            return value
        dtype = str(value.dtype).rpartition(".")[2]
        if value.dtype.is_floating_point:
            dtype, count = other if count else target, count + 1
            value = (value.abs() + 1).long()
        return library.tensor(value.tolist(), dtype=getattr(library, dtype)).reshape(tuple(value.shape))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            args = [given(value) for value in sample.args]
            result = function(*args, **{name: given(value) for name, value in sample.kwargs.items()})
        except Exception as error:
            return type(error).__name__
    return str(result.dtype).rpartition(".")[2]
