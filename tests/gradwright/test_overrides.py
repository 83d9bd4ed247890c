"""`__torch_function__`: classes and modes that take calls over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import gradwright as torch
from gradwright import Tensor, overrides
from gradwright.nn import Linear, Parameter
from gradwright.nn.functional import linear
from gradwright.overrides import TorchFunctionMode

Call = tuple[Any, tuple[type, ...], tuple[Any, ...], Mapping[str, Any]]


class Plain(Tensor):
    """A class that says nothing of calls."""


class Logged(Tensor):
    """A class that notes the calls with its objects."""

    calls: list[Call]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        cls.calls.append((func, tuple(types), tuple(args), kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


class Duck:
    """A class that is none of Tensors."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func.__name__ if func.__name__ != "sin" else NotImplemented


class Noting(TorchFunctionMode):
    """A mode that notes the names of calls."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def plain(*values: float) -> Plain:
    return torch.tensor([*values]).as_subclass(Plain)


@pytest.fixture
def logged() -> Logged:
    Logged.calls = []
    return torch.tensor([1.0, 2.0]).as_subclass(Logged)


# -- classes


CALLS: list[Callable[[Any], Any]] = [
    lambda x: x + 1,
    lambda x: 1 - x,
    lambda x: torch.ones(2) * x,
    lambda x: torch.add(torch.ones(2), x, alpha=2),
    lambda x: x.sum(),
    lambda x: x[0],
    lambda x: torch.stack([torch.ones(2), x]),
    lambda x: torch.matmul(x, torch.ones(2)),
    lambda x: x.split(1)[0],
    lambda x: x.max(0).values,
    lambda x: x.clone().add_(1),
    lambda x: torch.relu(x),
    lambda x: linear(x, torch.ones(3, 2)),
    lambda x: x.detach(),
    lambda x: x.data,
    lambda x: x.T if x.dim() == 2 else x.reshape(1, 2).T,
]


@pytest.mark.parametrize("call", CALLS)
def test_results_are_of_the_class(call: Callable[[Any], Any]) -> None:
    assert type(call(plain(1.0, 2.0))) is Plain
    expected = call(torch.tensor([1.0, 2.0]))
    assert type(expected) is Tensor
    assert call(plain(1.0, 2.0)).tolist() == expected.tolist()


def test_what_is_no_tensor_stays() -> None:
    x = plain(1.0)
    assert x.shape == (1,)
    assert x.item() == 1.0
    assert isinstance(x.max(0), tuple)
    assert repr(x) == "Plain([1.])"


def test_a_call_is_given_with_its_arguments(logged: Logged) -> None:
    other = torch.ones(2)
    torch.add(other, logged, alpha=3)
    (func, types, args, kwargs) = logged.calls.pop()
    assert (func, types, kwargs) == (torch.add, (Logged,), {"alpha": 3})
    assert args[0] is other
    assert args[1] is logged
    torch.mean(logged, 0, keepdim=True)
    func, _, args, kwargs = logged.calls.pop()
    assert (func, args[1:], kwargs) == (torch.mean, ((0,), True), {})  # as the schema orders them


NAMES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: x + 1, "add"),
    (lambda x: x.mul(2), "mul"),
    (lambda x: x.mean(), "mean"),
    (lambda x: torch.ones(2).add_(x), "add_"),
    (lambda x: torch.add(torch.ones(2), 1, out=x), "add"),
    (lambda x: torch.cat([torch.ones(2), x]), "cat"),
    (lambda x: torch.matmul(torch.ones(2), x), "matmul"),
    (lambda x: x[0], "__getitem__"),
    (lambda x: x.requires_grad_(), "requires_grad_"),
    (lambda x: x.shape, "__get__"),
    (lambda x: len(x), "__len__"),
    (lambda x: linear(torch.ones(1, 2), torch.ones(1, 2), x[:1]), "linear"),
]


@pytest.mark.parametrize(("call", "name"), NAMES)
def test_names_of_calls(call: Callable[[Any], Any], name: str, logged: Logged) -> None:
    call(logged)
    assert name in [func.__name__ for func, *_ in logged.calls]


def test_attributes_are_read_and_set_as_calls(logged: Logged) -> None:
    assert logged.dtype is torch.float32
    assert logged.calls.pop()[0] == Tensor.dtype.__get__
    logged.requires_grad = True
    assert logged.calls.pop()[0] == Tensor.requires_grad.__set__


def test_nothing_is_a_call_within_one(logged: Logged) -> None:
    torch.nn.functional.softmax(logged, 0)
    torch.var(logged)
    assert [func.__name__ for func, *_ in logged.calls].count("softmax") == 1
    assert len(logged.calls) <= 3


def test_gradients_flow_and_formulas_are_no_calls(logged: Logged) -> None:
    logged.requires_grad_()
    loss = (logged * logged).sum()
    logged.calls.clear()
    loss.backward()
    assert [func.__name__ for func, *_ in logged.calls] == ["backward"]
    assert logged.grad is not None
    assert type(logged.grad) is Tensor
    assert logged.grad.tolist() == [2.0, 4.0]


def test_backward_of_a_function_is_of_the_program(logged: Logged) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return torch.ones(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            Logged.calls.clear()
            logged.mul(2)
            names.extend(func.__name__ for func, *_ in Logged.calls)
            return grad

    names: list[str] = []
    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    assert names == ["mul"]


def test_the_subclass_is_asked_before_its_base(logged: Logged) -> None:
    class More(Logged):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            return types

    more = torch.ones(2).as_subclass(More)
    assert torch.add(logged, more) == (More, Logged)
    assert torch.stack([logged, more, logged]) == (More, Logged)


def test_all_decline() -> None:
    class Declining(Tensor):
        @classmethod
        def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any:
            return NotImplemented

    declining = torch.ones(1).as_subclass(Declining)
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: torch.add(torch.ones(1), declining),
        "relu": lambda: torch.nn.functional.relu(declining),
        "shape.__get__": lambda: declining.shape,
        "requires_grad.__set__": lambda: setattr(declining, "requires_grad", True),
    }
    for name, function in calls.items():
        with pytest.raises(TypeError, match=f"no implementation found for '{name}' on types that implement __torch_f"):
            function()


def test_a_class_of_its_own_methods() -> None:
    class Own(Tensor):
        def sum(self) -> Any:  # type: ignore[override]
            return "mine"

        @property
        def shape(self) -> Any:
            return "my shape"

    x = torch.ones(2).as_subclass(Own)
    assert (x.sum(), x.shape) == ("mine", "my shape")


def test_classes_that_are_no_tensors() -> None:
    assert torch.add(Duck(), 1) == "add"
    assert torch.relu(Duck()) == "relu"
    assert torch.ones(1) + Duck() == "add"
    with pytest.raises(TypeError, match="no implementation found"):
        torch.sin(Duck())
    with pytest.raises(TypeError, match="must be Tensor, not"):
        torch.sin(object())


def test_disabled_classes_are_left_alone() -> None:
    class Off(Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(torch.ones(1).as_subclass(Off) + 1) is Tensor
    assert type(Parameter(torch.ones(1)) + 1) is Tensor
    assert not overrides.has_torch_function((Parameter(torch.ones(1)),))
    with torch.DisableTorchFunctionSubclass():
        assert type(plain(1.0) + 1) is Tensor


def test_modules_hold_parameters_of_a_class() -> None:
    layer = Linear(2, 1)
    layer.weight = Parameter(torch.ones(1, 2).as_subclass(Plain))
    assert isinstance(layer.weight, Parameter)
    assert type(layer(torch.ones(1, 2))) is Plain


def test_as_subclass() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Plain)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
    base = torch.zeros(2)
    base.as_subclass(Plain).add_(1)
    assert base.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="must be a subclass of Tensor"):
        base.as_subclass(int)  # type: ignore[type-var]


# -- modes


def test_a_mode_sees_all_operators() -> None:
    names: list[str] = []
    with Noting(names):
        x = torch.ones(2)
        x + x
        x.add_(1)
        torch.matmul(x, x)
        torch.mul(x, 2, out=x)
    x * 2
    assert names == ["ones", "add", "add_", "matmul", "mul"]


def test_modes_lie_in_each_other() -> None:
    outer: list[str] = []
    inner: list[str] = []
    x = torch.ones(2)
    with Noting(outer):
        with Noting(inner):
            x.sin()
        x.cos()
    assert (outer, inner) == (["sin", "cos"], ["sin"])


def test_a_mode_comes_before_classes(logged: Logged) -> None:
    seen: list[Any] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func.__name__, types, len(logged.calls)))
            return func(*args, **(kwargs or {}))

    with Mode():
        logged.exp()
    assert seen == [("exp", (Logged,), 0)]
    assert [func.__name__ for func, *_ in logged.calls] == ["exp"]


def test_a_mode_may_replace_or_decline() -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "mine" if func is torch.sin else NotImplemented

    one = torch.ones(1)
    with Mode() as mode:
        assert isinstance(mode, Mode)
        assert torch.sin(one) == "mine"
        with pytest.raises(TypeError, match=r"no implementation found .* nor in mode"):
            torch.exp(one)
        with torch.DisableTorchFunction():
            assert torch.sin(torch.zeros(1)).tolist() == [0.0]


def test_a_mode_does_not_see_formulas() -> None:
    names: list[str] = []
    x = torch.ones(2, requires_grad=True)
    y = x.exp().sum()
    with Noting(names):
        y.backward()
    assert names == []
    assert x.grad is not None


# -- functions of one's own


def test_functions_that_take_part(logged: Logged) -> None:
    def double(x: Any) -> Any:
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x)
        return x * 2

    @overrides.wrap_torch_function(lambda x: (x,))
    def triple(x: Any) -> Any:
        return x * 3

    assert double(torch.ones(1)).tolist() == [2.0]
    assert double(logged).tolist() == [2.0, 4.0]
    assert logged.calls[0][0] is double
    triple(logged)
    assert triple in [func for func, *_ in logged.calls]
    names: list[str] = []
    with Noting(names):
        double(torch.ones(1))
    assert names == ["ones", "double"]


def test_what_can_be_taken_over() -> None:
    functions = overrides.get_overridable_functions()
    assert torch.add in functions[torch]
    assert Tensor.add in functions[Tensor]
    assert torch.linalg.inv in functions[torch.linalg]
    assert overrides.resolve_name(torch.stack) == "torch.stack"
    assert overrides.resolve_name(Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert overrides.resolve_name(len) is None
    assert torch.tensor in overrides.get_ignored_functions()
    assert overrides.get_testing_overrides()[torch.add](1) == -1
    assert overrides.is_tensor_method_or_property(Tensor.dtype.__get__)
    assert not overrides.is_tensor_method_or_property(len)
    assert overrides.is_tensor_like(Duck())
    assert not overrides.is_tensor_like(1)
