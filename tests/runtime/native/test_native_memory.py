"""Memory of large results: kept for the next ones, and gradients whose memory becomes that of the next gradient."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy._core import multiarray

import gradwright
from runtime.base.tensor import Tensor
from support.native_core import needs_core

MEBI = 2**20
LARGE = MEBI // 4  # elements of float32


@pytest.fixture
def reserve() -> Iterator[None]:
    before = gradwright.get_memory_reserve()
    gradwright.set_memory_reserve(0)
    gradwright.set_memory_reserve(8 * MEBI)
    yield
    gradwright.set_memory_reserve(before)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return gradwright.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def place(tensor: Tensor) -> int:
    return tensor.numpy().ctypes.data


# -- the reserve


@needs_core
def test_a_large_result_takes_the_memory_of_the_last_one(reserve: None) -> None:
    x = normal(LARGE)
    y = x * x
    first = place(y)
    assert gradwright.reserved_memory() == 0
    del y
    assert gradwright.reserved_memory() == MEBI
    y = x + x
    assert place(y) == first
    assert gradwright.reserved_memory() == 0
    np.testing.assert_array_equal(y, x.numpy() + x.numpy())


@needs_core
@pytest.mark.parametrize("elements", [LARGE - 100, LARGE - 1])
def test_sizes_that_are_nearly_equal_follow_each_other(reserve: None, elements: int) -> None:
    y = normal(LARGE) * 2
    first = place(y)
    del y
    assert place(normal(elements) * 2) == first


@needs_core
def test_small_results_and_others_are_not_kept(reserve: None) -> None:
    x = normal(LARGE)
    y, z = normal(1000) * 2, np.add(x.numpy(), 1)
    assert multiarray.get_handler_name(y._array) == multiarray.get_handler_name(z) == multiarray.get_handler_name()
    del x, y, z
    assert gradwright.reserved_memory() == 0


@needs_core
def test_the_bound(reserve: None) -> None:
    x = normal(LARGE)
    many = [x * i for i in range(12)]
    places = [place(y) for y in many]
    while many:
        del many[0]
    assert gradwright.reserved_memory() == 8 * MEBI
    again = [x * i for i in range(8)]
    assert {place(y) for y in again} == set(places[4:])  # what was given back first is gone
    del again
    gradwright.set_memory_reserve(3 * MEBI)
    assert gradwright.get_memory_reserve() == gradwright.reserved_memory() == 3 * MEBI
    whole = normal(4 * LARGE) * 2
    del whole
    assert gradwright.reserved_memory() == 3 * MEBI
    gradwright.set_memory_reserve(0)
    assert gradwright.reserved_memory() == 0
    y = x * x
    assert multiarray.get_handler_name(y._array) == multiarray.get_handler_name()


@needs_core
def test_numpy_may_resize_keep_and_free_such_an_array(reserve: None) -> None:
    array = (normal(LARGE) * 2)._array
    assert multiarray.get_handler_name(array) == "gradwright"
    assert array.flags.owndata
    known = array.copy()
    array.resize(3 * LARGE, refcheck=False)
    np.testing.assert_array_equal(array[:LARGE], known)
    assert not array[LARGE:].any()
    array.resize(10, refcheck=False)
    np.testing.assert_array_equal(array, known[:10])
    del array
    assert gradwright.reserved_memory() < MEBI


@needs_core
def test_numpy_gets_its_own_handler_back(reserve: None) -> None:
    mine = multiarray.get_handler_name()
    row, column = normal(2**20, 1).double(), normal(2**26).double()
    for _ in range(2):
        with pytest.raises((MemoryError, RuntimeError, ValueError)):
            row + column
        assert multiarray.get_handler_name() == mine
    assert multiarray.get_handler_name((row * row)._array) == "gradwright"
    assert multiarray.get_handler_name() == mine


@needs_core
def test_threads_do_not_get_the_same_memory(reserve: None) -> None:
    failed: list[object] = []

    def work(number: int) -> None:
        x = gradwright.full((LARGE,), float(number))
        for i in range(50):
            y, z = x * i, x + i
            if not (y.numpy() == number * i).all() or not (z.numpy() == number + i).all():
                failed.append((number, i))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_what_the_reserve_takes() -> None:
    before = gradwright.get_memory_reserve()
    try:
        gradwright.set_memory_reserve(np.int32(7))
        assert gradwright.get_memory_reserve() == 7
        for wrong in (-1, 2**63):
            with pytest.raises(ValueError, match="a number of bytes"):
                gradwright.set_memory_reserve(wrong)
        for odd in (1.5, "1", None):
            with pytest.raises(TypeError):
                gradwright.set_memory_reserve(odd)  # type: ignore[arg-type]
        assert gradwright.get_memory_reserve() == 7
    finally:
        gradwright.set_memory_reserve(before)


# -- gradients that nobody reads any more

UNARY = """
    abs acos acosh asin asinh atan atanh cos cosh elu erf erfc exp exp2 expm1 gelu hardsigmoid hardswish hardtanh
    leaky_relu log log10 log1p log2 logsigmoid logit mish neg reciprocal relu rsqrt selu sigmoid silu sin sinc sinh
    softplus softsign sqrt square tan tanh
"""
BINARY = "add sub mul div atan2 copysign fmax fmin hypot logaddexp maximum minimum pow where"


def function_of(name: str) -> Callable[..., Tensor]:
    if name == "where":
        return lambda x, y: gradwright.where(x > y, x, y)
    return getattr(gradwright, name, None) or getattr(gradwright.nn.functional, name)


def gradients(function: Callable[..., Tensor], values: list[np.ndarray], seed: np.ndarray) -> list[np.ndarray]:
    """Those of a function between two products, so that what comes to it is a gradient of the engine's own."""
    inputs = [gradwright.tensor(value, requires_grad=True) for value in values]
    out = function(*(x * 1.0 for x in inputs)) * gradwright.tensor(seed)
    out.backward(gradwright.tensor(seed))
    return [x.grad.numpy() for x in inputs if x.grad is not None]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", (UNARY + BINARY).split())
def test_large_gradients_are_those_of_small_parts(name: str, dtype: type) -> None:
    function = function_of(name)
    random = np.random.default_rng(3)
    size, part = 3 * LARGE // 2 + 13, 20_000  # parts are too small to take turns
    values = [random.uniform(0.1, 0.9, size).astype(dtype) for _ in range(2 if name in BINARY.split() else 1)]
    seed = random.normal(size=size).astype(dtype)
    whole = gradients(function, values, seed)
    assert whole
    parts = [
        gradients(function, [value[at : at + part] for value in values], seed[at : at + part])
        for at in range(0, size, part)
    ]
    for found, *pieces in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(found, np.concatenate(pieces))


@pytest.mark.parametrize("elements", [10, LARGE])
class TestWhatIsReadStays:
    """Whoever holds a gradient, or an array or a buffer of it, finds the same in it afterwards."""

    def check(self, elements: int, keep: Callable[[Tensor], object], values: Callable[[Any], Any]) -> None:
        kept: list[tuple[object, np.ndarray]] = []

        def hook(grad: Tensor) -> None:
            kept.append((keep(grad), grad.numpy().copy()))

        x = normal(elements).requires_grad_()
        y = x
        for _ in range(3):
            for function in (
                gradwright.tanh,
                gradwright.nn.functional.silu,
                lambda z: z * z,
                gradwright.nn.functional.softplus,
            ):
                y = function(y)
                y.register_hook(hook)
        y.backward(gradwright.ones(elements))
        assert len(kept) == 12
        for held, copy in kept:
            np.testing.assert_array_equal(values(held), copy)

    def test_tensors(self, elements: int) -> None:
        self.check(elements, lambda grad: grad, np.asarray)

    def test_detached(self, elements: int) -> None:
        self.check(elements, lambda grad: grad.detach(), np.asarray)

    def test_arrays(self, elements: int) -> None:
        self.check(elements, lambda grad: grad.numpy(), np.asarray)

    def test_views(self, elements: int) -> None:
        self.check(elements, lambda grad: grad.view(-1), np.asarray)

    def test_buffers(self, elements: int) -> None:
        self.check(elements, lambda grad: memoryview(grad.numpy()), np.asarray)

    def test_the_root_gradient(self, elements: int) -> None:
        x, seed = normal(elements).requires_grad_(), normal(elements, seed=1)
        known = seed.numpy().copy()
        y = gradwright.tanh(x)
        y.backward(seed, retain_graph=True)
        gradwright.autograd.grad(y, x, seed)
        np.testing.assert_array_equal(seed, known)

    def test_retained_gradients(self, elements: int) -> None:
        x = normal(elements).requires_grad_()
        y = x * 2.0
        z = gradwright.tanh(y)
        y.retain_grad()
        z.retain_grad()
        (z * 3.0).backward(gradwright.ones(elements))
        np.testing.assert_array_equal(z.grad, np.full(elements, 3.0, np.float32))
        np.testing.assert_array_equal(x.grad, y.grad.numpy() * 2)

    def test_one_gradient_for_several(self, elements: int) -> None:
        a, b = (normal(elements, seed=seed).requires_grad_() for seed in range(2))
        c, d = gradwright.tanh(a), gradwright.sigmoid(b)
        out = (c + d) * 2.0  # both get one gradient
        out.backward(gradwright.ones(elements))
        np.testing.assert_allclose(a.grad, 2 * (1 - c.detach().numpy() ** 2), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(b.grad, 2 * (d * (1 - d)).detach().numpy(), rtol=1e-5)

    def test_a_node_called_with_the_only_reference(self, elements: int) -> None:
        """functools.partial lends what it holds."""
        node: Any = gradwright.tanh(normal(elements).requires_grad_()).grad_fn
        silu: Any = gradwright.nn.functional.silu(normal(elements).requires_grad_()).grad_fn
        for function in (node, silu):
            call = functools.partial(function, gradwright.ones(elements))
            with gradwright.no_grad():
                first, second = call(), call()
            np.testing.assert_array_equal(call.args[0], np.ones(elements, np.float32))
            np.testing.assert_array_equal(first, second)

    def test_a_saved_gradient(self, elements: int) -> None:
        """With a graph of the gradients, Nodes save them."""
        x = normal(elements).double().requires_grad_()
        (first,) = gradwright.autograd.grad(gradwright.tanh(x * 1.0).sum(), x, create_graph=True)
        known = first.detach().numpy().copy()
        (second,) = gradwright.autograd.grad(first.sum(), x)
        np.testing.assert_array_equal(first.detach(), known)
        t = np.tanh(x.detach().numpy())
        np.testing.assert_allclose(second, -2 * t * (1 - t * t), rtol=1e-10, atol=1e-12)


@needs_core
def test_a_chain_goes_back_in_one_piece_of_memory(reserve: None) -> None:
    x = normal(LARGE).requires_grad_()
    y = x
    for _ in range(4):
        y = gradwright.tanh(y)
    places = set()
    y.grad_fn.register_hook(lambda found, _: places.add(place(found[0])) or None)
    z = y
    for _ in range(20):
        z = gradwright.tanh(z)
    z.backward(gradwright.ones(LARGE))
    # The seed is the caller's; the first formula makes an array, and the others work in it.
    assert places == {place(x.grad)}


class TestInterleavedFormulas:
    """Loops of one Node that read the gradient run in turns over a large one."""

    def check(self, x: Tensor, y: Tensor, seed: np.ndarray) -> None:
        out = (x * y) * 1.0  # the gradient of the product is the engine's own
        grads = gradwright.autograd.grad(
            out, [z for z in (x, y) if z.requires_grad], gradwright.tensor(seed).to(out.dtype)
        )
        wide = out.detach().numpy().dtype
        values = [other.detach().numpy() for z, other in ((x, y), (y, x)) if z.requires_grad]
        for found, value in zip(grads, values, strict=True):
            np.testing.assert_array_equal(found, (seed.astype(wide) * value.astype(wide)).astype(found.numpy().dtype))

    def test_one_of_them_declines(self) -> None:
        rows = LARGE // 100
        x, y = normal(rows * 100).reshape(rows, 100), normal(rows * 100, seed=1).reshape(100, rows).t()
        seed = normal(rows * 100, seed=2).reshape(rows, 100).numpy()
        for first, second in ((x, y), (y, x), (x, x.double())):
            self.check(
                first.detach().requires_grad_(), second.detach().requires_grad_(), seed.astype(first.numpy().dtype)
            )

    def test_one_edge(self) -> None:
        x, y, seed = (normal(LARGE, seed=k) for k in range(3))
        self.check(x.requires_grad_(), y, seed.numpy())
        self.check(y, x, seed.numpy())

    def test_both_edges_are_one(self) -> None:
        x = normal(LARGE).requires_grad_()
        (found,) = gradwright.autograd.grad(x * x, x, gradwright.ones(LARGE))
        np.testing.assert_array_equal(found, 2 * x.detach().numpy())
