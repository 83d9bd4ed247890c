"""float16 and bfloat16: operators compute in float32 and round once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright import nn
from gradwright.testing import sample_inputs
from runtime import native
from runtime.base import modes
from runtime.base.tensor import Tensor
from runtime.call import other_dtypes
from runtime.call.dispatch import Operator
from runtime.load.operator_info import OperatorInfo
from support.properties import Properties

properties = Properties()
F = nn.functional
HALVES = ("float16", "bfloat16")


def in_float32(value: Any, half: Any) -> Any:
    """An argument with float32 in place of half precision."""
    if isinstance(value, list | tuple):
        return type(value)([in_float32(item, half) for item in value])
    if isinstance(value, Tensor):
        return value.detach().float() if value.dtype is half else value.detach()
    return value


def flat(value: Any) -> list[Tensor]:
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in flat(item)]
    return [value] if isinstance(value, Tensor) else []


def computed_once(info: OperatorInfo) -> bool:
    """Whether the operator is one kernel, or a composite that computes in float32 as a whole."""
    operator = getattr(operators, f"{info.function}_op")
    return isinstance(operator, Operator) and (operator.in_float32 or "CPU" in operator.kernels)


# What looks at the dtype itself, what is always float64, unwritten memory, and what keeps float32 on the way.
_OTHER = (
    "nan_to_num", "bincount", "view.dtype", "empty_like", "new_empty", "complex", "view_as_complex", "_to_copy",
    "nextafter", "_scaled_dot_product_flash_attention_for_cpu",
)  # fmt: skip
COMPUTED_ONCE = [
    (info, half)
    for info in OPERATORS.values()
    if computed_once(info) and not info.random and info.name not in _OTHER
    for half in HALVES
    if sample_inputs(info, half)
]


@properties.hold_for(COMPUTED_ONCE)
def results_are_those_of_float32_rounded_once(info: OperatorInfo, half: str) -> None:
    function, dtype, compared = getattr(operators, info.function), getattr(gradwright, half), 0
    for sample in sample_inputs(info, dtype, requires_grad=False):
        kwargs = {name: in_float32(value, dtype) for name, value in sample.kwargs.items()}
        try:
            expected = flat(function(*in_float32(list(sample.args), dtype), **kwargs))
            actual = flat(function(*sample.args, **sample.kwargs))
        except NotImplementedError:  # half precision is refused, or floating types are
            continue
        except RuntimeError as error:
            assert "Expected a floating point or complex tensor" in str(error)  # noqa: PT017
            continue
        given = any(isinstance(value, gradwright.dtype) for value in (*sample.args, *sample.kwargs.values()))
        has_tensors = any(tensor.dtype is dtype for tensor in flat([*sample.args, *sample.kwargs.values()]))
        for one, other in zip(actual, expected, strict=True):
            if other.dtype is gradwright.float32 and has_tensors and not given:
                other = other.to(dtype)
            assert one.dtype is other.dtype, sample.text
            np.testing.assert_array_equal(one.tolist(), other.tolist(), err_msg=sample.text)
        compared += 1
    assert compared


SHORT = [
    (info, half)
    for info, half in COMPUTED_ONCE
    if getattr(getattr(operators, f"{info.function}_op"), "converts", False)
]


@properties.hold_for(SHORT)
def the_short_way_gives_what_the_general_one_gives(info: OperatorInfo, half: str) -> None:
    """Numbers to the bit, places in memory, Nodes and errors."""
    function = getattr(operators, info.function)

    def outcome(sample: Any) -> Any:
        try:
            result = function(*sample.args, **sample.kwargs)
        except Exception as error:
            return type(error), str(error)
        array = result._array
        node = None if result.grad_fn is None else result.grad_fn.name()
        return result.dtype, result.shape, result.stride(), array.tobytes(), node, result.requires_grad

    for sample in sample_inputs(info, getattr(gradwright, half), requires_grad=True):
        short = outcome(sample)
        with modes.unusual():
            general = outcome(sample)
        assert short == general, sample.text


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call from now on went the short way, if it came there."""
    seen: list[bool] = []

    def computed(*args: Any) -> Any:
        out = computed_before(*args)
        seen.append(out is not None)
        return out

    computed_before = other_dtypes.computed
    monkeypatch.setattr(other_dtypes, "computed", computed)
    return seen


def test_which_calls_go_the_short_way(taken: list[bool]) -> None:
    short = [] if native.is_available() else [True]  # the core takes them before
    x, y = half(1.0, 2.0), half(3.0, 4.0)
    wide = gradwright.ones(2)
    for call in (lambda: x + y, lambda: x * 2, lambda: x.exp(), lambda: x.sum(0), lambda: gradwright.dot(x, y)):
        taken.clear()
        assert call().dtype is gradwright.float16
        assert taken == short
    taken.clear()
    assert (x + wide).dtype is gradwright.float32
    assert taken == short
    for other in (
        lambda: x * 2j,
        lambda: x.sum(0, dtype=gradwright.float32),
    ):
        taken.clear()
        assert other().dtype is not gradwright.float16
        assert True not in taken


def test_the_short_way_is_left_when_something_is_unusual(taken: list[bool]) -> None:
    x = half(1.0, 2.0)
    with gradwright.autograd.forward_ad.dual_level():
        dual = gradwright.autograd.forward_ad.make_dual(x, half(1.0, 0.0))
        tangent = gradwright.autograd.forward_ad.unpack_dual(dual * dual).tangent
        assert tangent is not None
        assert tangent.tolist() == [2.0, 0.0]
    with gradwright.inference_mode():
        assert (x * x).is_inference()
    assert True not in taken
    assert gradwright.func.vmap(lambda v: v * v)(x).tolist() == [1.0, 4.0]
    with gradwright.no_grad():
        assert (x.requires_grad_() * x).grad_fn is None
    assert taken[-1]


def half(*numbers: float, dtype: Any = gradwright.float16) -> Tensor:
    return gradwright.tensor(list(numbers), dtype=dtype)


NAMED = {
    "mul": (lambda: half(0.3333) * 1e5, half(33312.0)),
    "add": (lambda: half(0.0).add(half(60000.0), alpha=0.1), half(6000.0)),
    "round": (lambda: gradwright.round(half(70.0), decimals=3), half(70.0)),
    "hardswish": (lambda: F.hardswish(half(12000.0)), half(12000.0)),
    "rms_norm": (lambda: gradwright.rms_norm(half(1000.0, -1000.0), [2]), half(1.0, -1.0)),
    "rms_norm of small numbers": (lambda: gradwright.rms_norm(half(1e-3, -1e-3), [2]), half(0.9453, -0.9453)),
    "addmm": (
        lambda: gradwright.addmm(
            half(0.0).reshape(1, 1), half(300.0).reshape(1, 1), half(300.0).reshape(1, 1), alpha=0.1
        ),
        half(9000.0).reshape(1, 1),
    ),
    "lerp": (lambda: gradwright.lerp(half(-60000.0), half(60000.0), 0.25), half(-30000.0)),
    "addcmul": (lambda: gradwright.addcmul(half(0.0), half(300.0), half(300.0), value=0.1), half(9000.0)),
    "mse_loss": (lambda: F.mse_loss(half(500.0, 0.0, 0.0, 0.0), half(0.0, 0.0, 0.0, 0.0)), half(62500.0).reshape(())),
    "logaddexp": (lambda: gradwright.logaddexp(half(12.0), half(12.0)), half(12.6931)),
    "0-dim with a number": (
        lambda: gradwright.tensor(0.3333, dtype=gradwright.float16) * 1e5,
        half(33312.0).reshape(()),
    ),
    "0-dim float64": (lambda: half(0.25) * gradwright.tensor(1e5, dtype=gradwright.float64), half(25000.0)),
    "in place": (lambda: half(0.3333).mul_(1e5), half(33312.0)),
    "sum of many": (
        lambda: gradwright.ones(4096, dtype=gradwright.bfloat16).sum(),
        half(4096.0, dtype=gradwright.bfloat16)[0],
    ),
    "cosine_similarity": (lambda: F.cosine_similarity(half(500.0, 0.0), half(400.0, 300.0), 0), half(0.8).reshape(())),
    "nan_to_num": (
        lambda: half(float("nan"), float("inf"), dtype=gradwright.bfloat16).nan_to_num(),
        half(0.0, gradwright.finfo(gradwright.bfloat16).max, dtype=gradwright.bfloat16),
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_nothing_overflows_in_between(name: str) -> None:
    call, expected = NAMED[name]
    actual = call()
    assert actual.dtype is expected.dtype
    np.testing.assert_array_equal(actual.tolist(), expected.tolist())


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gradient_of_gelu_far_from_zero(approximate: str) -> None:
    x = half(-400.0, -3.0, 400.0).requires_grad_()
    F.gelu(x, approximate=approximate).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype is gradwright.float16
    assert x.grad.tolist()[::2] == [0.0, 1.0]


def test_gradients_of_a_composite_in_float32() -> None:
    x = half(1000.0, 2000.0).requires_grad_()
    gradwright.rms_norm(x, [2]).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype is gradwright.float16
    assert np.isfinite(x.grad.tolist()).all()


@pytest.mark.parametrize("dtype", HALVES)
def test_a_model_in_half_precision(dtype: str) -> None:
    gradwright.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(getattr(gradwright, dtype))
    out = model(gradwright.randn(3, 4, dtype=getattr(gradwright, dtype)))
    assert out.dtype is getattr(gradwright, dtype)
    (out * out).mean().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.dtype is getattr(gradwright, dtype)


def test_comparisons_round_numbers_to_the_elements() -> None:
    for dtype in (gradwright.float16, gradwright.bfloat16):
        assert (gradwright.tensor([0.333], dtype=dtype) == 0.333).tolist() == [True]


def test_gradients_of_broadcast_operands_are_summed_in_float32() -> None:
    x = gradwright.ones(1, dtype=gradwright.bfloat16, requires_grad=True)
    (x * gradwright.ones(4096, dtype=gradwright.bfloat16)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4096.0]


def test_mixed_floating_types_are_left_to_the_kernel() -> None:
    with pytest.raises(RuntimeError, match="same dtype"):
        gradwright.mm(gradwright.ones(2, 2, dtype=gradwright.float16), gradwright.ones(2, 2))


def test_composites_with_formulas_of_their_own_compute_in_float32_too() -> None:
    def mean_square(self: Tensor) -> Tensor:
        return (self * self).mean()

    operator = Operator(
        "mean_square(Tensor self) -> Tensor",
        mean_square,
        kernels={"CompositeExplicitAutograd": mean_square},
        never_differentiable=True,
        in_float32=True,
    )
    result = operator(half(300.0, 0.0, 0.0, 0.0))
    assert result.dtype is gradwright.float16
    assert result.item() == 22496.0


test_operator, test_properties_are_checked = properties.tests(least=1_300)
