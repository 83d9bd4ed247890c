"""Indexing, gather and scatter: the native loops against the Python kernels, and subscripts against Python's."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradwright
from generated import operators
from gradwright import native
from runtime.base.tensor import Tensor, wrap
from runtime.methods.indexing import getitem, setitem
from support.native_core import needs_core

pytestmark = needs_core

Array = np.ndarray[Any, Any]
Arguments = Callable[[random.Random, Tensor], tuple[Any, ...]]

DTYPES = ("f4", "f4", "f8", "i8", "i4", "i2", "u1", "?", "c8", "c16", "f2", ml_dtypes.bfloat16)
SHAPES = ((8,), (3, 4), (4, 3), (2, 3, 4), (1, 5), (3, 1, 2), (0, 3), (1,), (), (2, 3, 2, 2), (40, 3), (3, 40))
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40)


def laid_out(rng: random.Random, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Array]) -> Array:
    """An array of this shape that lies in memory in one of many ways."""
    way = rng.choice(("dense", "dense", "turned", "stepped", "backwards", "expanded", "unaligned", "read only"))
    if way == "turned":
        return np.asarray(make(shape[::-1])).T
    if shape and way == "stepped":
        return make((shape[0] * 2, *shape[1:]))[::2]
    if shape and way == "backwards":
        return make(shape)[..., ::-1]
    if shape and way == "expanded":
        return np.broadcast_to(make((1, *shape[1:])), shape)
    array = np.asarray(make(shape))
    if way == "unaligned":
        room = np.empty(array.nbytes + 1, np.uint8)
        odd = room[1:].view(array.dtype).reshape(shape)
        odd[...] = array
        return odd
    if way == "read only":
        array.flags.writeable = False
    return np.asarray(array)


def values(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Array:
    def make(sizes: tuple[int, ...]) -> Array:
        numbers = np.array([rng.uniform(-9, 9) for _ in range(int(np.prod(sizes)))]).reshape(sizes)
        if np.dtype(dtype).kind == "f":
            special = np.array([rng.random() < 0.1 for _ in range(numbers.size)], bool).reshape(sizes)
            numbers[special] = rng.choice(SPECIAL)
        if np.dtype(dtype).kind in "?b":
            return numbers > 0
        return np.abs(numbers).astype(dtype) if np.dtype(dtype).kind == "u" else numbers.astype(dtype)

    return laid_out(rng, shape, make)


def indices(rng: random.Random, shape: tuple[int, ...], size: int, wraps: bool = False) -> Tensor:
    """Numbers that most often lie in a dimension of `size`, of a type that most often is one of indices."""
    low, high = (-size if wraps else 0), max(size, 1)
    if rng.random() < 0.1:
        low, high = low - 1, high + 1
    if rng.random() < 0.02:
        low = high = rng.choice((2**62, -(2**63)))
        high += 1
    dtype = rng.choice(("i8",) * 6 + ("i4", "i4", "i2", "f4"))
    made = laid_out(rng, shape, lambda sizes: np.random.default_rng(rng.randrange(999)).integers(low, high, sizes))
    return wrap(np.asarray(made).astype(dtype) if dtype != "i8" else made)


def mask(rng: random.Random, shape: tuple[int, ...]) -> Tensor:
    chance = rng.choice((0.0, 0.3, 0.5, 1.0))
    made = laid_out(rng, shape, lambda sizes: np.random.default_rng(rng.randrange(999)).random(sizes) < chance)
    return wrap(made.astype(np.uint8) if rng.random() < 0.1 else made)


def dim(rng: random.Random, x: Tensor) -> int:
    limit = max(x.dim(), 1) + (rng.random() < 0.05)
    return rng.randrange(-limit, limit)


def size_of(x: Tensor, place: int) -> int:
    return x.shape[place] if -x.dim() <= place < x.dim() else 1


def few(rng: random.Random) -> tuple[int, ...]:
    return rng.choice(((), (1,), (3,), (5,), (0,), (2, 3), (3, 1), (70,)))


def some_indices(rng: random.Random, x: Tensor) -> list[Tensor | None]:
    if rng.random() < 0.3 and x.dim():
        start = rng.randrange(x.dim())
        end = rng.randrange(start, x.dim()) + 1
        return [None] * start + [mask(rng, tuple(x.shape[start:end]))]
    together = few(rng)
    found: list[Tensor | None] = []
    for size in x.shape:
        part = rng.choice((together, together, together[-1:], (1, *together[1:])))
        found.append(indices(rng, part, size, wraps=True) if rng.random() < 0.5 else None)
    if rng.random() < 0.05:
        found.append(mask(rng, (2,)))
    return found


def put_into(rng: random.Random, x: Tensor, accumulate: bool) -> tuple[Any, ...]:
    """Where elements are overwritten, no place comes twice: which of two values stays is nobody's promise."""
    given = some_indices(rng, x)
    if not accumulate:
        given = [None if i is None or i.dim() > 1 else i for i in given]
        given = [i if i is None or i.dtype in (gradwright.bool, gradwright.uint8) else i.reshape(-1)[:1] for i in given]
    try:
        picked = operators.index_Tensor.__wrapped__(x, given).shape
    except Exception:
        picked = (1,)
    shape = rng.choice((tuple(picked), tuple(picked)[1:], (), tuple(1 if rng.random() < 0.5 else s for s in picked)))
    return given, like(rng, x, shape), accumulate


def like(rng: random.Random, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    dtype = x._array.dtype if rng.random() < 0.95 else np.dtype("f8")
    return wrap(values(rng, shape, dtype))


def along(rng: random.Random, x: Tensor, distinct: bool = False) -> tuple[int, Tensor]:
    place = dim(rng, x)
    shape = [rng.randrange(size + 1) if rng.random() < 0.2 else size for size in x.shape]
    if x.dim() and -x.dim() <= place < x.dim():
        shape[place] = 1 if distinct else rng.choice((0, 1, 2, 5))
    return place, indices(rng, tuple(shape), size_of(x, place))


def vector(rng: random.Random, x: Tensor, distinct: bool = False) -> tuple[int, Tensor]:
    place = dim(rng, x)
    return place, indices(rng, (1,) if distinct else rng.choice(((0,), (1,), (4,), (70,), ())), size_of(x, place))


def slices(rng: random.Random, x: Tensor, distinct: bool = False) -> tuple[Any, ...]:
    place, index = vector(rng, x, distinct)
    shape = list(x.shape)
    if x.dim() and -x.dim() <= place < x.dim():
        shape[place] = index.numel()
    return place, index, like(rng, x, tuple(shape))


def scattered(rng: random.Random, x: Tensor, distinct: bool = False) -> tuple[Any, ...]:
    place, index = along(rng, x, distinct)
    return place, index, like(rng, x, tuple(size + rng.choice((0, 0, 1)) for size in index.shape))


def flat(rng: random.Random, x: Tensor, accumulate: bool) -> tuple[Any, ...]:
    index = indices(rng, (1,) if not accumulate else few(rng), x.numel(), wraps=True)
    return index, like(rng, x, tuple(index.shape)), accumulate


def rows(rng: random.Random, x: Tensor) -> tuple[Any, ...]:
    index = indices(rng, tuple(x.shape[:-1]), 4)
    return index, rng.choice((4, 5, 0)), rng.choice((-1, 2, 9)), rng.random() < 0.2


OPERATORS: dict[str, Arguments] = {
    "index_Tensor": lambda r, x: (some_indices(r, x),),
    "index_put_default": lambda r, x: put_into(r, x, r.random() < 0.5),
    "index_select_default": lambda r, x: vector(r, x),
    "index_add_default": lambda r, x: (*slices(r, x), {"alpha": r.choice((1, 1, 1, 2, 1.0))}),
    "index_copy_default": lambda r, x: slices(r, x, distinct=True),
    "index_fill_int_Scalar": lambda r, x: (*vector(r, x), r.choice((0, 1.5, -3, True, 2**60, float("nan")))),
    "gather_default": lambda r, x: along(r, x),
    "scatter_src": lambda r, x: scattered(r, x, distinct=True),
    "scatter_value": lambda r, x: (*along(r, x), r.choice((0, 1.5, -3, True, 2**60, float("inf")))),
    "scatter_add_default": lambda r, x: scattered(r, x),
    "take_default": lambda r, x: (indices(r, few(r), x.numel(), wraps=True),),
    "put_default": lambda r, x: flat(r, x, r.random() < 0.5),
    "masked_select_default": lambda r, x: (mask(r, tuple(1 if r.random() < 0.2 else size for size in x.shape)),),
    "nonzero_default": lambda r, x: (),
    "embedding_default": lambda r, x: (indices(r, few(r), size_of(x, 0)), -1, False, False),
    "embedding_dense_backward_default": rows,
    "one_hot_default": lambda r, x: (r.choice((-1, 4, 9, 10)),),
    "take_along_dim_default": lambda r, x: (along(r, x)[1], r.choice((None, *range(max(x.dim(), 1))))),
}
IN_PLACE = re.compile("_(default|int_Scalar|src|value)$")
WRITING = [
    name for name in OPERATORS if name.startswith(("index_put", "index_a", "index_c", "index_f", "scatter", "put"))
]


def seen(x: Tensor) -> list[Any]:
    """Shape, strides and bits, all of which agree; NaN may have any sign and payload."""
    array = x._array
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), np.nan, array).astype(array.dtype)
    return [
        x.dtype,
        x.shape,
        x.stride(),
        x.requires_grad,
        x.grad_fn and x.grad_fn.name(),
        np.ascontiguousarray(array).tobytes(),
    ]


def outcome(function: Callable[..., Any], *args: Any) -> list[Any]:
    kwargs = args[-1] if isinstance(args[-1], dict) else {}
    try:
        with np.errstate(all="ignore"):
            return seen(function(*args[: len(args) - bool(kwargs)], **kwargs))
    except Exception as error:
        return [type(error), str(error)]


def a_tensor(rng: random.Random, name: str) -> Tensor:
    shape = rng.choice(SHAPES)
    if name == "one_hot_default":
        return indices(rng, shape, 9)
    x = wrap(values(rng, shape, rng.choice(DTYPES)))
    return x.requires_grad_() if x.is_floating_point() and rng.random() < 0.3 else x


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    rng = random.Random(name)
    function, worked = getattr(operators, name), 0
    for _ in range(400):
        x = a_tensor(rng, name)
        args = OPERATORS[name](rng, x)
        found = outcome(function, x, *args)
        assert found == outcome(function.__wrapped__, x, *args), (x._array, x._array.strides, args)
        worked += len(found) > 2
    assert worked > 100


@pytest.mark.parametrize("name", WRITING)
def test_in_place(name: str) -> None:
    rng = random.Random(name)
    functional = getattr(operators, name)
    written = getattr(operators, IN_PLACE.sub(r"_\g<0>", name))
    worked = 0
    for _ in range(200):
        x = a_tensor(rng, name).detach()
        args = OPERATORS[name](rng, x)
        targets = [wrap(x._array.copy()) for _ in range(2)]
        found = outcome(written, targets[0], *args)
        assert found == outcome(written.__wrapped__, targets[1], *args)
        assert seen(targets[0]) == seen(targets[1])  # also where it failed
        assert targets[0]._version == targets[1]._version
        if len(found) > 2:
            assert found[-1] == outcome(functional, x, *args)[-1]
            worked += 1
    assert worked > 40


def test_a_write_reads_nothing_that_it_has_written() -> None:
    x = gradwright.arange(6.0)
    x[::2].index_put_((gradwright.arange(3),), x[1::2])
    assert x.tolist() == [1, 1, 3, 3, 5, 5]
    x = gradwright.arange(6.0)
    x[1:].index_add_(0, gradwright.arange(5), x[:-1].clone())
    assert x.tolist() == [0, 1, 3, 5, 7, 9]
    y = gradwright.arange(4)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        y.scatter_(0, y, y)  # the index is what is written
    assert y.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large(dtype: str) -> None:
    random_ = np.random.default_rng(0)
    x = wrap(random_.normal(size=(300, 400)).astype(dtype))
    places, columns = (wrap(random_.integers(0, 300, 500)), wrap(random_.integers(-400, 400, 500)))
    each, marks = wrap(random_.integers(0, 300, (300, 400))), x > 0
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("index_Tensor", (x, [places])),
        ("index_Tensor", (x, [None, columns])),
        ("index_Tensor", (x.T, [None, places])),
        ("index_Tensor", (x, [marks])),
        ("index_Tensor", (x, [wrap(random_.integers(0, 300, (200, 1))), columns])),
        ("index_put_default", (x, [places], x[:1], True)),
        ("index_put_default", (x, [None, columns], x[:, :1], True)),
        ("index_put_default", (x, [each, columns[:400]], x, True)),
        ("index_add_default", (x, 0, places, x[places])),
        ("index_add_default", (x, 1, columns % 400, x[:, columns])),
        ("gather_default", (x, 0, each)),
        ("gather_default", (x, 1, each)),
        ("scatter_add_default", (x, 0, each, x)),
        ("scatter_add_default", (x, 1, each, x)),
        ("scatter_add_default", (x, 0, each, wrap(np.broadcast_to(np.ones((), dtype), (300, 400))))),
        ("take_default", (x, wrap(random_.integers(-(10**5), 10**5, 50_000)))),
        ("masked_select_default", (x, marks)),
        ("nonzero_default", (marks,)),
        ("embedding_default", (x, each[:2], -1, False, False)),
        ("embedding_dense_backward_default", (x[places], places, 300, 5, False)),
    ]
    for name, args in calls:
        function = getattr(operators, name)
        wanted = outcome(function.__wrapped__, *args)
        assert len(wanted) > 2, name
        for threads in (1, 4):
            before = gradwright.get_num_threads()
            gradwright.set_num_threads(threads)
            try:
                assert outcome(function, *args) == wanted, name
            finally:
                gradwright.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "c16"])
@pytest.mark.parametrize("near", [1, 2])
def test_runs_of_neighbours(dtype: str, near: int) -> None:
    """Places that lie side by side are moved together, where their elements do; `near`: the step of what goes there."""
    places = np.array([3, 2, 1, *range(30), 5, 6, 7, *range(10, 40), 39])
    x = np.arange(3 * 40).reshape(3, 40).astype(dtype)
    source = np.arange(3 * len(places) * near).reshape(3, -1).astype(dtype)[:, ::near]
    index = gradwright.tensor(places)
    for array in (x, x.T.copy().T, np.repeat(x, 2, 1)[:, ::2], x[::-1]):
        t = wrap(array)
        np.testing.assert_array_equal(t.index_select(1, index), array[:, places])
        np.testing.assert_array_equal(t[:, index], array[:, places])
        added, copied = array.copy(), array.copy()
        np.add.at(added, (slice(None), places), source)
        np.testing.assert_array_equal(t.clone().index_add_(1, index, wrap(source)), added)
        once = np.array([*range(20, 40), *range(20)])
        copied[:, once] = source[:, :40]
        np.testing.assert_array_equal(t.clone().index_copy_(1, wrap(once), wrap(source[:, :40])), copied)


def test_the_loops_are_taken() -> None:
    x, index = gradwright.ones(4, 4), gradwright.tensor([1, 2])
    each, part = index[:, None].expand(2, 4), gradwright.ones(2, 4)

    def calls() -> None:
        _ = x[index], x[:, index], x[index, index], x[x > 0], x[[0, 1]]
        x.index_select(0, index), x.gather(0, each), x.take(index), x.nonzero(), x.masked_select(x > 0)
        (
            x.index_put((index,), part),
            x.index_add(0, index, part),
            x.scatter_add(0, each, part),
            x.put(index, x[0, :2]),
        )
        x.index_copy(0, index, part), x.index_fill(0, index, 1.0), x.scatter(0, each, 2.0), x.scatter(0, each, part)
        x[index] = 1.0
        x.index_add_(0, index, part)
        gradwright.nn.functional.embedding(index, x)
        operators.embedding_dense_backward_default(part, index, 4, -1, False)
        gradwright.nn.functional.one_hot(index, 4)

    told = native.explain(calls)
    assert all(call.fast and call.kernel != "Python kernel" for call in told.records), told
    assert [call.name for call in told.records].count("index.Tensor") == 5


# Of a vector of indices and a mask; as they stand between the brackets.
SUBSCRIPTS = (
    "i", "m", ":, i", "i, i", "i, :, i", "..., i", "i, ...", "None, i", "i, None", "0, i", "i, 0", "1:, i", "i, ::2",
    "[0, 1]", ":, [0, -1]", "[0, 1], i", "m, 0", "m.reshape([-1]), i[:1]", "i[0]", "i[0], i", "m.any()", "True, i",
    "i.double()", "i + 9", "i, i, i, i, i", "m.reshape([-1])[:1]", "i.numpy()", "[True, False]", "[]", "[i, i]",
    "[[0, 1], [1, 0]]", "i[:0]", "i.int()", "..., i, ...", "[2**70]", "1.5, i", "None, None, m", "'i'", "i[:, None], i",
)  # fmt: skip


def test_subscripts() -> None:
    index, worked = gradwright.tensor([1, -1, 0]), 0
    for text, shape in itertools.product(SUBSCRIPTS, ((3, 4), (2, 3, 4), (4,), (), (0, 2))):
        x = gradwright.arange(float(np.prod(shape))).reshape(shape)
        given = eval(f"np.s_[{text}]", {"np": np, "i": index, "m": x > 1})
        for requires_grad in (False, True):
            x.requires_grad_(requires_grad)
            found = outcome(Tensor.__getitem__, x, given)
            assert found == outcome(getitem, x, given), (shape, text)
            worked += len(found) > 2
        row = x.detach()[:1] if x.dim() else x.detach()
        for value in (7, 2.5, True, 1 + 2j, row * 2, x.detach().sum(), "no", gradwright.tensor(3), None):
            for dtype in (gradwright.float32, gradwright.int64, gradwright.bool):
                targets = [x.detach().to(dtype).clone() for _ in range(2)]
                results = [
                    written(f, t, given, value) for f, t in zip((Tensor.__setitem__, setitem), targets, strict=True)
                ]
                assert results[0] == results[1], (shape, text, value)
                worked += results[0][0] is None
    assert worked > 1000


def test_composites_record_the_same_operators() -> None:
    x, index = gradwright.rand(3, 4, requires_grad=True), gradwright.tensor([[1], [0], [3]])
    for places in (index, index[:1], index.expand(3, 4)):
        histories = []
        for function in (operators.take_along_dim_default, operators.take_along_dim_default.__wrapped__):
            y = function(x, places, 1)
            histories.append((y.grad_fn.name(), y.grad_fn.next_functions[0][0].name(), y.tolist()))
        assert histories[0] == histories[1]


def written(function: Callable[..., Any], target: Tensor, index: Any, value: Any) -> list[Any]:
    try:
        result = function(target, index, value)
    except Exception as error:
        result = (type(error), str(error))
    return [result, target._version, *seen(target)]


def test_writes_that_autograd_sees() -> None:
    for index in (0, slice(1, 3), gradwright.tensor([0, 1]), (slice(None), gradwright.tensor([1]))):
        grads = []
        for function in (Tensor.__setitem__, setitem):
            x, value = gradwright.ones(3, 3, requires_grad=True), gradwright.ones((), requires_grad=True)
            y = x * 2
            function(y, index, value)
            (y * y).sum().backward()
            grads.append((x.grad.tolist(), value.grad.item(), y.grad_fn.name(), y._version))
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                function(x, index, 1.0)
        assert grads[0] == grads[1]
    x = gradwright.zeros(3, 3)
    x[0].requires_grad_()
    with gradwright.no_grad():
        x[:, 0] = 1
    assert x._version == 1
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]
