"""Tensors made from sizes and numbers: values, dtypes and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from support.both import assert_same

INFINITY = float("inf")
NUMBERS = [0, 1, 5, -3, 2.5, -0.5, INFINITY, float("nan"), True, 1 + 2j, 1e300, 2**40, 2**62]
DTYPES = [None, "float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "float16"]


def options(library: Any, dtype: str | None) -> dict[str, Any]:
    return {} if dtype is None else {"dtype": getattr(library, dtype)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS)
def test_one_value_throughout(number: Any, dtype: str | None) -> None:
    assert_same(lambda library: library.full((2, 3), number, **options(library, dtype)))
    assert_same(lambda library: library.full_like(library.zeros(2), number, **options(library, dtype)))
    if dtype != "float16":  # PyTorch makes infinity of what does not fit
        assert_same(lambda library: library.scalar_tensor(number, **options(library, dtype)))


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("step", [1, 2, -1, 0.5, -1.5, 0])
def test_ranges(step: float, dtype: str | None) -> None:
    for start, end in itertools.product([0, 1, -3, 2.5, 5], [0, 4, 7.3, -2, 5]):
        assert_same(lambda library, a=start, b=end: library.arange(a, b, step, **options(library, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0, 1, 5, -3, 2.5, True])
def test_series(number: Any, dtype: str | None) -> None:
    assert_same(lambda library: library.arange(number, **options(library, dtype)))
    for steps in (-1, 1, 2, 5):
        assert_same(lambda library, k=steps: library.linspace(number, 4, k, **options(library, dtype)))


@pytest.mark.parametrize("dtype", [None, "float32", "int64", "int32"])
@pytest.mark.parametrize("number", [INFINITY, -INFINITY, float("nan")])
def test_series_without_an_end(number: float, dtype: str | None) -> None:
    assert_same(lambda library: library.arange(number, **options(library, dtype)))
    assert_same(lambda library: library.linspace(number, 4, 3, **options(library, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 3, -1, True, 2.0])
def test_sizes(size: Any, dtype: str | None) -> None:
    assert_same(lambda library: library.eye(size, **options(library, dtype)))
    assert_same(lambda library: library.eye(size, 2, **options(library, dtype)))
    for name in ("zeros", "ones"):
        assert_same(lambda library, n=name: getattr(library, n)(size, 2, **options(library, dtype)))
        assert_same(lambda library, n=name: getattr(library, n)([size, 2], **options(library, dtype)))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.zeros(),
        lambda t: t.zeros(()),
        lambda t: t.zeros([]),
        lambda t: t.zeros(2, dtype=None),
        lambda t: t.zeros(size=(2, 3)),
        lambda t: t.zeros([2], 3),
        lambda t: t.zeros((2, 3), t.float64),
        lambda t: t.zeros(2, 3, out=t.ones(2, 3)),
        lambda t: t.zeros(2, 3, device="cpu"),
        lambda t: t.zeros(2, 3, requires_grad=True),
        lambda t: t.zeros(2, 3, dtype=t.float64, requires_grad=True),
        lambda t: t.zeros(2, dtype=t.int64, requires_grad=True),
        lambda t: t.zeros(2, 3, unknown=1),
        lambda t: t.zeros(1 << 40, 1 << 40),
        lambda t: t.rand(1 << 40, 1 << 40),
        lambda t: t.zeros(2, dtype=float),
        lambda t: t.full((2,), 1, dtype=bool),
        lambda t: t.arange(3, dtype=int),
        lambda t: t.zeros_like(t.ones(2), dtype=complex),
        lambda t: t.ones(2).sum(dtype=float),
        lambda t: t.zeros(2, dtype=str),
        lambda t: t.zeros(2, dtype="float32"),
        lambda t: t.arange(),
        lambda t: t.arange(1, 2, 3, 4),
        lambda t: t.arange(end=3),
        lambda t: t.arange(3, dtype=t.float32, requires_grad=True),
        lambda t: t.full((2,), "a"),
        lambda t: t.full((2,), 1.0, requires_grad=True),
        lambda t: t.full(size=(2,), fill_value=3),
        lambda t: t.full((2,), t.tensor(3)),
        lambda t: t.zeros_like(t.ones(2), dtype=t.int64),
        lambda t: t.ones_like(t.ones(2), dtype=t.float64, requires_grad=True),
        lambda t: t.ones(2).new_zeros(3, 4),
        lambda t: t.ones(2).new_zeros(3, 4, dtype=t.int64),
        lambda t: t.ones(2).new_full((2,), 3),
        lambda t: t.randint(5, (3,), dtype=None) * 0,
        lambda t: t.randint(2, 5, (3,), generator=None) * 0,
        lambda t: t.randint(5, 2, (3,)),
        lambda t: t.randint_like(t.ones(2), 5) * 0,
        lambda t: t.randperm(5).sort()[0],
        lambda t: t.rand(2, 3, dtype=t.float64) * 0,
        lambda t: t.rand(2, dtype=t.int64),
        lambda t: t.randn((2, 3), requires_grad=True) * 0,
        lambda t: t.randn(2, generator=None) * 0,
        lambda t: t.rand_like(t.ones(3)) * 0,
        lambda t: t.bernoulli(t.zeros(3)),
        lambda t: t.bernoulli(t.ones(3) * 2),
        lambda t: t.bernoulli(t.ones(3, requires_grad=True)),
        lambda t: t.normal(0.0, 0.0, (3,)),
        lambda t: t.normal(t.zeros(3), 0.0),
        lambda t: t.logspace(0, 2, 3),
        lambda t: t.tril_indices(3, 3),
        lambda t: t.multinomial(t.tensor([0.0, 1.0]), 1),
    ],
)
def test_calls_in_many_forms(make: Callable[[Any], Any]) -> None:
    assert_same(make)


@pytest.mark.parametrize(
    "make", [lambda t: t.rand(2), lambda t: t.bernoulli(t.ones(2)), lambda t: t.randn_like(t.ones(2))]
)
@pytest.mark.parametrize("randomness", ["error", "same", "different"])
def test_random_numbers_in_a_batch(make: Callable[[Any], Any], randomness: str) -> None:
    def shapes(library: Any) -> Any:
        return (library.vmap(lambda x: make(library) + x, randomness=randomness)(library.zeros(3)) * 0).shape

    assert_same(shapes)
