"""In-place operators: the entries of the native core against the Python functions behind them, and rules of both."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import Sample, sample_inputs
from runtime.base.tensor import Tensor
from runtime.load.operator_info import OperatorInfo
from support.native_core import needs_core


def inplace_function(info: OperatorInfo) -> Callable[..., Tensor]:
    assert info.inplace is not None
    base, _, overload = info.inplace.partition(".")
    function: Callable[..., Tensor] = getattr(operators, f"{base}_{overload or 'default'}")
    return function


ENTRIES = [i for i in OPERATORS.values() if i.inplace and hasattr(inplace_function(i), "__wrapped__")]


def outcome(function: Callable[..., Any], sample: Sample, recorded: bool) -> list[Any]:
    """All that can be seen of one call: the error, or the written Tensor with its history and its gradients."""
    gradwright.manual_seed(0)
    first = sample.args[0].detach().clone()
    leaf = first.requires_grad_() if recorded and first.is_floating_point() | first.is_complex() else first
    target = leaf.clone() if recorded else leaf
    try:
        result = function(target, *sample.args[1:], **sample.kwargs)
    except Exception as error:
        return [type(error), str(error), target._version, target.detach().numpy()]
    assert result is target
    node: Any = target.grad_fn
    found = [target.dtype, target._version, target.detach().numpy(), target.requires_grad, target.is_leaf]
    if node is not None:
        saved = sorted(name for name in dir(node) if name.startswith("_saved"))
        found += [node.name(), saved, [following.name() for following, _ in node.next_functions if following]]
        inputs = [t for t in (leaf, *sample.args[1:], *sample.kwargs.values()) if isinstance(t, Tensor)]
        inputs = [t for t in inputs if t.requires_grad]
        try:
            grads = gradwright.autograd.grad(target, inputs, gradwright.ones_like(target), allow_unused=True)
        except NotImplementedError as error:
            return [*found, str(error)]
        found += [None if grad is None else grad.numpy() for grad in grads]
    return found


@needs_core
def test_the_operators_that_training_uses_have_entries() -> None:
    names = {info.inplace for info in ENTRIES}
    assert {"add_.Tensor", "sub_.Tensor", "mul_.Tensor", "mul_.Scalar", "div_.Tensor", "addcmul_", "addcdiv_"} <= names
    assert {"lerp_.Scalar", "zero_", "fill_.Scalar", "copy_", "sqrt_", "neg_", "clamp_", "relu_"} <= names
    assert all("native" in repr(getattr(Tensor, name)) for name in ("add_", "mul_", "zero_", "relu_", "__isub__"))


# Samples that name dtypes are not for integers.
CASES = [
    pytest.param(info, dtype, id=f"{info.inplace}-{dtype}")
    for info in ENTRIES
    for dtype in ("float32", "float64", "complex64", "int64")
    if dtype != "int64" or all(text.startswith("T(") for text in info.samples)
]


@needs_core
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("info", "dtype"), CASES)
def test_an_entry_does_what_the_function_does(info: OperatorInfo, recorded: bool, dtype: str) -> None:
    function: Any = inplace_function(info)
    for sample in sample_inputs(info, dtype, requires_grad=recorded):
        found, wanted = outcome(function, sample, recorded), outcome(function.__wrapped__, sample, recorded)
        for have, want in zip(found, wanted, strict=True):
            if isinstance(want, np.ndarray):
                assert have.dtype == want.dtype
                limit = 8 * np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
                np.testing.assert_allclose(have, want, rtol=limit, atol=limit)
            else:
                assert have == want


# -- rules, with the core on and off


def test_a_write_is_counted_where_the_memory_is_shared() -> None:
    x = gradwright.zeros(2, 3)
    assert x.add_(1)._version == 1
    row = x[0]
    row.mul_(3)
    x -= 1
    assert (x._version, row._version) == (3, 3)
    assert x.tolist() == [[2, 2, 2], [0, 0, 0]]
    with gradwright.no_grad():
        x.detach().zero_()
    assert x._version == 4
    assert x.sum() == 0


def test_leaves_are_not_written_where_writes_are_recorded() -> None:
    x = gradwright.ones(2, requires_grad=True)
    writes: list[Callable[[], Any]] = [lambda: x.add_(1), lambda: x.relu_(), lambda: x.zero_(), lambda: x[0].mul_(2)]
    for write in writes:
        with pytest.raises(RuntimeError, match=r"a (view of a )?leaf Variable that requires grad is being used in an"):
            write()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x += 1
    with gradwright.no_grad():
        x -= 0.5
        x[0].fill_(7)
    assert x.tolist() == [7, 0.5]
    assert (x._version, x.is_leaf, x.requires_grad) == (2, True, True)
    other = gradwright.ones(2)
    other.add_(x)  # no leaf that requires grad, but it gets a history
    assert other.grad_fn is not None


def test_a_view_that_was_made_without_grad_is_not_written_with_it() -> None:
    x = gradwright.ones(3, requires_grad=True) * 1
    with gradwright.no_grad():
        view = x[:2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        view.add_(1)
    x.add_(1)  # and now the view is stale
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        view.sum().backward()


def test_a_recorded_write_has_the_gradient_of_what_it_computes() -> None:
    makers: list[Callable[[Tensor], Any]] = [
        lambda y: y.mul_(y),
        lambda y: y.mul_(y[:, :1]),
        lambda y: y.sub_(y, alpha=3),
    ]
    for make in makers:
        x = gradwright.arange(4.0).reshape(2, 2).requires_grad_()
        y = x * 1
        make(y)
        with contextlib.suppress(RuntimeError):  # what is needed was overwritten
            y.sum().backward()
        assert x.grad is None or x.grad.tolist() == [[-2, -2], [-2, -2]]
    x = gradwright.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 1
    y.relu_().add_(x, alpha=2).mul_(y.detach() * 0 + 3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()  # relu needs its result
    y = x * 1
    y.abs_().add_(x, alpha=2).div_(2)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.5, 1.5]
    z = (x * 1).exp_()
    z.neg_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_arguments_may_lie_in_the_places_that_are_written() -> None:
    def fresh() -> Tensor:
        return gradwright.arange(1.0, 10.0).reshape(3, 3)

    values = fresh().numpy()
    cases: list[tuple[Callable[[Tensor], Tensor], Any]] = [
        (lambda x: x.add_(x), values + values),
        (lambda x: x.mul_(x.view(3, 3)), values * values),
        (lambda x: x.t().mul_(x.t()), values.T * values.T),
        (lambda x: x[0].add_(x[1]), values[0] + values[1]),
        (lambda x: x.sub_(x[:, :1]), values - values[:, :1]),  # it has gaps, and nobody can tell
    ]
    for write, wanted in cases:
        np.testing.assert_array_equal(write(fresh()).numpy(), wanted)


@pytest.mark.parametrize("recorded", [False, True])
def test_arguments_must_not_lie_over_a_part_of_what_is_written(recorded: bool) -> None:
    cases: list[Callable[[Tensor], Any]] = [
        lambda x: x.mul_(x.t()),
        lambda x: x.mul_(x[1]),
        lambda x: x.div_(x[0, 1]),
        lambda x: x.copy_(x.t()),
        lambda x: x.addcmul_(x, x.t(), value=2),
        lambda x: x.lerp_(x.t(), 0.25),
        lambda x: x.view(9)[1:].add_(x.view(9)[:-1]),
        lambda x: x.t().mul_(x),
        lambda x: x.detach()[1:].mul_(x[:2]),
        lambda x: x.clamp_(x[1]),
        lambda x: x.view(9)[1:].index_put_((gradwright.arange(8),), x.view(9)[:-1]),
        lambda x: x.view(9).__setitem__(slice(1, None), x.view(9)[:-1]),
        lambda x: x.__setitem__(slice(None), x.t()),
    ]
    for write in cases:
        x = gradwright.arange(1.0, 10.0).reshape(3, 3).requires_grad_(recorded) * 1
        before, version = x.tolist(), x._version
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer"):
            write(x)
        assert (x.tolist(), x._version) == (before, version)


def test_memory_that_is_written_twice_is_refused() -> None:
    x = gradwright.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.add_(1)
    x.zero_()
    assert x.tolist() == [0, 0, 0]


def test_shapes_and_dtypes_of_the_target_stay() -> None:
    x = gradwright.ones(2, 1)
    with pytest.raises(RuntimeError, match=r"output with shape \[2, 1\] doesn't match the broadcast shape \[2, 3\]"):
        x.add_(gradwright.ones(2, 3))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        gradwright.ones(2, dtype=gradwright.int64).mul_(gradwright.ones(2))
    assert gradwright.ones(2).mul_(gradwright.ones(2, dtype=gradwright.float64) * 3).dtype is gradwright.float32
    assert (x._version, x.tolist()) == (0, [[1], [1]])
    assert gradwright.ones(2, dtype=gradwright.int64).add_(2).tolist() == [3, 3]
    assert gradwright.zeros(0, 3).add_(gradwright.ones(3))._version == 1
    scalar = gradwright.tensor(2.0)
    scalar *= 3
    assert (scalar.item(), scalar.dim()) == (6, 0)


def test_special_values_are_numpys() -> None:
    special = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.0, -1.0, 3e38]
    left, right = (
        gradwright.tensor(list(values)) for values in zip(*[(a, b) for a in special for b in special], strict=True)
    )
    a, b = left.numpy().copy(), right.numpy().copy()
    with np.errstate(all="ignore"):
        pairs: list[tuple[Tensor, Any]] = [
            (left.clone().add_(right), a + b),
            (left.clone().mul_(right), a * b),
            (left.clone().div_(right), a / b),
            (left.clone().sub_(right, alpha=2), a - b * np.float32(2)),
            (left.clone().addcdiv_(left, right, value=-1), a + a / b * np.float32(-1)),
            (left.clone().sqrt_(), np.sqrt(a)),
            (left.clone().clamp_(-1, 1), np.clip(a, -1, 1)),
            (left.clone().clamp_(min=float("nan")), np.full_like(a, np.nan)),
            (left.clone().relu_(), np.where(np.isnan(a), a, np.maximum(a, 0))),
        ]
    for found, wanted in pairs:
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_inference_tensors_are_written_in_inference_mode_only() -> None:
    with gradwright.inference_mode():
        x = gradwright.ones(2) * 1
        x.add_(1)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        x.add_(1)
    assert x.tolist() == [2, 2]


def test_subclasses_and_numpy_operands_take_the_general_path() -> None:
    x: Any = gradwright.nn.Parameter(gradwright.ones(2))
    with gradwright.no_grad():
        x -= np.float32(0.5)
        x += gradwright.nn.Parameter(gradwright.ones(2))
    assert x.tolist() == [1.5, 1.5]
    assert type(x) is gradwright.nn.Parameter
    text: Any = "text"
    with pytest.raises(TypeError, match=r"\+="):
        x += text  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"\*="):
        x *= text  # type: ignore[misc]


def test_memory_stays_flat() -> None:
    x = gradwright.ones(4, requires_grad=True)
    other = gradwright.ones(4)
    optimizer = gradwright.optim.Adam([x], 0.01)

    def work() -> None:
        y = x * 2
        y.mul_(other).add_(x, alpha=2).div_(2)
        y.sub_(gradwright.ones(4, 1)[0]).view(2, 2).neg_()
        y.sum().backward()
        optimizer.step()
        with gradwright.no_grad(), contextlib.suppress(RuntimeError):
            x.mul_(0.5).copy_(other).add_(gradwright.ones(2, 4))
        x.grad = None

    for _ in range(100):
        work()
    gc.collect()
    before = sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(other)
    for _ in range(1000):
        work()
    gc.collect()
    after = sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(other)
    assert after[0] - before[0] < 300
    assert after[1:] == before[1:]
