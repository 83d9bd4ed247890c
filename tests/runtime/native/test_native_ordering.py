"""Sorting: the native loops against the Python kernels, to the last bit and the order of equal elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from gradwright import native
from runtime.base.tensor import Tensor, wrap
from support.native_core import needs_core

pytestmark = needs_core

Array = np.ndarray[Any, Any]
SHAPES = ((1,), (7,), (0,), (64,), (65,), (1000,), (3, 5), (5, 0), (0, 5), (2, 70, 3), (4, 1, 6), (70, 90), ())
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "dense": lambda a: a,
    "turned": lambda a: np.ascontiguousarray(a.T).T,
    "backwards": lambda a: a[..., ::-1] if a.ndim else a,
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and a.shape[0] else a,
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, a.size, 1).reshape(a.shape),
}


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    random = np.random.default_rng(len(shape))
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        array = np.asarray(random.integers(limits.min, limits.max, shape, dtype, endpoint=True))
        array[random.random(shape) < 0.5] //= 2 ** (limits.bits - 4)
        return array
    if dtype == "?":
        return np.asarray(random.random(shape) < 0.5)
    array = np.asarray(random.normal(size=shape).astype(dtype))
    array[random.random(shape) < 0.5] = 1
    for value in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).smallest_subnormal):
        array[random.random(shape) < 0.05] = value
    return array


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        results = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    results = (results,) if isinstance(results, Tensor) else results
    return [
        (r.dtype, r.shape, r.stride(), r.detach().numpy().tobytes(), r.grad_fn and r.grad_fn.name()) for r in results
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "i2", "f2", "?"])
def test_sorting(dtype: str, layout: str) -> None:
    worked = 0
    for shape, down in itertools.product(SHAPES, (False, True)):
        x = wrap(LAYOUTS[layout](numbers(shape, dtype)))
        for dim in range(-len(shape) - 1, len(shape) + 1):
            calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
                (operators.sort_default, (x, dim, down), {}),
                (operators.sort_stable, (x,), {"stable": True, "dim": dim, "descending": down}),
                (operators.argsort_default, (x, dim, down), {}),
                *((operators.topk_default, (x, k, dim, down), {}) for k in (0, 1, 3, 60)),
            ]
            for function, args, kwargs in calls:
                found = outcome(function, *args, **kwargs)
                assert found == outcome(function.__wrapped__, *args, **kwargs), (function, shape, dim, down)
                worked += isinstance(found, list)
    assert worked > 100


def test_the_loops_are_taken() -> None:
    x = gradwright.rand(3, 4, requires_grad=True)
    told = native.explain(lambda: (x.sort(0), x.argsort(), x.topk(2), x.sort(stable=True)))
    assert {call.kernel for call in told.records} == {"native loop", "operators"}, told


def test_threads() -> None:
    x = wrap(numbers((300, 500), "f4"))
    wanted = outcome(operators.sort_default.__wrapped__, x, 0, True)
    before = gradwright.get_num_threads()
    try:
        for threads in (1, 4):
            gradwright.set_num_threads(threads)
            assert outcome(operators.sort_default, x, 0, True) == wanted
    finally:
        gradwright.set_num_threads(before)


def test_histories() -> None:
    x, y = gradwright.rand(3, 9, requires_grad=True), gradwright.rand(3, 9)
    for function in (operators.sort_default, operators.sort_default.__wrapped__):
        x.grad = None
        (function(x, 1, True)[0] * y).sum().backward()
        assert x.grad is not None
        order = (-x.detach().numpy()).argsort(1).argsort(1)
        assert x.grad.tolist() == np.take_along_axis(y.numpy(), order, 1).tolist()
