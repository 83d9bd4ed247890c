"""`__torch_dispatch__`: classes that stand for kernels, and Tensors around others."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from typing import Any

import pytest

import gradwright as torch
from gradwright import _C
from gradwright.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
)
from gradwright.utils._pytree import tree_map
from runtime.base import class_dispatch


class Around(torch.Tensor):
    """A Tensor around another one, which does all of the work."""

    inner: torch.Tensor
    seen: list[str]
    __torch_function__ = _C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: torch.Tensor, requires_grad: bool = False) -> Around:
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, requires_grad=requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Around.seen.append(str(func))
        args, kwargs = (tree_map(lambda x: x.inner if type(x) is Around else x, each) for each in (args, kwargs or {}))
        out = func(*args, **kwargs)
        return tree_map(lambda x: Around(x) if isinstance(x, torch.Tensor) else x, out)


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    Around.seen = []


def test_operators_come_to_the_class() -> None:
    x = Around(torch.tensor([1.0, 2.0]))
    out = (x + x).exp()
    assert type(out) is Around
    assert out.inner.tolist() == (torch.tensor([2.0, 4.0]).exp()).tolist()
    assert Around.seen == ["aten.add.Tensor", "aten.exp.default"]


def test_gradients_go_through_the_class() -> None:
    x = Around(torch.tensor([1.0, 2.0]), requires_grad=True)
    loss = (x * x).sum()
    Around.seen.clear()
    loss.backward()
    assert type(x.grad) is Around
    assert x.grad.inner.tolist() == [2.0, 4.0]
    assert "aten.mul.Tensor" in Around.seen
    (x * x).sum().backward()
    assert x.grad.inner.tolist() == [4.0, 8.0]
    (gradient,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    assert second.inner.tolist() == [6.0, 12.0]


def test_elements_come_from_the_class() -> None:
    x = Around(torch.tensor([3.0]))
    assert x.item() == float(x) == 3.0
    assert bool(x)
    assert Around.seen == ["aten._local_scalar_dense.default"] * 3
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses, got Around"):
        x.tolist()
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        x.numpy()


def test_what_is_no_operator_elsewhere_is_one_for_the_class() -> None:
    x = Around(torch.tensor([3.0]), requires_grad=True)
    for other in (x.detach(), x.data, copy.deepcopy(x)):
        assert type(other) is Around
        assert other.inner.tolist() == [3.0]
    assert Around.seen == ["aten.detach.default", "aten.detach.default", "aten.clone.default"]
    assert not x.detach().requires_grad
    assert copy.deepcopy(x).requires_grad


def test_views_are_views() -> None:
    base = Around(torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).detach())
    row = base[1]
    assert row._base is base
    assert row.inner.tolist() == [3.0, 4.0]
    row.add_(1)
    assert base.inner.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert base._version == row._version == 1
    assert [part.inner.tolist() for part in base.unbind(1)] == [[1.0, 4.0], [2.0, 5.0]]


def test_a_write_to_a_view_is_not_recorded() -> None:
    leaf = Around(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
    base = leaf * leaf
    with pytest.raises(NotImplementedError, match="a view of a Around, which has a __torch_dispatch__"):
        base[1].mul_(2)
    with torch.no_grad():
        base[1].mul_(2)
    assert base.inner.tolist() == [[1.0, 4.0], [18.0, 32.0]]


def test_writes_save_what_was_there() -> None:
    x = Around(torch.tensor([2.0]), requires_grad=True)
    y, factor = x * x, Around(torch.tensor([5.0]), requires_grad=True)
    y.mul_(factor)
    y.exp_()
    y.sum().backward()
    value = torch.tensor([20.0]).exp().item()
    assert factor.grad is not None
    assert x.grad is not None
    assert factor.grad.inner.item() == pytest.approx(4 * value)
    assert x.grad.inner.item() == pytest.approx(20 * value)


def test_parameters_are_of_the_class_and_are_trained() -> None:
    module = torch.nn.Linear(2, 1, bias=False)
    module.weight = torch.nn.Parameter(Around(torch.ones(1, 2)))
    assert type(module.weight) is Around
    assert isinstance(module.weight, torch.nn.Parameter)
    for optimizer in (torch.optim.SGD(module.parameters(), 0.5), torch.optim.Adam(module.parameters())):
        before = module.weight.inner.clone()
        optimizer.zero_grad()
        module(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        assert (module.weight.inner != before).all()


def test_a_class_that_declines() -> None:
    class Declining(torch.Tensor):
        __torch_function__ = _C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x = torch.Tensor._make_wrapper_subclass(Declining, (2,))
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'aten.sin.default'(.|\n)*Declining"):
        x.sin()


def test_a_subclass_is_asked_before_its_base() -> None:
    asked: list[tuple[type, Any]] = []

    class Below(Around):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append((cls, types))
            return NotImplemented

    x, y = Around(torch.ones(2)), torch.Tensor._make_wrapper_subclass(Below, (2,))
    y.inner = torch.ones(2)
    with pytest.raises(TypeError, match="add"):
        x + y
    # Around takes its own Tensor for what it is, and calls the operator again.
    assert asked == [(Below, (Below, Around)), (Below, (Below,))]
    assert Around.seen == ["aten.add.Tensor"]


def test_modes_stand_before_classes() -> None:
    seen: list[Any] = []

    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((str(func), types))
            return func(*args, **(kwargs or {}))

    x = Around(torch.ones(2))
    with Noting():
        out = x.sin()
    assert type(out) is Around
    # What the class calls on plain Tensors is no business of the mode, which has handed over.
    assert seen == [("aten.sin.default", (Around,))]
    assert Around.seen == ["aten.sin.default"]


def test_a_class_over_data_of_its_own() -> None:
    seen: list[str] = []

    class Loud(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            with _C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    x = torch.Tensor._make_subclass(Loud, torch.tensor([1.0, 4.0]), True)
    y = x.sqrt().sum()
    y.backward()
    assert y.tolist() == 3.0
    assert x.grad is not None
    assert x.grad.tolist() == [0.5, 0.25]
    assert seen[:2] == ["aten.sqrt.default", "aten.sum.default"]


def test_metadata() -> None:
    x = torch.Tensor._make_wrapper_subclass(
        Around, (2, 3), strides=(1, 2), dtype=torch.float64, device="meta", requires_grad=True
    )
    assert (x.shape, x.stride(), x.dtype, x.requires_grad) == ((2, 3), (1, 2), torch.float64, True)
    assert x.device == torch.device("meta")
    assert Around(torch.ones(2)).device == torch.device("cpu")
    assert torch.ones(2).device == torch.device("cpu")
    assert repr(Around(torch.ones(2))) == "Around(..., device='cpu', size=(2,))"


def test_only_classes_with_the_method_are_around_others() -> None:
    with pytest.raises(RuntimeError, match="must define a __torch_dispatch__ method"):
        torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))
    with pytest.raises(RuntimeError, match="memory format"):
        torch.Tensor._make_wrapper_subclass(Around, (2,), memory_format=torch.channels_last)


def test_without_the_class_there_is_no_data() -> None:
    with _C._DisableTorchDispatch(), pytest.raises(RuntimeError, match=r"no data"):
        Around(torch.ones(2)).sin()


def test_what_is_returned_of_writes() -> None:
    x, y = torch.ones(2), torch.zeros(2)
    aten = torch.ops.aten
    assert return_and_correct_aliasing(aten.add_.Tensor, (x, y), {}, y) is x
    assert return_and_correct_aliasing(aten.add.out, (x, y), {"out": x}, y) is x
    assert return_and_correct_aliasing(aten.add.Tensor, (x, y), {}, y) is y


def test_traceable_classes_name_their_parts() -> None:
    class Flat(Around):
        def __tensor_flatten__(self) -> Any:
            return ["inner"], None

        @staticmethod
        def __tensor_unflatten__(parts: Any, context: Any, size: Any, stride: Any) -> Any:
            return Flat(parts["inner"])

    assert is_traceable_wrapper_subclass(Flat(torch.ones(1)))
    assert not is_traceable_wrapper_subclass(Around(torch.ones(1)))
    assert not is_traceable_wrapper_subclass(torch.ones(1))


def test_they_are_freed() -> None:
    x = Around(torch.ones(2))
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_plain_calls_ask_no_class() -> None:
    assert class_dispatch.watch.classes
    (torch.ones(2, requires_grad=True) * 2).sum().backward()
    assert Around.seen == []


@pytest.mark.parametrize("way", ["pickle", "save", "in a list"])
def test_they_are_stored_with_what_they_are_around(way: str) -> None:
    x = Around(torch.arange(6.0).reshape(2, 3).t(), requires_grad=True)
    if way == "pickle":
        made = pickle.loads(pickle.dumps(x))
    else:
        file = io.BytesIO()
        torch.save([x, x.inner] if way == "in a list" else x, file)
        file.seek(0)
        made = torch.load(file, weights_only=False)
    if way == "in a list":
        made, inner = made
        assert made.inner.data_ptr() == inner.data_ptr()
    assert type(made) is Around
    assert made.requires_grad
    assert (made.shape, made.stride(), made.dtype) == (x.shape, x.stride(), x.dtype)
    assert made.inner.tolist() == x.inner.tolist()
    assert (made + made).inner.tolist() == (x + x).inner.tolist()


def test_files_with_them_are_safe() -> None:
    """A file may name a class only if it is said to be safe."""
    file = io.BytesIO()
    torch.save(Around(torch.ones(2)), file)
    with pytest.raises(pickle.UnpicklingError, match="Around"):
        torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    with torch.serialization.safe_globals([Around]):
        made = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    assert made.inner.tolist() == [1.0, 1.0]
