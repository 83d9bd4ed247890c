"""Results written into given Tensors: dtypes, shapes, and memory that is read and written in one call."""

from __future__ import annotations

from typing import Any

import pytest

import gradwright

# -- what `out=` may be


@pytest.mark.parametrize(
    ("name", "args", "dtype"),
    [
        ("neg", (gradwright.ones(2),), gradwright.float64),
        ("nonzero", (gradwright.ones(2),), gradwright.float32),
        ("all", (gradwright.ones(2) > 0,), gradwright.float32),
        ("isposinf", (gradwright.ones(2),), gradwright.int64),
        ("mm", (gradwright.ones(2, 2), gradwright.ones(2, 2)), gradwright.float64),
        ("argmax", (gradwright.ones(2),), gradwright.int32),
        ("where", (gradwright.ones(2) > 0, gradwright.ones(2), gradwright.ones(2)), gradwright.float64),
    ],
)
def test_out_has_the_dtype_of_the_result(name: str, args: tuple[Any, ...], dtype: Any) -> None:
    out = gradwright.zeros(0, dtype=dtype)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        getattr(gradwright, name)(*args, out=out)
    assert out.shape == (0,)


def test_out_of_element_wise_operators_takes_what_can_be_cast_to_it() -> None:
    x = gradwright.tensor([1.0, 2.0])
    for dtype in (gradwright.float64, gradwright.float16, gradwright.complex64):
        assert gradwright.sin(x, out=gradwright.zeros(2, dtype=dtype)).dtype is dtype
        assert gradwright.add(x, 1, out=gradwright.zeros(2, dtype=dtype)).dtype is dtype
    for dtype in (gradwright.int64, gradwright.bool):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
            gradwright.sin(x, out=gradwright.zeros(2, dtype=dtype))
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast"):
        gradwright.cat([x * 1j], out=gradwright.zeros(2))


def test_operators_that_take_a_dtype_compute_in_that_of_out() -> None:
    whole = gradwright.tensor([1, 2])
    assert gradwright.cumsum(whole, 0, out=gradwright.zeros(2)).tolist() == [1.0, 3.0]
    assert gradwright.mean(whole, 0, out=gradwright.zeros(())).item() == 1.5
    assert gradwright.full((2,), 1.5, out=gradwright.zeros(2, dtype=gradwright.int64)).tolist() == [1, 1]
    assert gradwright.arange(3, out=gradwright.zeros(3)).tolist() == [0.0, 1.0, 2.0]
    assert gradwright.eye(2, out=gradwright.zeros(2, 2, dtype=gradwright.complex64)).dtype is gradwright.complex64
    assert gradwright.randperm(3, out=gradwright.zeros(3)).dtype is gradwright.float32
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        gradwright.zeros(2, dtype=gradwright.float64, out=gradwright.zeros(2))


def test_out_of_another_shape_is_resized_with_a_warning() -> None:
    out = gradwright.zeros(5)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape"):
        gradwright.exp(gradwright.ones(2, 3).t(), out=out)
    assert out.shape == (3, 2)
    assert out.stride() == (1, 3)
    empty = gradwright.zeros(0)
    assert gradwright.exp(gradwright.zeros(2), out=empty).tolist() == [1, 1]


PART = "some elements of the input tensor and the written-to tensor refer to a single memory location"
TWICE = "more than one element of the written-to tensor refers to a single memory location"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: gradwright.sin(x[:2], out=x[1:]), PART),
        (lambda x: gradwright.sin(x, out=x.t()), PART),
        (lambda x: gradwright.cumsum(x[:2], 0, out=x[1:]), PART),
        (lambda x: gradwright.cat([x[:1], x[1:]], out=x), PART),
        (lambda x: gradwright.cat([x, x], out=gradwright.zeros(1).expand(6, 3)), TWICE),
        (lambda x: gradwright.sin(x, out=gradwright.zeros(3).expand(3, 3)), TWICE),
        (lambda x: x[:2].mul_(x[1:]), PART),
        (lambda x: x.mul_(x[0]), PART),
        (lambda x: x[:1].expand(3, 3).mul_(2), TWICE),
        (lambda x: x.index_add_(0, gradwright.tensor([0, 1, 2]), x), PART),
        (lambda x: x.__setitem__(slice(1, None), x[:2]), PART),
    ],
)
def test_writes_to_memory_that_is_read_in_other_places_are_refused(call: Any, message: str) -> None:
    x = gradwright.arange(9.0).reshape(3, 3)
    version = x._version
    with pytest.raises(RuntimeError, match=message):
        call(x)
    assert x.tolist() == gradwright.arange(9.0).reshape(3, 3).tolist()
    assert x._version == version


def test_writes_to_the_places_that_are_read_are_allowed() -> None:
    x = gradwright.arange(4.0).reshape(2, 2)
    assert gradwright.exp(x, out=x) is x
    assert gradwright.mul(x[0], x[1], out=x[1]).tolist() == x[1].tolist()
    x.mul_(x).add_(x.view(2, 2))
    x[0] = x[1]
    x[:] = x
    assert x[0].tolist() == x[1].tolist()
