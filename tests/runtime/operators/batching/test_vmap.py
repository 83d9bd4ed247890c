"""vmap and the transforms made of it, against loops and by their own promises."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from gradwright import func, ops
from gradwright.func import vmap
from runtime.base.modes import plain, thread_handlers
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import BatchedTensor


def values(*shape: int, seed: int = 0) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).uniform(0.2, 1.4, shape))


def looped(function: Callable[..., Tensor], *batches: Tensor) -> Tensor:
    return torch.stack([function(*[batch[place] for batch in batches]) for place in range(len(batches[0]))])


def close(actual: Tensor, expected: Tensor) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), 1e-10, 1e-12)


# -- what a function sees


def test_element_has_its_own_shape_and_dtype() -> None:
    seen: list[Any] = []

    def look(x: Tensor) -> Tensor:
        seen.append((x.shape, x.dim(), x.dtype, len(x), x.stride(), x.numel(), x.requires_grad, x.is_contiguous()))
        return x

    vmap(look, in_dims=1)(torch.zeros(4, 3, 2))
    assert seen == [((4, 2), 2, torch.float32, 4, (6, 1), 8, False, False)]


def test_element_shows_its_batch() -> None:
    texts: list[str] = []
    vmap(lambda x: [texts.append(repr(x)), x][1])(torch.tensor([1.0, 2.0]))
    assert texts == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([1., 2.])\n)"]


@pytest.mark.parametrize("ask", [int, bool, float, complex, lambda x: x.item(), lambda x: [0, 1][x], lambda x: 1 in x])
def test_values_can_not_be_asked_for(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"^vmap: "):
        vmap(lambda x: [ask(x), x][1])(torch.tensor([1, 0]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.numpy(),
        np.asarray,
        lambda x: x.tolist(),
        lambda x: x.data_ptr(),
        Tensor,
        lambda x: torch.ones(3)[[[x.long()]]],
    ],
)
def test_data_can_not_be_asked_for(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match="Cannot access the data"):
        vmap(lambda x: [ask(x), x][1])(torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize(
    "use",
    [
        lambda x: ops.add(x, x, alpha=x),
        lambda x: torch.full((2,), x),
        lambda x: torch.tensor([x, x]),
        lambda x: torch.ones(3)[x.long() :],
        lambda x: torch.arange(x),
        lambda x: torch.zeros(3).fill_(x.item()),
    ],
)
def test_a_number_that_differs_is_no_number(use: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(RuntimeError, match=r"\.item\(\)"):
        vmap(use)(torch.tensor([1.0, 2.0]))


def test_an_element_that_escapes_is_void() -> None:
    kept: list[Tensor] = []
    vmap(lambda x: [kept.append(x), x][1])(torch.ones(2))
    with pytest.raises(RuntimeError, match="escaped"):
        kept[0] + 1
    assert "BatchedTensor" in repr(kept[0])


def test_nothing_stays_open_after_an_error() -> None:
    def fail(x: Tensor) -> Tensor:
        raise KeyError

    with pytest.raises(KeyError):
        vmap(vmap(fail))(torch.ones(2, 2))
    assert thread_handlers.calls == ()
    assert Tensor in plain


def test_plain_tensors_keep_their_fast_path() -> None:
    inside: list[bool] = []
    vmap(lambda x: [inside.append(Tensor in plain), x][1])(torch.ones(2))
    assert inside == [True]


def test_threads_have_levels_of_their_own() -> None:
    found: list[Tensor] = []

    def f(x: Tensor) -> Tensor:
        thread = threading.Thread(target=lambda: found.append(torch.rand(2)))
        thread.start()
        thread.join()
        return x

    vmap(f)(torch.ones(2))
    assert found[0].shape == (2,)


# -- arguments and results


def test_results_of_operators_keep_their_names() -> None:
    x = torch.randn(3, 4)
    values, indices = torch.vmap(lambda row: torch.max(row, 0))(x)
    assert torch.equal(values, x.max(1).values)
    assert torch.equal(indices, x.max(1).indices)
    assert type(torch.vmap(lambda row: row.sort())(x)).__name__ == "sort"
    result, tangent = torch.func.jvp(lambda x: torch.max(x, 1), (x,), (torch.ones_like(x),))
    assert torch.equal(result.values, values)
    assert torch.equal(tangent.values, torch.ones(3))


def test_structures() -> None:
    Pair = namedtuple("Pair", "left right")

    def f(pair: Any, table: dict[str, Tensor]) -> Any:
        return OrderedDict(sum=pair.left + pair.right[0], both=Pair(table["k"], [pair.left]))

    x = values(3, 2)
    out = vmap(f, in_dims=(Pair(0, (None,)), 0))(Pair(x, (x[0],)), {"k": x * 2})
    assert type(out) is OrderedDict
    assert type(out["both"]) is Pair
    close(out["sum"], x + x[0])
    close(out["both"].left, x * 2)
    close(out["both"].right[0], x)


def test_chunks_are_joined() -> None:
    sizes: list[int] = []

    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        assert isinstance(x, BatchedTensor)
        sizes.append(x.value.shape[0])
        return x * 2, x.sum()

    x = values(5, 3)
    doubled, sums = vmap(f, in_dims=1, out_dims=(1, 0), chunk_size=2)(x.T)
    assert sizes == [2, 2, 1]
    close(doubled, x.T * 2)
    close(sums, x.sum(1))


def test_a_loop_says_so_if_asked() -> None:
    x, mask = values(2, 4), torch.tensor([[True, False, True, False]] * 2)
    run = vmap(lambda x, mask: x.masked_scatter(mask, x * 2))
    func.set_fallback_warnings(True)
    try:
        with pytest.warns(UserWarning, match="no batching rule for masked_scatter"):
            out = run(x, mask)
    finally:
        func.set_fallback_warnings(False)
    close(out, looped(lambda x, mask: x.masked_scatter(mask, x * 2), x, mask))
    with pytest.raises(RuntimeError, match="size 0"):
        run(x[:0], mask[:0])


# -- in place


def test_writes_reach_the_batch_and_its_gradients() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 1
        y[0] *= x[1]
        y[1:].mul_(y[:-1].clone()).sub_(x.sum())
        y.cumsum_(0)
        y.masked_fill_(y > 5, 0)
        y.unsqueeze(0).add_(x.prod())
        return (y * y).sum()

    x = values(4, 3).requires_grad_()
    mapped, loop = vmap(f)(x), looped(f, x)
    close(mapped, loop)
    close(torch.autograd.grad(mapped.sum(), x)[0], torch.autograd.grad(loop.sum(), x)[0])


def test_a_write_of_too_many_dimensions_is_refused() -> None:
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        vmap(lambda x: x.clone().add_(torch.ones(4, 3)))(values(2, 3))
    with pytest.raises(RuntimeError, match="can't be cast"):
        vmap(lambda x: torch.zeros(3, dtype=torch.int64).add(x.long()).add_(x))(values(2, 3))


def test_a_mask_may_choose_what_one_value_is_written_to() -> None:
    def f(x: Tensor) -> Tensor:
        y = x.clone()
        y[x > 0.8] = 0
        return y

    x = values(3, 4)
    close(vmap(f)(x), looped(f, x))


# -- indices: batched or not, with what they point into or without


@pytest.mark.parametrize("batched", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize(
    "read",
    [
        lambda x, i: x.index_select(1, i),
        lambda x, i: x.index_select(0, i[0]),
        lambda x, i: x.index_fill(1, i, 2.0),
        lambda x, i: x.index_fill(1, i - 3, x.sum()),
        lambda x, i: x.index_copy(1, i, x[:, :2]),
        lambda x, i: x.index_add(0, i, x[:2], alpha=2),
        lambda x, i: x.take(i),
        lambda x, i: x.put(i, x[0, :2] * 2, accumulate=True),
        lambda x, i: x.gather(1, i.unsqueeze(0).expand(3, 2)),
        lambda x, i: ops.embedding(x, i, 1),
        lambda x, i: torch.take_along_dim(x, i.unsqueeze(0), 1),
    ],
)
def test_indexing(read: Callable[[Tensor, Tensor], Tensor], batched: tuple[int | None, int | None]) -> None:
    x, i = values(4, 3, 3).requires_grad_(), torch.tensor([[0, 2], [1, 1], [2, 0], [0, 1]])
    given = [t if dim == 0 else t[0] for t, dim in zip((x, i), batched, strict=True)]
    mapped = vmap(read, in_dims=batched)(*given)
    rows = [
        read(*[t[place] if dim == 0 else t for t, dim in zip(given, batched, strict=True)]) for place in range(len(x))
    ]
    close(mapped, torch.stack(rows))
    expected = torch.autograd.grad((torch.stack(rows) ** 2).sum(), x, retain_graph=True)[0]
    close(torch.autograd.grad((mapped**2).sum(), x)[0], expected)


# -- random numbers


def test_the_same_draw_moves_the_generator_once() -> None:
    def drawn(randomness: str, size: int) -> list[float]:
        torch.manual_seed(1)
        first = vmap(lambda x: torch.rand(2) + 0 * x, randomness=randomness)(torch.zeros(size, 1))
        return [*first.reshape(-1).tolist(), torch.rand(()).item()]

    torch.manual_seed(1)
    plainly = torch.rand(2).tolist()
    after = torch.rand(()).item()
    assert drawn("same", 3) == [*plainly * 3, after]
    assert len(set(drawn("different", 3))) == 7


def test_different_draws_of_nested_levels() -> None:
    def inner(x: Tensor) -> Tensor:
        return torch.rand(3) + 0 * x

    def count(outer: str, randomness: str) -> int:
        out = vmap(vmap(inner, randomness=randomness), randomness=outer)(torch.zeros(2, 4, 1))
        return len(set(out.reshape(-1).tolist()))

    assert count("different", "different") == 24
    assert count("different", "same") == 6
    assert count("same", "different") == 12
    assert count("same", "same") == 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda p: torch.bernoulli(p),
        lambda p: torch.normal(p, 1.0),
        lambda p: torch.normal(p, p),
        lambda p: torch.multinomial(p, 2),
        lambda p: torch.multinomial(p.reshape(2, 3), 2),
        lambda p: torch.rand_like(p),
        lambda p: p.clone().exponential_(),
        lambda p: torch.randint_like(p, 9),
        lambda p: torch.empty(3, 2).normal_() if False else ops.native_dropout(p, 0.5, True)[0],
    ],
)
def test_draws_have_the_shape_of_an_element(draw: Callable[[Tensor], Tensor]) -> None:
    p = torch.full((5, 6), 0.5)
    assert vmap(draw, randomness="different")(p).shape == (5, *draw(p[0]).shape)


# -- the way back


def test_a_hook_sees_the_gradient_of_an_element() -> None:
    seen: list[Any] = []

    def f(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(lambda grad: seen.append(grad.shape))
        return y.sum()

    vmap(func.grad(f))(values(3, 4))
    assert seen == [(4,)]


def test_gradients_of_one_leaf_of_several_kinds_are_added() -> None:
    """Batched gradients come to a leaf where a sum of plain ones waits already."""

    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 1, x.sum() + x.prod() + x.max()

    x = values(3)
    _, pull = func.vjp(f, x)
    seed = torch.ones((), dtype=torch.float64)
    rows = vmap(lambda v: pull((v, seed))[0])(torch.eye(3, dtype=torch.float64))
    expected = [pull((row, seed))[0] for row in torch.eye(3, dtype=torch.float64)]
    close(rows, torch.stack(expected))


def test_batched_gradients_through_writes_to_views() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 2
        y[0].mul_(x[1])
        y.reshape(-1)[1:].tanh_()
        return y * x[:1]

    x = values(2, 2)
    rows = [func.vjp(f, x)[1](seed.reshape(2, 2))[0] for seed in torch.eye(4, dtype=torch.float64)]
    close(func.jacrev(f)(x).reshape(4, 2, 2), torch.stack(rows))


def test_results_keep_no_graph() -> None:
    x = values(3)
    inner: list[Any] = []

    def f(x: Tensor) -> Tensor:
        y = x.tanh()
        inner.append(weakref.ref(y.grad_fn))
        return y.sum()

    gc.disable()
    try:
        result, value = func.grad_and_value(f)(x)
        assert inner[0]() is None
    finally:
        gc.enable()
    assert not result.requires_grad
    assert not value.requires_grad
    assert not x.requires_grad


def test_results_are_connected_to_what_requires_grad_outside() -> None:
    w, x = values(3).requires_grad_(), values(3, seed=1)
    first, second = func.grad(lambda a, b: (a * w).sum() + (b**3).sum(), argnums=(0, 1))(x, x)
    assert first.requires_grad
    assert not second.requires_grad
    close(torch.autograd.grad(first.sum(), w)[0], torch.ones(3, dtype=torch.float64))
    with torch.no_grad():
        assert not func.grad(lambda a: (a * w).sum())(x).requires_grad


def test_a_pullback_made_outside_leaks_nothing() -> None:
    x = values(3)
    out, pull = func.vjp(torch.tanh, x)
    assert not out.requires_grad
    found = func.grad(lambda c: (pull(c)[0] ** 2).sum())(x)
    assert not found.requires_grad
    close(found, 2 * x * (1 - out**2) ** 2)


def test_inputs_of_levels_are_told_apart() -> None:
    """A captured outer input is a constant to the inner gradient, though both have the same values."""
    found = func.grad(lambda x: x * func.grad(lambda y: x * y)(torch.tensor(1.0)))(torch.tensor(3.0))
    assert found.item() == 6.0


def test_an_input_that_requires_grad_stays_as_it_is() -> None:
    x = values(3).requires_grad_()
    found = func.grad(lambda x: (x**3).sum())(x)
    assert x.grad is None
    close(torch.autograd.grad(found.sum(), x)[0], 6 * x)


@pytest.mark.parametrize("strategy", [func.jacrev, func.jacfwd])
def test_jacobian_of_empty_and_single_values(strategy: Any) -> None:
    assert strategy(lambda x: x[:0] * 2)(values(3)).shape == (0, 3)
    assert strategy(lambda x: x.sum())(values(0)).shape == (0,)
    assert strategy(lambda x: x * 3)(torch.tensor(2.0)).item() == 3


def test_columns_share_the_values() -> None:
    """The function is called on plain values that carry a batch of tangents."""
    seen: list[Any] = []

    def f(x: Tensor) -> Tensor:
        seen.append(type(x))
        return x.sin()

    func.jacfwd(f)(values(3))
    func.vmap(func.jacfwd(f))(values(2, 3))
    assert seen == [Tensor, BatchedTensor]


def test_random_columns() -> None:
    def f(x: Tensor) -> Tensor:
        return x * torch.rand(3)

    x = torch.ones(3)
    diagonal = func.jacfwd(f, randomness="different")(x)
    assert diagonal.shape == (3, 3)
    assert (diagonal - diagonal.diagonal().diag()).abs().max() == 0
    assert len(set(diagonal.diagonal().tolist())) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.tanh() * x.sum()).sum(),
        lambda x: (x.reshape(2, 2) @ x.reshape(2, 2)).exp().sum(),
        lambda x: x.softmax(0).log().mul(x).sum() + x.logsumexp(0),
        lambda x: x.clone().mul_(x).sigmoid_().cumprod(0).sum(),
        lambda x: x.sort()[0].dot(x) + x.norm() + x.max(),
    ],
)
def test_second_derivatives_by_every_way(function: Callable[[Tensor], Tensor]) -> None:
    x = values(4)
    expected = torch.stack([torch.autograd.grad(g, x2, retain_graph=True)[0] for x2, g in _gradients(function, x)])
    for first in (func.jacrev, func.jacfwd):
        close(func.jacrev(first(function))(x), expected)
    close(func.jacfwd(func.jacrev(function))(x), expected)
    close(func.hessian(function)(x), expected)
    products = [func.jvp(func.grad(function), (x,), (row,))[1] for row in torch.eye(4, dtype=torch.float64)]
    close(torch.stack(products), expected)


def _gradients(function: Callable[[Tensor], Tensor], x: Tensor) -> list[tuple[Tensor, Tensor]]:
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(x), x, create_graph=True)
    return [(x, gradient[place]) for place in range(4)]


def test_a_write_through_a_view_moves_the_tangent_of_its_base() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 2
        tail = y[1:]
        y[0].mul_(x[1])
        y[1:3] = x[:2] * 5
        return (tail * tail).sum() + (y * x).sum()

    x, v = values(4), values(4, seed=3)
    close(func.jvp(f, (x,), (v,))[1], (func.grad(f)(x) * v).sum())


def test_linearize_calls_the_function_once() -> None:
    calls: list[int] = []

    def f(x: Tensor) -> Tensor:
        calls.append(1)
        return x.sin() * x.sum()

    x = values(3)
    out, push = func.linearize(f, x)
    rows = torch.stack([push(row) for row in torch.eye(3, dtype=torch.float64)])
    assert len(calls) == 1
    close(out, f(x))
    close(rows.T, func.jacrev(f)(x))


def test_debug_unwrap() -> None:
    shapes: list[Any] = []

    def f(x: Tensor) -> Tensor:
        shapes.append((func.debug_unwrap(x).shape, func.debug_unwrap(x, recurse=False).shape))
        return x

    vmap(vmap(f))(torch.ones(2, 3, 4))
    assert shapes == [((2, 3, 4), (3, 4))]


# -- Modules: anything with their members and methods


class Scale:
    """A Module as far as `functional_call` knows one."""

    def __init__(self, *shape: int, seed: int = 0) -> None:
        self.training = True
        self._parameters = {"weight": values(*shape, seed=seed).requires_grad_()}
        self._parameters["tied"] = self._parameters["weight"]
        self._buffers = {"shift": values(*shape, seed=seed + 1)}
        self._modules: dict[str, Any] = {}

    def named_parameters(self, remove_duplicate: bool = True) -> Any:
        return list(self._parameters.items())[: 1 if remove_duplicate else 2]

    def named_buffers(self, remove_duplicate: bool = True) -> Any:
        return list(self._buffers.items())

    def __call__(self, x: Tensor) -> Tensor:
        return x * self._parameters["weight"] * self._parameters["tied"] + self._buffers["shift"]


def test_functional_call() -> None:
    module, x, w = Scale(3), values(3, seed=5), values(3, seed=6)
    before = module._parameters["weight"]
    shift = module._buffers["shift"]
    close(func.functional_call(module, {"weight": w}, x), x * w * w + shift)
    close(func.functional_call(module, {"weight": w}, (x,), tie_weights=False), x * w * before + shift)
    close(func.functional_call(module, ({"weight": w}, {"shift": w}), kwargs={"x": x}), x * w * w + w)
    assert module._parameters["weight"] is before
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): shift"):
        func.functional_call(module, {"weight": w}, x, strict=True)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): other"):
        func.functional_call(module, {"weight": w, "shift": w, "other": w}, x, strict=True)
    with pytest.raises(ValueError, match="multiple dictionaries"):
        func.functional_call(module, ({"weight": w}, {"weight": w}), x)
    with pytest.raises(ValueError, match="which are tied"):
        func.functional_call(module, {"weight": w, "tied": x}, x)
    func.functional_call(module, {"weight": w, "other": w}, x)
    assert not hasattr(module, "other")
    with pytest.raises(AttributeError, match="other"):
        func.functional_call(module, {"other.weight": w}, x)


def test_stack_module_state() -> None:
    modules = [Scale(3, seed=seed) for seed in (0, 4, 8)]
    parameters, buffers = func.stack_module_state(modules)
    assert parameters["weight"].shape == (3, 3)
    assert parameters["weight"].is_leaf
    assert parameters["weight"].requires_grad
    assert not buffers["shift"].requires_grad
    x = values(3, seed=9)
    out = vmap(lambda p, b: func.functional_call(modules[0], (p, b), x))(parameters, buffers)
    close(out, torch.stack([module(x) for module in modules]))
    with pytest.raises(RuntimeError, match="at least one model"):
        func.stack_module_state([])
    modules[1].training = False
    with pytest.raises(RuntimeError, match="training/eval"):
        func.stack_module_state(modules)


def test_a_result_that_is_left_out_is_left_out_of_a_batch() -> None:
    grads, images, grids = values(3, 1, 2, 2, 2, seed=0), values(3, 1, 2, 4, 5, seed=1), values(3, 1, 2, 2, 2, seed=2)

    def of_image(grad: Tensor, image: Tensor, grid: Tensor) -> Tensor:
        found, left_out = ops.grid_sampler_2d_backward(grad, image, grid, 0, 0, False, [True, False])
        assert left_out is None
        return found

    each = [of_image(*inputs) for inputs in zip(grads, images, grids, strict=True)]
    close(vmap(of_image)(grads, images, grids), torch.stack(each))
    close(vmap(of_image, (0, 0, None))(grads, images, grids[0])[0], each[0])
