"""Python numbers among the arguments, powers that are differentiated again, nothing to concatenate: as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.both import assert_same_results
from support.two_modules import attempt, compare

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "bool"]
NUMBERS = [2, 2.5, True]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [1, 3, 0.5])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_scaled_numbers_are_outweighed_by_the_dtype(name: str, number: Any, alpha: Any, dtype: str) -> None:
    if name != "add" and (number is True or dtype == "bool"):
        pytest.skip("PyTorch refuses to subtract bools")

    def body(torch: Any) -> Any:
        x = torch.ones(3, dtype=getattr(torch, dtype))
        out = attempt(lambda: getattr(torch, name)(x, number, alpha=alpha), message=False)
        return [str(getattr(out, "dtype", out)), out.float() if hasattr(out, "float") else None]

    compare(body)


@pytest.mark.parametrize("number", [2, 2.5, 1 / 3, True])
@pytest.mark.parametrize(
    "sign", ["__add__", "__mul__", "__truediv__", "__sub__", "__pow__", "__radd__", "__rtruediv__"]
)
def test_bfloat16_stays_bfloat16(sign: str, number: Any) -> None:
    if sign == "__sub__" and number is True:
        pytest.skip("PyTorch refuses to subtract bools")

    def body(torch: Any) -> Any:
        x = torch.tensor([0.1, 1.7, 300.0], dtype=torch.bfloat16)
        out = getattr(x, sign)(number)
        return [str(out.dtype), out.float()]

    compare(body, rtol=8e-3)  # to one unit in the last place


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0, True])
def test_powers_are_differentiated_again_and_again(exponent: Any) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([2.0, -3.0] if float(exponent).is_integer() else [2.0, 3.0], requires_grad=True)
        found = []
        value = x**exponent
        while value.requires_grad and len(found) < 4:
            (value,) = torch.autograd.grad(value.sum(), x, create_graph=True)
            found.append(value)
        return found

    compare(body)


def test_powers_are_the_same_where_nothing_is_recorded() -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([2.0, 0.0, float("inf")], requires_grad=True)
        return [torch.autograd.grad((x**exponent).sum(), x) for exponent in (0, 1, 2, 3)]

    compare(body)


def test_a_power_of_one_is_new_memory() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2)
        y = x**1
        y.add_(1)
        return [x, y]

    compare(body)


@pytest.mark.parametrize("name", ["cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack"])
@pytest.mark.parametrize("nothing", [[], ()])
def test_nothing_to_concatenate(name: str, nothing: Any) -> None:
    compare(lambda torch: attempt(lambda: getattr(torch, name)(nothing)))


def test_nothing_to_concatenate_below_ops() -> None:
    compare(lambda torch: attempt(lambda: torch.ops.aten.cat.default([])))


@pytest.mark.parametrize("base", [2, 2.5, 0, 0.0, 1, -1.5, 2j])
def test_a_number_to_the_power_of_a_tensor_is_an_operator_of_its_own(base: Any) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([0.5, -2.0, 3.0], requires_grad=True)
        out = base**x
        (slope,) = torch.autograd.grad(out.abs().sum(), x)
        return [type(out.grad_fn).__name__, out.detach(), slope]

    compare(body)


@pytest.mark.parametrize("number", [7, 7.5, -7, True])
def test_remainders_of_numbers(number: Any) -> None:
    def body(torch: Any) -> Any:
        return [number % torch.tensor(x) for x in ([2, -3], [2.0, -0.7])]

    compare(body)


PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "x + 1": lambda torch, x: x + 1,
    "x * 2": lambda torch, x: x * 2,
    "x - 1": lambda torch, x: x - 1,
    "x / 2": lambda torch, x: x / 2,
    "1 + x": lambda torch, x: 1 + x,
    "2.5 * x": lambda torch, x: 2.5 * x,
    "1 - x": lambda torch, x: 1 - x,
    "x**2": lambda torch, x: x**2,
    "x % 2": lambda torch, x: x % 2,
    **{
        name: lambda torch, x, name=name: getattr(torch, name)(x, 2)
        for name in ("add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "rsub", "fmod", "pow")
    },
    "alpha": lambda torch, x: x.add(1, alpha=2),
    "add_": lambda torch, x: x.mul(x).add_(1),
    "sub_": lambda torch, x: x.mul(x).sub_(1),
    "mul_": lambda torch, x: x.add(x).mul_(2),
    "div_": lambda torch, x: x.add(x).div_(2),
    "two": lambda torch, x: (x * x) / x,
    "clamp": lambda torch, x: x.clamp(0, 1),
    "clamp by Tensors": lambda torch, x: x.clamp(x, x),
    "max": lambda torch, x: x.max(),
    "max of a dimension": lambda torch, x: x.max(0).values,
    "min": lambda torch, x: x.min(),
    "fmod by a Tensor": lambda torch, x: x.fmod(x + 1),
    "remainder by a Tensor": lambda torch, x: x % (x + 1),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_nodes_are_those_of_the_overload_that_pytorch_takes(pair: Callable[[Any, Any], Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        out = pair(torch, x)
        node = out.grad_fn
        named = type(node).__name__ == node.name() and node.name() in repr(node) and node.name() in repr(out)
        return node, named

    assert_same_results(body)
