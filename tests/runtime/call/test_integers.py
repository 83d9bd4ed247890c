"""Python numbers as elements of integer Tensors, writes that do not fit, and results that have no gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright import ops, tensor
from gradwright.testing import sample_inputs
from runtime.base.tensor import Tensor


def bytes_(*values: int) -> Tensor:
    return tensor(list(values), dtype=gradwright.uint8)


WRAPPED: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "add": (lambda: bytes_(1, 255) + (-1), [0, 254]),
    "mul": (lambda: bytes_(1, 255) * -1, [255, 1]),
    "alpha": (lambda: bytes_(1, 255).add(bytes_(1, 255), alpha=-3), [254, 2]),
    "rsub": (lambda: -1 - bytes_(1, 255), [254, 0]),
    "floor_divide": (lambda: bytes_(255) // -1, [1]),
    "a number divided": (lambda: -1 // bytes_(2), [127]),
    "remainder": (lambda: -1 % bytes_(2), [1]),
    "bitwise_and": (lambda: bytes_(3) & -2, [2]),
    "shift": (lambda: bytes_(1) << -1, [0]),
    "base of a power": (lambda: (-1) ** bytes_(2), [1]),
    "eq": (lambda: bytes_(255) == -1, [True]),
    "lt": (lambda: bytes_(1) < -1, [True]),
    "signed": (lambda: tensor([1], dtype=gradwright.int8) + 255, [0]),
    "far": (lambda: tensor([1], dtype=gradwright.int16) + 2**40, [1]),
    "above int64": (lambda: tensor([1]) + (2**64 - 1), [0]),
    "in place": (lambda: bytes_(1).add_(-2), [255]),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_operands_wrap_around(name: str) -> None:
    call, expected = WRAPPED[name]
    assert call().tolist() == expected


VALUES: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "alpha": lambda x, v: x.add(x, alpha=v),
    "value": lambda x, v: gradwright.addcmul(x, x, x, value=v),
    "addmm": lambda x, v: gradwright.addmm(x.reshape(1, 1), x.reshape(1, 1), x.reshape(1, 1), alpha=v),
    "clamp": lambda x, v: x.clamp(min=v),
    "clamp_max": lambda x, v: x.clamp_max(v),
    "fill": lambda x, v: x.clone().fill_(v),
    "full": lambda x, v: gradwright.full((1,), v, dtype=x.dtype),
    "full_like": gradwright.full_like,
    "masked_fill": lambda x, v: x.masked_fill(x == x, v),
    "where": lambda x, v: gradwright.where(x == x, x, v),
    "index_fill": lambda x, v: x.index_fill(0, tensor([0]), v),
    "index_add": lambda x, v: x.index_add(0, tensor([0]), x, alpha=v),
    "scatter": lambda x, v: x.scatter(0, tensor([0]), v),
    "pad": lambda x, v: gradwright.constant_pad_nd(x, [1, 0], v),
    "threshold": lambda x, v: gradwright.threshold(x, 0, v),
    "exponent": lambda x, v: x**v,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(("dtype", "value"), [("uint8", 256), ("int8", 128), ("int16", 70000), ("int64", 2**63)])
def test_values_have_to_fit(name: str, dtype: str, value: int) -> None:
    x = tensor([1], dtype=getattr(gradwright, dtype))
    with pytest.raises(RuntimeError, match="without overflow"):
        VALUES[name](x, value)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "exponent"])
def test_negative_values_count_down_in_unsigned_dtypes(name: str) -> None:
    assert VALUES[name](bytes_(1), -1).dtype is gradwright.uint8


@pytest.mark.parametrize("call", [lambda x: x + 2**64, lambda x: x * -(2**63) * 1 - 2**80, lambda x: x == 10**30])
def test_integers_that_no_dtype_holds(call: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(OverflowError):
        call(tensor([1]))


REFUSED: dict[str, Callable[[], Any]] = {
    "true_divide_": lambda: tensor([1, 2]).true_divide_(2),
    "div_": lambda: tensor([1, 2]).div_(2),
    "and": lambda: tensor([1]).bitwise_and_(1.5),
    "clamp_": lambda: tensor([1]).clamp_(1j),
    "add_": lambda: tensor([1]).add_(0.5),
    "sin_": lambda: tensor([1]).sin_(),
    "pow_": lambda: tensor([1]).pow_(0.5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_writes_of_another_kind(name: str) -> None:
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        REFUSED[name]()


def test_float_power_overwrites_only_what_has_the_dtype_of_the_result() -> None:
    with pytest.raises(RuntimeError, match="dtype Float but the operation's result requires dtype Double"):
        tensor([2.0]).float_power_(2)
    assert tensor([2.0], dtype=gradwright.float64).float_power_(tensor([2])).tolist() == [4.0]


def test_elements_that_are_assigned() -> None:
    x = tensor([1, 2], dtype=gradwright.uint8)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        x[0] = 2**63
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 256
    with pytest.raises(RuntimeError, match="without overflow"):
        tensor(-1.5, dtype=gradwright.uint8)
    y = tensor([1.0], dtype=gradwright.float16)
    y[0] = 70000
    assert y.tolist() == [float("inf")]


def test_a_copy_into_integers_has_no_history() -> None:
    assert not ops.copy(tensor([1], dtype=gradwright.int32), tensor([1.0], requires_grad=True)).requires_grad


def flat(value: Any) -> Iterator[Tensor]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    elif isinstance(value, Tensor):
        yield value


def mixtures(values: Any) -> Iterator[Any]:
    """Arguments with each of their floating Tensors as one that requires grad, or as one of integers."""
    floating = [t for t in flat(values) if t.dtype.is_floating_point][:4]
    for kinds in itertools.product((True, False), repeat=len(floating)):
        chosen = {id(t): kind for t, kind in zip(floating, kinds, strict=True)}

        def change(value: Any, chosen: dict[int, bool] = chosen) -> Any:
            if isinstance(value, list | tuple):
                return type(value)([change(item) for item in value])
            if isinstance(value, gradwright.dtype):
                return gradwright.int64
            if not isinstance(value, Tensor) or id(value) not in chosen:
                return value
            return value.detach().clone().requires_grad_() if chosen[id(value)] else (value.abs() + 1).long()

        yield change(values)


# What gives a Tensor, and takes no integers, or none as these are mixed.
OF_NO_INTEGERS = frozenset((
    "float_power_.Tensor", "float_power_.Scalar", "polygamma_", "imag", "rrelu_with_noise", "norm.ScalarOpt_dtype",
    "norm.ScalarOpt_dim_dtype", "view_as_real", "view_as_real_copy", "_fft_c2c", "_fft_c2r", "istft", "normal_",
))  # fmt: skip


@pytest.mark.parametrize("name", [name for name, info in OPERATORS.items() if "Tensor" in info.schema.split("->")[1]])
def test_results_of_integers_have_no_history(name: str) -> None:
    info = OPERATORS[name]
    function, results_seen = getattr(operators, info.function), 0
    asked = [{}, {"dtype": gradwright.int64}] if "ScalarType? dtype" in info.schema else [{}]
    for sample in sample_inputs(info, "float64", requires_grad=False)[:2]:
        for args, values in mixtures((sample.args, tuple(sample.kwargs.values()))):
            for more in asked:
                kwargs = {**dict(zip(sample.kwargs, values, strict=True)), **more}
                try:
                    results = function(*args, **kwargs)
                except (RuntimeError, TypeError, IndexError, NotImplementedError, ValueError):
                    continue
                for result in flat(results):
                    real = result.dtype.is_floating_point or result.dtype.is_complex
                    assert real or not result.requires_grad, (sample.text, kwargs)
                    results_seen += 1
    assert (results_seen == 0) == (name in OF_NO_INTEGERS)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_products_of_many_integers_are_exact_and_wrap_around(dtype: str) -> None:
    kind = getattr(gradwright, dtype)
    rows = [[(7 * i + 3 * j) % 100 for j in range(40)] for i in range(30)]
    columns = [[(5 * i + 11 * j) % 100 for j in range(35)] for i in range(40)]
    product = gradwright.tensor(rows, dtype=kind) @ gradwright.tensor(columns, dtype=kind)
    exact = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*columns, strict=True)] for row in rows
    ]
    assert product.dtype is kind
    assert product.tolist() == gradwright.tensor(exact).to(kind).tolist()


def test_products_beyond_what_doubles_hold_are_exact() -> None:
    odd = 2**30 + 1
    product = gradwright.full([40, 40], odd) @ gradwright.full([40, 40], odd)
    assert product[0, 0].item() == (40 * odd * odd + 2**63) % 2**64 - 2**63
    lowest = gradwright.full([40, 40], -(2**63))
    assert (lowest @ gradwright.eye(40, dtype=gradwright.int64)).tolist() == lowest.tolist()
