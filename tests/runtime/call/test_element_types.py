"""`dtypes` in native_functions.yaml decides which element types an operator takes: in every variant and every mode."""

from __future__ import annotations

from typing import Any

import pytest

import gradwright
from codegen.words import COMMON_KINDS
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import make_sample, operator_function
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.call.dispatch import Operator
from runtime.call.facts import flat_tensors
from runtime.load.operator_info import OperatorInfo

ONE_OF_A_KIND = {
    "bool": (dtypes.bool,),
    "integer": (dtypes.int64, dtypes.uint8),
    "half": (dtypes.float16, dtypes.bfloat16),
    "float": (dtypes.float32, dtypes.float64),
    "complex": (dtypes.complex64, dtypes.complex128),
}
LIMITED = [info for info in OPERATORS.values() if info.dtypes != COMMON_KINDS]
# What promotion makes of these is not one of the refused kinds: integers become floats before they are looked at.
NUMBERS = ("bool", "integer")


def operator_of(info: OperatorInfo) -> Operator:
    found = getattr(operators, f"{info.function}_op")
    assert isinstance(found, Operator)
    return found


def refused(info: OperatorInfo) -> list[dtypes.dtype]:
    promotion = operator_of(info).promotion
    kinds = [kind for kind in COMMON_KINDS if kind not in info.dtypes]
    if promotion is not None and promotion[0] in ("int_to_float", "bool_to_int"):
        kinds = [kind for kind in kinds if kind not in NUMBERS]
    return [each for kind in kinds for each in ONE_OF_A_KIND[kind]]


def calls(info: OperatorInfo, dtype: dtypes.dtype) -> list[tuple[list[Any], dict[str, Any]]]:
    """A sample in a dtype that the operator may not take: one that asks for no other."""
    found = []
    for text in info.samples:
        if "T(" in text and "dtype=" not in text:
            sample = make_sample(info, text, dtype, requires_grad=False)
            if promoted_to(info, [*sample.args, *sample.kwargs.values()]) is dtype:
                found.append((list(sample.args), dict(sample.kwargs)))
    return found[:1]


def promoted_to(info: OperatorInfo, values: list[Any]) -> Any:
    """What promotion makes of the Tensors and numbers; the dtype of the first Tensor where there is none."""
    promotion = operator_of(info).promotion
    given = [value for value in values if isinstance(value, Tensor | int | float | complex)]
    tensors = flat_tensors(values)
    return tensors[0].dtype if promotion is None else dtypes.promoted_dtype(promotion[0], given)


@pytest.mark.parametrize("info", LIMITED, ids=lambda info: info.name)
def test_other_element_types_are_refused(info: OperatorInfo) -> None:
    operator = operator_of(info)
    assert operator.dtypes is not None
    expected = RuntimeError if operator.dtypes[2] == "RuntimeError" else NotImplementedError
    function = operator_function(info)
    for dtype in refused(info):
        for args, kwargs in calls(info, dtype):
            with pytest.raises(expected) as caught:
                function(*args, **kwargs)
            assert type(caught.value) is expected
            assert f"not implemented for '{dtype.scalar_name}'" in str(caught.value)
            assert "schema: " in str(caught.value)
            assert f'"{info.name}"' in str(caught.value)
            assert info.schema in str(caught.value)


@pytest.mark.parametrize("info", [i for i in LIMITED if i.inplace], ids=lambda info: info.name)
def test_no_variant_takes_them(info: OperatorInfo) -> None:
    base, _, overload = str(info.inplace).partition(".")
    inplace = getattr(operators, f"{base}_{overload or 'default'}")
    for dtype in refused(info):
        for args, kwargs in calls(info, dtype):
            if not isinstance(args[0], Tensor):
                continue
            before = args[0].clone()
            with pytest.raises(RuntimeError):
                inplace(*args, **kwargs)
            assert gradwright.equal(args[0], before)
            if info.out:
                with pytest.raises(RuntimeError, match="not implemented for"):
                    operator_function(info)(*args, **kwargs, out=gradwright.empty_like(before))


def test_a_number_can_make_the_promoted_dtype_one_that_is_refused() -> None:
    x = gradwright.ones(3)
    for call in (lambda: gradwright.lt(x, 1j), lambda: gradwright.fmod(x, 1j), lambda: x.clamp(min=1j)):
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
            call()


def test_what_a_call_asks_for_counts() -> None:
    whole = gradwright.tensor([1, 2, 4])
    assert gradwright.mean(whole, dtype=gradwright.float32).item() == pytest.approx(7 / 3)
    assert whole.softmax(0, dtype=gradwright.float64).sum().item() == pytest.approx(1)
    assert whole.softmax(0, dtype=float).dtype is gradwright.float64
    with pytest.raises(RuntimeError, match="\"mean\" not implemented for 'Int'"):
        gradwright.ones(3).mean(dtype=gradwright.int32)


def test_modes_and_transforms_refuse_them_too() -> None:
    z = gradwright.ones(2, 3, dtype=gradwright.complex64)
    with gradwright.inference_mode(), pytest.raises(NotImplementedError, match="gelu"):
        gradwright.ops.aten.gelu(z)
    with pytest.raises(NotImplementedError, match="gelu"):
        gradwright.func.vmap(gradwright.ops.aten.gelu)(z)
    with pytest.raises(NotImplementedError, match="gelu"):
        gradwright.func.jvp(gradwright.ops.aten.gelu, (z,), (z,))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("binary_cross_entropy_with_logits", 2), ("mse_loss_backward", 3), ("gelu_backward", 2),
        ("huber_loss_backward", 3), ("binary_cross_entropy_backward", 3), ("threshold_backward", 2),
    ],
)  # fmt: skip
def test_losses_and_internal_operators_take_no_complex_numbers(name: str, args: int) -> None:
    z = gradwright.ones(3, dtype=gradwright.complex128, requires_grad=True)
    more: dict[str, Any] = {"threshold_backward": {"threshold": 0}, "huber_loss_backward": {"reduction": 1, "delta": 1}}
    more["mse_loss_backward"] = {"reduction": 1}
    with pytest.raises(NotImplementedError, match=f"\"{name}\" not implemented for 'ComplexDouble'"):
        getattr(gradwright.ops.aten, name)(*[z] * args, **more.get(name, {}))
