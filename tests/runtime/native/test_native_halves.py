"""Tensors of float16 and bfloat16 on the fast path: computed in float32, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradwright
from gradwright import native
from gradwright.nn import functional as F
from support.native_core import needs_core

pytestmark = needs_core

HALVES = [gradwright.float16, gradwright.bfloat16]
NUMPY = {gradwright.float16: np.dtype(np.float16), gradwright.bfloat16: np.dtype(ml_dtypes.bfloat16)}

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "alpha": lambda x, y: gradwright.sub(x, y, alpha=2),
    "number": lambda x, y: x * 0.3,
    "int": lambda x, y: 3 - x,
    "exp": lambda x, y: x.exp(),
    "gelu": lambda x, y: F.gelu(x),
    "product": lambda x, y: x @ y.t(),
    "linear": lambda x, y: F.linear(x, y, y[:, 0]),
    "sum": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(1, keepdim=True),
    "softmax": lambda x, y: gradwright._softmax(x, 1, False),
    "comparison": lambda x, y: x < y,
    "broadcast": lambda x, y: x / y[0],
    "zero-dim": lambda x, y: x * y[0, 0],
    "empty": lambda x, y: x[:0] + y[:0],
    "special": lambda x, y: gradwright.lgamma(x),
    "several results": lambda x, y: gradwright.native_layer_norm(x, (6,), y[0], y[1], 1e-5)[0],
}


def operands(dtype: gradwright.dtype) -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    x, y = (gradwright.tensor(generator.normal(0, 2, (4, 6)).astype(np.float32)).to(dtype) for _ in range(2))
    return x, y


def bits(x: Any) -> np.ndarray:
    """The elements as they are stored, so that zeros of both signs are told apart."""
    array: np.ndarray = x.detach()._array
    return array.view(np.uint16) if array.dtype.itemsize == 2 else array


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_results_are_those_of_float32_rounded_once(case: Callable[[Any, Any], Any], dtype: gradwright.dtype) -> None:
    x, y = operands(dtype)
    got, wide = case(x, y), case(x.float(), y.float())
    expected = wide.to(dtype) if wide.is_floating_point() else wide
    assert got.dtype is expected.dtype
    assert got.stride() == expected.stride()
    np.testing.assert_array_equal(bits(got), bits(expected))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_calls_take_the_fast_path(case: Callable[[Any, Any], Any]) -> None:
    x, y = operands(gradwright.bfloat16)
    calls = native.explain(lambda: case(x, y)).records
    assert calls
    assert all(call.fast for call in calls)


@pytest.mark.parametrize("dtype", HALVES)
def test_every_element_is_read_and_rounded_as_numpy_does(dtype: gradwright.dtype) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(NUMPY[dtype])
    some = np.random.default_rng(0).permutation(every)
    x, y = gradwright.tensor(every), gradwright.tensor(some)
    with np.errstate(all="ignore"):
        for got, wide in (
            (x * y, every.astype("f4") * some.astype("f4")),
            (x + y, every.astype("f4") + some.astype("f4")),
        ):
            expected = wide.astype(NUMPY[dtype])
            numbers = ~np.isnan(wide)
            np.testing.assert_array_equal(bits(got)[numbers], expected.view(np.uint16)[numbers])
            assert np.isnan(got.float().numpy()[~numbers]).all()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    "view", [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[:1].expand(3, 6), lambda x: x.flip(0)]
)
def test_layouts(view: Callable[[Any], Any], dtype: gradwright.dtype) -> None:
    x, _ = operands(dtype)
    got, expected = view(x).exp(), view(x.float()).exp().to(dtype)
    assert got.stride() == expected.stride()
    np.testing.assert_array_equal(bits(got), bits(expected))


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_are_recorded_for_the_arguments_as_they_are(dtype: gradwright.dtype) -> None:
    x, y = operands(dtype)
    x.requires_grad_()
    out = x * y
    assert out.grad_fn.name() == "MulBackward0"
    assert out.grad_fn._saved_other is y
    out.exp().sum().backward()
    assert x.grad.dtype is dtype
    np.testing.assert_array_equal(bits(x.grad), bits((x * y).exp() * y))


@pytest.mark.parametrize("dtype", HALVES)
def test_writes_in_place(dtype: gradwright.dtype) -> None:
    x, y = operands(dtype)
    whole, version = x.clone(), x._version
    part = x[1:3]
    call, *_ = native.explain(lambda: part.mul_(0.3)).records
    assert call.fast
    assert call.kernel == "native loop in float32"
    assert x._version == version + 1
    np.testing.assert_array_equal(bits(x[1:3]), bits(whole[1:3] * 0.3))
    np.testing.assert_array_equal(bits(x[3]), bits(whole[3]))
    leaf = y.clone().requires_grad_()
    inner = leaf * 1
    inner.mul_(whole)
    inner.sum().backward()
    np.testing.assert_array_equal(bits(leaf.grad), bits(whole))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.add_(1)


def test_results_are_written_into_given_tensors() -> None:
    x, y = operands(gradwright.bfloat16)
    out = gradwright.empty(4, 6, dtype=gradwright.bfloat16)
    assert gradwright.add(x, y, out=out) is out
    np.testing.assert_array_equal(bits(out), bits(x + y))
    wide = gradwright.empty(4, 6)
    gradwright.add(x, y, out=wide)
    np.testing.assert_array_equal(wide.numpy(), (x + y).float().numpy())


def test_other_arguments_go_the_general_way() -> None:
    x, y = operands(gradwright.float16)
    assert (x * y.float()).dtype is gradwright.float32
    assert (x * y.bfloat16()).dtype is gradwright.float32
    assert (x * gradwright.tensor(2.0, dtype=gradwright.float64)).dtype is gradwright.float16
    assert x.sum(dtype=gradwright.float64).dtype is gradwright.float64
    assert (x * gradwright.ones(6, dtype=gradwright.int64)).dtype is gradwright.float16


def test_errors_speak_of_the_arguments_as_they_are() -> None:
    x, y = operands(gradwright.float16)
    with pytest.raises(RuntimeError, match="4x6 and 4x6"):
        x @ y
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: c10::Half != float"):
        x @ y.t().float()


def test_kernels_that_are_registered_see_half_precision() -> None:
    x, _ = operands(gradwright.float16)
    seen = []
    library = gradwright.library.Library("aten", "IMPL")

    def sin(self: Any) -> Any:
        seen.append(self.dtype)
        return self

    with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
        library.impl("sin", sin, "CPU")
    try:
        gradwright.sin(x)
    finally:
        library._destroy()
    assert seen == [gradwright.float16]


def test_lists_with_bools_among_ints_are_refused() -> None:
    x = gradwright.ones(1, 1, 3, 5, 3, dtype=gradwright.bfloat16)
    with pytest.raises(TypeError, match="input_size"):
        gradwright.ops.upsample_nearest3d_backward(x, [3, 5, 3], (True, 1, 2, 3, 2))
