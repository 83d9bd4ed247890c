"""`TorchDispatchMode`: a block in which an object stands for each operator that computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwright as torch
from gradwright.nn.functional import linear
from gradwright.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from runtime.base.modes import plain


class Noting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_operators_are_seen_as_overloads() -> None:
    x = torch.ones(2)
    with Noting() as mode:
        x + x
        x * 2
        x.add_(1)
        x.sum()
        x.sum(0)
        torch.mul(x, x, out=x)
        torch.zeros(2)
    x + x
    assert mode.names == [
        "aten.add.Tensor", "aten.mul.Tensor", "aten.add_.Tensor", "aten.sum.default", "aten.sum.dim_IntList",
        "aten.mul.out", "aten.zeros.default",
    ]  # fmt: skip


def test_composites_are_seen_as_their_parts() -> None:
    with Noting() as mode:
        linear(torch.ones(1, 2), torch.ones(3, 2))
    assert "aten.mm.default" in mode.names
    assert "aten.linear.default" not in mode.names
    assert "aten.matmul.default" not in mode.names


def test_formulas_are_seen_and_gradients_are_right() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    with Noting() as mode:
        y = x * x * x
        mode.names.clear()
        y.backward()
    assert mode.names
    assert x.grad is not None
    assert x.grad.tolist() == [12.0]


def test_modes_lie_in_each_other() -> None:
    with Noting() as outer, Noting() as inner:
        torch.ones(1).sin()
    assert outer.names == inner.names == ["aten.ones.default", "aten.sin.default"]


def test_a_mode_may_replace() -> None:
    class Zero(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            return out * 0 if func is torch.ops.aten.exp.default else out

    with Zero():
        assert torch.ones(1).exp().item() == 0.0
    assert not is_traceable_wrapper_subclass(torch.ones(1))


def test_it_stands_below_the_recording_of_gradients() -> None:
    seen: list[bool] = []

    class Scaled(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {})) * 10
            seen.append(out.requires_grad or (args[0] * 2).requires_grad)
            return out

    x = torch.tensor([0.0], requires_grad=True)
    with Scaled():
        y = x.exp()
    assert seen == [False]
    assert y.tolist() == [10.0]
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "ExpBackward0"
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [10.0]  # the formula uses the result


def test_what_is_given_keeps_its_own_history() -> None:
    class Giving(TorchDispatchMode):
        given: torch.Tensor

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self.given

    x = torch.tensor([0.0], requires_grad=True)
    made = x * 3
    for given, name in ((made, "MulBackward0"), (x, None)):
        mode = Giving()
        mode.given = given
        with mode:
            out = x.exp()
        assert out is not given
        assert out.grad_fn is not None
        assert out.grad_fn.name() == "ExpBackward0"
        assert (given.grad_fn.name() if given.grad_fn else None) == name
    assert x.is_leaf


def test_views_in_place_are_counted_once() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    z = x.clone()
    with Noting() as mode:
        z.t_()
        z.transpose_(0, 1)
        z.mul_(torch.full((2, 3), 2.0))
    z.sum().backward()
    assert mode.names == ["aten.t_.default", "aten.transpose_.default", "aten.full.default", "aten.mul_.Tensor"]
    assert z._version == 3
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0, 2.0, 2.0]] * 2


def test_the_fast_path_comes_back() -> None:
    x = torch.ones(2)
    with Noting() as mode:
        pass
    with torch.inference_mode():
        x.exp()
    x.exp().add_(x)
    assert mode.names == []
    assert torch.Tensor in plain


def test_the_method_must_be_there() -> None:
    with TorchDispatchMode(), pytest.raises(NotImplementedError):
        torch.ones(1).exp()


@pytest.mark.parametrize(
    ("call", "names", "shown"),
    [
        (lambda x: x + 1, ["aten.add.Tensor"], "AddBackward0"),
        (lambda x: 2 * x, ["aten.mul.Tensor"], "MulBackward0"),
        (lambda x: x.sub(1, alpha=2), ["aten.sub.Tensor"], "SubBackward0"),
        (lambda x: x.clone().div_(2), ["aten.clone.default", "aten.div_.Tensor"], "DivBackward0"),
        (lambda x: 2 / x, ["aten.reciprocal.default", "aten.mul.Tensor"], "MulBackward0"),
        (lambda x: torch.ops.aten.add.Tensor(x, 1), ["aten.add.Tensor"], "AddBackward0"),
        (lambda x: torch.ops.aten.mul.Scalar(x, 2), ["aten.mul.Scalar"], "MulBackward0"),
    ],
)
def test_a_number_stands_for_a_tensor(call: Callable[[Any], Any], names: list[str], shown: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Noting() as mode:
        call(x)
    assert mode.names == names
    out = call(x)
    assert out.grad_fn.name() == shown
    ((first, _), second) = out.grad_fn.next_functions
    assert first is not None
    assert second == (None, 0)
    inputs: list[Any] = []
    out.grad_fn.register_hook(lambda grad_inputs, _: inputs.append(grad_inputs))
    out.sum().backward()
    ((gradient, nothing),) = inputs
    assert gradient.shape == x.shape
    assert nothing is None
