"""Native copies into other layouts: the elements, dtypes and strides that the Python kernels give, for any elements."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import gradwright
from gradwright import native, ops
from runtime.base import layouts
from runtime.base.tensor import Tensor, wrap
from runtime.operators.kernels import linalg, rearrange
from support.native_core import needs_core

pytestmark = needs_core

Array = NDArray[Any]
Arguments = Callable[[random.Random, Array], tuple[Any, ...]]

DTYPES = ("?", "i1", "u1", "i2", "f2", ml_dtypes.bfloat16, "i4", "f4", ">f4", "i8", "f8", "c8", "c16", "g")
# Around the sides of tiles, and of what is short for rows.
SIDES = (1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70, 129)


def some_dims(rng: random.Random, array: Array) -> tuple[int, ...]:
    dims = rng.sample(range(array.ndim), rng.randint(0, array.ndim))
    return tuple(rng.choice([dim, dim - array.ndim]) for dim in dims)


def rolled(rng: random.Random, array: Array) -> tuple[Any, ...]:
    dims = some_dims(rng, array)
    dims += rng.choice([(), dims[:1]])  # one may be named twice
    return ([rng.randint(-9, 9) for _ in dims] or [rng.randint(-9, 9)], dims)


def other_shape(rng: random.Random, array: Array) -> tuple[Any, ...]:
    return (rng.choice([array.shape, (-1,), (1, array.size), array.shape[::-1]]),)


KERNELS: dict[str, tuple[Any, Callable[..., Array], Arguments]] = {
    "clone": (ops.clone, rearrange.clone, lambda rng, array: ()),
    "reshape_copy": (ops._reshape_copy, rearrange.reshape_copy, other_shape),
    "flip": (ops.flip, rearrange.flip, lambda rng, array: (some_dims(rng, array),)),
    "roll": (ops.roll, rearrange.roll, rolled),
    "tril": (ops.tril, linalg.tril, lambda rng, array: (rng.randint(-5, 5),)),
    "triu": (ops.triu, linalg.triu, lambda rng, array: (rng.randint(-5, 5),)),
}


def values(shape: tuple[int, ...], dtype: Any) -> Array:
    """Different bytes in every element."""
    item = np.dtype(dtype).itemsize
    count = int(np.prod(shape))
    if np.dtype(dtype).kind == "b":
        return np.asarray(np.arange(count) % 3 == 0).reshape(shape)
    data = (np.arange(count * item, dtype=np.int64) * 2654435761 >> 7).astype(np.uint8)
    return data.view(dtype).reshape(shape)


def laid_out(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of any layout: other orders, steps, turned, repeated, read-only, not aligned."""
    form = rng.choice(["dense", "permuted", "permuted", "cut", "turned", "repeated", "not aligned", "read-only"])
    if form == "permuted":
        order = rng.sample(range(len(shape)), len(shape))
        return values(tuple(shape[dim] for dim in order), dtype).transpose(np.argsort(order).astype(int))
    if form == "cut":
        return values(tuple(2 * size for size in shape), dtype)[(..., *(slice(None, None, 2) for _ in shape))]
    if form == "turned":
        return values(shape, dtype)[(..., *(slice(None, None, rng.choice([1, -1])) for _ in shape))]
    if form == "repeated":
        kept = tuple(rng.choice([1, size]) for size in shape)
        return np.broadcast_to(values(kept, dtype), shape)
    array = values(shape, dtype)
    if form == "not aligned":
        memory = np.empty(array.nbytes + 1, np.uint8)[1:].view(dtype).reshape(shape)
        memory[...] = array
        return memory
    array.flags.writeable = form != "read-only"
    return array


def check(found: Tensor, expected: Array) -> None:
    array = found._array
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    for size, stride, wanted in zip(array.shape, array.strides, expected.strides, strict=True):
        assert stride == wanted or size == 1 or not array.size  # others tell nothing
    assert array.tobytes() == expected.tobytes()
    assert array.flags.writeable


def compare(rng: random.Random, name: str, array: Array) -> bool:
    function, kernel, arguments = KERNELS[name]
    given = arguments(rng, array)
    try:
        expected = kernel(array, *given)
    except (RuntimeError, IndexError) as error:
        with pytest.raises(type(error)):
            function(wrap(array), *given)
        return False
    found = function(wrap(array), *given)
    check(found, layouts.iterated(expected, array) if name in ("clone", "flip") else layouts.contiguous(expected))
    assert not np.shares_memory(found._array, array)
    return True


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    rng = random.Random(name)
    worked = 0
    for number in range(600):
        shape = tuple(rng.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(rng.randrange(2 if "tri" in name else 0, 5)))
        worked += compare(rng, name, laid_out(rng, shape, DTYPES[number % len(DTYPES)]))
    assert worked > 300


@pytest.mark.parametrize("dtype", DTYPES)
def test_tiles(dtype: Any) -> None:
    rng = random.Random(str(dtype))
    for _ in range(60):
        shape = (rng.choice(SIDES), rng.choice(SIDES), rng.choice([1, 1, 2, 9]))
        compare(rng, "reshape_copy", laid_out(rng, shape, dtype))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_large(name: str, threads: int) -> None:
    rng = random.Random(name)
    before = gradwright.get_num_threads()
    gradwright.set_num_threads(threads)
    try:
        for shape in [(100_003,), (300, 401), (3, 70_001), (70_001, 3), (60, 20, 70), (1, 200_000)]:
            for dtype in ("f4", "i1", "c16"):
                if len(shape) > 1 or "tri" not in name:
                    compare(rng, name, laid_out(rng, shape, dtype))
    finally:
        gradwright.set_num_threads(before)


def test_the_kernels_are_native() -> None:
    x = gradwright.randn(6, 6)
    calls = native.explain(
        lambda: (
            (ops.clone(x.t()), ops._reshape_copy(x.t(), (36,)), x.flip(0)),
            (x.roll(1, 0), x.roll(2), x.tril(), x.triu()),
        )
    ).records
    names = [call.name for call in calls if call.kernel == "native loop"]
    assert names == ["t", "clone", "t", "_reshape_copy", "flip", "roll", "roll", "tril", "triu"]


def test_python_objects_are_left_to_python() -> None:
    array = np.array([[[], "a"], [1, None]], dtype=object)
    assert ops.clone(wrap(array.T))._array.tolist() == array.T.tolist()


def test_many_dimensions() -> None:
    array = np.arange(8).reshape([1] * 17 + [2, 2, 2]).transpose(*range(17), 19, 18, 17)
    check(ops.clone(wrap(array)), layouts.iterated(array.copy("K"), array))
    check(ops.flip(wrap(array), (17, 19)), layouts.iterated(np.flip(array, (17, 19)).copy(), array))


def test_a_flipped_dimension_of_size_one_is_copied() -> None:
    x = gradwright.ones(2, 1)
    for y in [x.flip(1), wrap(rearrange.flip(x._array, (1,))), wrap(rearrange.flip(x._array, ()))]:
        y.add_(1)
        assert x.tolist() == [[1.0], [1.0]]


def test_copies_in_place() -> None:
    rng = random.Random(0)
    for _ in range(300):
        shape = tuple(rng.choice([0, 1, 2, 5, 40]) for _ in range(rng.randrange(4)))
        target, source = (laid_out(rng, shape, "f4") for _ in range(2))
        if not target.flags.writeable or 0 in target.strides:
            continue
        wrap(target).copy_(wrap(source))
        assert target.tobytes() == source.tobytes()


def test_copies_of_what_overlaps() -> None:
    memory = np.arange(4.0)
    x = gradwright.from_numpy(memory)
    x.copy_(x.flip(0))
    assert memory.tolist() == [3.0, 2.0, 1.0, 0.0]
    y = np.arange(6.0)
    gradwright.from_numpy(y[1:]).copy_(gradwright.from_numpy(y[:-1]))
    assert y.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    z = np.arange(4.0).reshape(2, 2)
    gradwright.from_numpy(z).copy_(gradwright.from_numpy(z.T))
    assert z.tolist() == [[0.0, 2.0], [1.0, 3.0]]
    backwards = np.arange(5.0)
    gradwright.from_numpy(backwards).copy_(wrap(backwards[::-1]))
    assert backwards.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]


def test_gradients_in_the_layout_of_the_leaf() -> None:
    memory = np.arange(12.0, dtype="f4").reshape(3, 4)
    for array in (memory, memory.T, memory[:, ::2], np.broadcast_to(memory[:1], (3, 4))):
        x = wrap(array).requires_grad_()
        weights = values(array.shape[::-1], "i1").astype("f4")
        (x.t() * wrap(weights)).sum().backward()
        assert x.grad._array.tolist() == weights.T.tolist()
        assert x.grad._array.strides == np.empty_like(array).strides


def joined(rng: random.Random, dtype: Any) -> tuple[list[Array], int]:
    """Arrays for cat, of different lengths in one dimension, most of them dense, so that a native loop has work."""
    ndim = rng.randint(1, 4)
    shape = [rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(ndim)]
    dim = rng.randrange(ndim)
    shapes = [(*shape[:dim], rng.choice([0, 1, 4]), *shape[dim + 1 :]) for _ in range(rng.randint(1, 4))]
    dense = rng.random() < 0.6
    return [values(s, dtype) if dense else laid_out(rng, s, dtype) for s in shapes], rng.choice([dim, dim - ndim])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_cat_and_stack(dtype: Any) -> None:
    rng = random.Random(str(dtype))
    for _ in range(150):
        arrays, dim = joined(rng, dtype)
        compare_joins(ops.cat, rearrange.cat, arrays, dim)
        equal = [laid_out(rng, arrays[0].shape, dtype) for _ in range(rng.randint(1, 4))]
        compare_joins(ops.stack, rearrange.stack, equal, rng.randint(-equal[0].ndim - 1, equal[0].ndim))


def compare_joins(operator: Any, kernel: Callable[..., Array], arrays: list[Array], dim: int) -> None:
    tensors = [wrap(array) for array in arrays]
    check(operator(tuple(tensors) if len(tensors) % 2 else tensors, dim), layouts.contiguous(kernel(arrays, dim)))


def test_joins_are_native() -> None:
    x = gradwright.ones(2, 3, requires_grad=True)
    for call, name in ((lambda: ops.cat([x, x], 1), "cat"), (lambda: ops.stack([x, x]), "stack")):
        explained = native.explain(call)
        assert [(record.name, record.kernel) for record in explained.records] == [(name, "native loop")]
        (grad,) = gradwright.autograd.grad(explained.result.sum(), x)
        assert grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize(
    ("join", "error", "text"),
    [
        (lambda x: ops.cat([x, x[:, :2]]), RuntimeError, "Sizes of tensors must match"),
        (lambda x: ops.cat([x, x], 2), IndexError, "Dimension out of range"),
        (lambda x: ops.cat([x, x[0]]), RuntimeError, "same number of dimensions"),
        (lambda x: ops.stack([x, x[0]]), RuntimeError, "equal size"),
        (lambda x: ops.stack([x, x], 3), IndexError, "Dimension out of range"),
        (lambda x: ops.stack([]), RuntimeError, "non-empty"),
    ],
)
def test_what_does_not_fit_together(join: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        join(gradwright.ones(2, 3))


def test_joins_of_different_dtypes_promote() -> None:
    x, y = gradwright.ones(2), gradwright.ones(2, dtype=gradwright.float64)
    assert ops.cat([x, y]).dtype is ops.stack([x, y]).dtype is gradwright.float64
