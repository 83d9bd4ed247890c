"""Results written into given Tensors: dtypes, shapes, and memory that is read and written in one call."""

from __future__ import annotations

from typing import Any

import pytest

import runtime

# -- what `out=` may be


@pytest.mark.parametrize(
    ("name", "args", "dtype"),
    [
        ("neg", (runtime.ones(2),), runtime.float64),
        ("nonzero", (runtime.ones(2),), runtime.float32),
        ("all", (runtime.ones(2) > 0,), runtime.float32),
        ("isposinf", (runtime.ones(2),), runtime.int64),
        ("mm", (runtime.ones(2, 2), runtime.ones(2, 2)), runtime.float64),
        ("argmax", (runtime.ones(2),), runtime.int32),
        ("where", (runtime.ones(2) > 0, runtime.ones(2), runtime.ones(2)), runtime.float64),
    ],
)
def test_out_has_the_dtype_of_the_result(name: str, args: tuple[Any, ...], dtype: Any) -> None:
    out = runtime.zeros(0, dtype=dtype)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        getattr(runtime, name)(*args, out=out)
    assert out.shape == (0,)


def test_out_of_element_wise_operators_takes_what_can_be_cast_to_it() -> None:
    x = runtime.tensor([1.0, 2.0])
    for dtype in (runtime.float64, runtime.float16, runtime.complex64):
        assert runtime.sin(x, out=runtime.zeros(2, dtype=dtype)).dtype is dtype
        assert runtime.add(x, 1, out=runtime.zeros(2, dtype=dtype)).dtype is dtype
    for dtype in (runtime.int64, runtime.bool):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
            runtime.sin(x, out=runtime.zeros(2, dtype=dtype))
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast"):
        runtime.cat([x * 1j], out=runtime.zeros(2))


def test_operators_that_take_a_dtype_compute_in_that_of_out() -> None:
    whole = runtime.tensor([1, 2])
    assert runtime.cumsum(whole, 0, out=runtime.zeros(2)).tolist() == [1.0, 3.0]
    assert runtime.mean(whole, 0, out=runtime.zeros(())).item() == 1.5
    assert runtime.full((2,), 1.5, out=runtime.zeros(2, dtype=runtime.int64)).tolist() == [1, 1]
    assert runtime.arange(3, out=runtime.zeros(3)).tolist() == [0.0, 1.0, 2.0]
    assert runtime.eye(2, out=runtime.zeros(2, 2, dtype=runtime.complex64)).dtype is runtime.complex64
    assert runtime.randperm(3, out=runtime.zeros(3)).dtype is runtime.float32
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        runtime.zeros(2, dtype=runtime.float64, out=runtime.zeros(2))


def test_out_of_another_shape_is_resized_with_a_warning() -> None:
    out = runtime.zeros(5)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape"):
        runtime.exp(runtime.ones(2, 3).t(), out=out)
    assert out.shape == (3, 2)
    assert out.stride() == (1, 3)
    empty = runtime.zeros(0)
    assert runtime.exp(runtime.zeros(2), out=empty).tolist() == [1, 1]


PART = "some elements of the input tensor and the written-to tensor refer to a single memory location"
TWICE = "more than one element of the written-to tensor refers to a single memory location"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: runtime.sin(x[:2], out=x[1:]), PART),
        (lambda x: runtime.sin(x, out=x.t()), PART),
        (lambda x: runtime.cumsum(x[:2], 0, out=x[1:]), PART),
        (lambda x: runtime.cat([x[:1], x[1:]], out=x), PART),
        (lambda x: runtime.cat([x, x], out=runtime.zeros(1).expand(6, 3)), TWICE),
        (lambda x: runtime.sin(x, out=runtime.zeros(3).expand(3, 3)), TWICE),
        (lambda x: x[:2].mul_(x[1:]), PART),
        (lambda x: x.mul_(x[0]), PART),
        (lambda x: x[:1].expand(3, 3).mul_(2), TWICE),
        (lambda x: x.index_add_(0, runtime.tensor([0, 1, 2]), x), PART),
        (lambda x: x.__setitem__(slice(1, None), x[:2]), PART),
    ],
)
def test_writes_to_memory_that_is_read_in_other_places_are_refused(call: Any, message: str) -> None:
    x = runtime.arange(9.0).reshape(3, 3)
    version = x._version
    with pytest.raises(RuntimeError, match=message):
        call(x)
    assert x.tolist() == runtime.arange(9.0).reshape(3, 3).tolist()
    assert x._version == version


def test_writes_to_the_places_that_are_read_are_allowed() -> None:
    x = runtime.arange(4.0).reshape(2, 2)
    assert runtime.exp(x, out=x) is x
    assert runtime.mul(x[0], x[1], out=x[1]).tolist() == x[1].tolist()
    x.mul_(x).add_(x.view(2, 2))
    x[0] = x[1]
    x[:] = x
    assert x[0].tolist() == x[1].tolist()
