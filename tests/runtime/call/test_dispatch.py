"""The dispatch table, the general path of a call, and what a wrong call is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from generated import operators
from runtime.call.dispatch import Operator
from runtime.native import core


def x(*values: float, grad: bool = False) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=grad)


@pytest.fixture
def replaced_mul() -> Iterator[list[str]]:
    """mul.Tensor with another CPU kernel, put back afterwards."""
    operator, kernel, calls = operators.mul_Tensor_op, operators.mul_Tensor_kernel, []
    before = dict(operator.kernels)

    def counting(self: np.ndarray, other: np.ndarray) -> np.ndarray:
        calls.append("called")
        return np.multiply(self, other)

    operator.register("CPU", counting)
    yield calls
    operator.kernels.update(before)
    operators.mul_Tensor_kernel = kernel
    operator._registered = False
    if core is not None:
        core.kernel_restored(operator.function)


def test_a_registered_kernel_is_used_on_every_way_to_the_operator(replaced_mul: list[str]) -> None:
    a, b = x(2.0, grad=True), x(3.0)
    out = [a * b, torch.mul(a, b), a.mul(b), torch.mul.Tensor(a, b)]
    assert [o.item() for o in out] == [6.0] * 4
    assert len(replaced_mul) == 4
    out[0].backward()
    assert a.grad.item() == 3.0


def test_kernel_comes_before_composite_explicit_before_composite_implicit() -> None:
    def operator(**kernels: Any) -> Operator:
        return Operator("f(Tensor self) -> Tensor", lambda self: self, kernels=kernels)

    implicit, explicit = (lambda self: self + 1), (lambda self: self + 2)
    cpu = lambda self: self + 3  # noqa: E731
    both = operator(CompositeImplicitAutograd=implicit, CompositeExplicitAutograd=explicit)
    assert operator(CompositeImplicitAutograd=implicit)(x(0.0)).item() == 1
    assert both(x(0.0)).item() == 2
    both.register("CPU", cpu)
    assert both(x(0.0)).item() == 3


def test_composite_operators_are_traced_through() -> None:
    out = torch.square(x(3.0, grad=True))
    assert "Square" not in out.grad_fn.name()
    out.backward()


def test_no_derivative_is_said_at_backward_and_names_the_operator() -> None:
    operator = Operator("triple(Tensor self) -> Tensor", lambda self: self, kernels={"CPU": lambda self: 3 * self})
    a = x(1.0, grad=True)
    out = operator(a)
    assert out.item() == 3.0
    with pytest.raises(NotImplementedError, match="derivative of 'triple' is not implemented"):
        out.backward()
    with torch.no_grad():
        assert not operator(a).requires_grad


def test_no_kernel_at_all() -> None:
    operator = Operator("nothing(Tensor self) -> Tensor", lambda self: self, kernels={})
    with pytest.raises(NotImplementedError, match=r"'nothing' has no kernel for the CPU\n  schema: nothing"):
        operator(x(1.0))


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (
            lambda: torch.tanh("a"),
            TypeError,
            ["tanh(): argument 'self' (position 1) must be Tensor, not str", "tanh(Tensor"],
        ),
        (lambda: torch.tanh(), TypeError, ["tanh"]),
        (lambda: torch.tanh(x(1.0), 2), TypeError, ["tanh"]),
        (lambda: torch.tanh(x(1.0), nonsense=2), TypeError, ["nonsense"]),
        (
            lambda: torch.add(x(1.0), "a"),
            TypeError,
            ["add()", "got (Tensor of gradwright.float64, str)", "add.Scalar(Tensor"],
        ),
        (lambda: x(1.0, 2.0) + x(1.0, 2.0, 3.0), RuntimeError, ["The size of tensor a (2) must match", "dimension 0"]),
        (lambda: torch.cat([x(1.0), 3]), TypeError, ["cat", "list of Tensor"]),
        (lambda: x(1.0).sum(dim=3), IndexError, ["Dimension out of range"]),
        (lambda: x(1.0) + object(), TypeError, ["unsupported operand"]),
        (lambda: torch.mm(x(1.0), x(1.0)), RuntimeError, ["matrix"]),
        (lambda: torch.zeros(2, dtype="float32"), TypeError, ["dtype", "str"]),
    ],
)
def test_wrong_calls(call: Any, error: type[Exception], parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    for part in parts:
        assert part in text


def test_an_error_from_a_kernel_carries_the_schema_and_what_was_given() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.mm(x(1.0), x(1.0))
    note = "\n".join(caught.value.__notes__)
    assert "in mm(Tensor self, Tensor mat2) -> Tensor" in note
    assert "given self=Tensor[1] of gradwright.float64" in note


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda: torch.tensor([1]) + 1.5, "float32"),
        (lambda: torch.tensor([1]) + torch.tensor(1.5, dtype=torch.float64), "float64"),
        (lambda: torch.tensor([1.0]) + torch.tensor(1.5, dtype=torch.float64), "float32"),
        (lambda: torch.tensor([1.0]) + torch.tensor([1.5], dtype=torch.float64), "float64"),
        (lambda: torch.tensor([1.0]) * 1j, "complex64"),
        (lambda: torch.tensor([True]) + True, "bool"),
        (lambda: torch.tensor([True]) + 1, "int64"),
        (lambda: torch.tensor([1], dtype=torch.uint8) + 300, "uint8"),
        (lambda: torch.tensor([1]) / 2, "float32"),
        (lambda: torch.sqrt(torch.tensor([4])), "float32"),
        (lambda: torch.tensor([True, True]).sum(), "int64"),
        (lambda: torch.tensor([1.0]) > 0, "bool"),
        (lambda: torch.abs(torch.tensor([3 + 4j])), "float32"),
        (lambda: 2 ** torch.tensor([1.0]), "float32"),
        (lambda: 2 / torch.tensor([1]), "float32"),
        (lambda: torch.tensor([1.0], dtype=torch.float16) + 1.5, "float16"),
    ],
)
def test_promotion(call: Any, dtype: str) -> None:
    assert call().dtype == getattr(torch, dtype)


def test_packets_show_their_overloads() -> None:
    assert {"Tensor", "Scalar", "out"} <= set(torch.add.overloads())
    assert torch.ops.add.Tensor(x(1.0), x(2.0)).item() == 3.0
    assert torch.add(x(1.0), x(2.0), alpha=10).item() == 21.0
    assert torch.add(2, x(1.0)).item() == 3.0


def test_numpy_warnings_of_kernels_stay_inside() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero = x(0.0)
        assert torch.isinf(1 / zero).item()
        assert torch.isnan(torch.log(-torch.ones(1))).item()
        assert torch.isnan(zero / zero).item()


@pytest.mark.parametrize(
    "call",
    [
        lambda t: torch.tanh(input=t),
        lambda t: torch.permute(input=t, dims=(0, 1)),
        lambda t: torch.softmax(t, axis=1),
        lambda t: t.softmax(axis=1),
        lambda t: torch.sum(input=t, axis=1, keepdims=True),
    ],
)
def test_parameters_with_two_names(call: Any) -> None:
    for _ in range(2):  # the second call takes what the first one found out
        assert call(torch.ones(2, 3)).shape[0] == 2


def test_an_argument_under_both_names_is_refused() -> None:
    with pytest.raises(TypeError, match="tanh"):
        torch.tanh(torch.ones(1), input=torch.ones(1))
    with pytest.raises(TypeError, match=r"tanh\(\)"):
        torch.tanh()


def test_an_out_tensor_of_another_dtype_is_refused_as_it_was() -> None:
    out = torch.tensor([7, 8])
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.exp(torch.ones(2, 3), out=out)
    assert out.tolist() == [7, 8]
    torch.exp(torch.zeros(2, 3), out=(wide := torch.ones(0, dtype=torch.float64)))
    assert wide.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("wrong", [None, "1", [1]])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, number: torch.threshold(x, 0, number),
        lambda x, number: x.threshold_(number, 0),
        lambda x, number: torch.nn.functional.leaky_relu(x, number),
        lambda x, number: torch.full_like(x, number),
        lambda x, number: x.masked_fill(x > 0, number),
    ],
)
def test_a_scalar_is_a_number_also_where_the_kernel_would_take_other_things(
    call: Callable[[Any, Any], Any], wrong: Any
) -> None:
    for shape in ((), (3,)):
        with pytest.raises(TypeError):
            call(torch.ones(*shape), wrong)
