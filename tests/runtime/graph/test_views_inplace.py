"""Views and in-place writes on hand-written operators: shared versions, new histories, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gradwright.autograd import backward, grad, no_grad
from runtime.base.sharing import counter, views_over
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.graph import views
from runtime.graph.node import Node
from runtime.graph.regions import Region
from runtime.native import core
from support.handmade import add, constant, expand, leaf, mul, mul_, sum_all, take, unbind


def twice(tensor: Tensor) -> Tensor:
    return mul(tensor, constant(2.0))


def g(tensor: Tensor) -> list[float]:
    assert tensor.grad is not None
    return tensor.grad._array.tolist()


def test_views_know_their_root() -> None:
    base = constant([[1.0, 2.0], [3.0, 4.0]])
    row = take(base, 0)
    element = take(row, slice(0, 1))
    assert row._base is base
    assert element._base is base
    assert base._base is None


def test_versions_are_shared() -> None:
    base = constant([1.0, 2.0])
    view = take(base, slice(0, 1))
    alias = base.detach()
    views.bump_version(alias)
    assert base._writes is view._writes is alias._writes
    assert counter(base)[0] == 1


def test_dead_views_are_forgotten() -> None:
    """A base that is viewed in every step of a long training keeps a bounded number of references."""
    base = constant([1.0, 2.0, 3.0])
    kept = [take(base, slice(1, 3)) for _ in range(10)]
    for _ in range(10_000):
        take(base, slice(1, 3))
    assert [id(view) for view in views_over(base)] == [id(view) for view in kept]
    if core is None:
        assert len(base._writes[1].references) < 100


def test_write_through_a_view() -> None:
    x, w = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    y = twice(x)
    view = take(y, slice(1, 3))
    mul_(view, w)
    assert y._edge.name() == "CopySlices"
    assert view._edge.name() == "AsStridedBackward0"
    backward(sum_all(y))
    assert g(x) == [2.0, 20.0, 40.0]
    assert g(w) == [4.0, 6.0]


def test_write_through_the_base_reaches_views() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = twice(x)
    view = take(y, slice(1, 3))
    mul_(y, constant([1.0, 5.0, 7.0]))
    assert view._array.tolist() == [20.0, 42.0]
    backward(sum_all(view))
    assert g(x) == [0.0, 10.0, 14.0]


def test_write_through_one_view_reaches_another() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = twice(x)
    left, right = take(y, slice(0, 2)), take(y, slice(1, 3))
    mul_(left, constant([3.0, 5.0]))
    backward(sum_all(right))
    assert g(x) == [0.0, 10.0, 2.0]


def test_view_of_a_view() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = twice(x)
    column = take(take(y, slice(None)), (slice(None), 1))
    mul_(column, constant([3.0, 5.0]))
    mul_(take(y, 1), constant([7.0, 11.0]))
    backward(sum_all(y))
    assert g(x) == [[2.0, 6.0], [14.0, 110.0]]


def test_base_without_gradient_comes_to_have_one() -> None:
    base, w = constant([1.0, 2.0, 3.0]), leaf([10.0])
    before = take(base, slice(0, 2))
    mul_(take(base, slice(1, 2)), w)
    assert isinstance(base._edge, Node)
    assert isinstance(before._edge, Node)
    backward(sum_all(before))
    assert g(w) == [2.0]


def test_old_value_keeps_its_history() -> None:
    x = leaf([1.0, 2.0])
    y = twice(x)
    old = add(y, constant([0.0, 0.0]))
    mul_(y, constant([5.0, 5.0]))
    backward(sum_all(old))
    assert g(x) == [2.0, 2.0]


def test_write_through_a_detached_alias_has_no_history_but_counts() -> None:
    x = leaf([1.0, 2.0])
    y = twice(x)
    z = mul(y, y)
    mul_(y.detach(), constant([5.0, 5.0]))
    assert y._edge.name() == "MulBackward0"
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        backward(sum_all(z))


def test_view_and_write_under_no_grad_ask_for_no_gradient() -> None:
    x = leaf([1.0, 2.0])
    with no_grad():
        view = take(x, slice(0, 1))
        mul_(view, constant([3.0]))
    assert (view.requires_grad, view.grad_fn, view.is_leaf) == (False, None, True)
    assert not sum_all(view).requires_grad
    backward(sum_all(x))
    assert g(x) == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="was created in no_grad mode and is being modified inplace"):
        mul_(view, constant([3.0]))


def test_write_under_no_grad_has_no_history() -> None:
    x = leaf([1.0, 2.0])
    with no_grad():
        mul_(x, constant([3.0, 3.0]))
        mul_(take(x, slice(0, 1)), constant([2.0]))
    assert x._edge is LEAF
    assert x._array.tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: x, "a leaf Variable that requires grad is being used in an in-place operation"),
        (lambda x: take(x, slice(0, 1)), "a view of a leaf Variable that requires grad is being used"),
        (lambda x: unbind(twice(x))[0], "Output 0 of UnbindBackward0 is a view and is being modified inplace"),
        (lambda x: take(unbind(twice(x))[1], ...), "a function that returns multiple views"),
        (lambda x: expand(twice(take(x, slice(0, 1))), (3,)), "more than one element of the written-to tensor"),
    ],
)
def test_refused_writes(make: object, message: str) -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]]) if "Output" in message or "multiple" in message else leaf([1.0, 2.0])
    target = make(x)  # type: ignore[operator]
    before = target._array.copy()
    with pytest.raises(RuntimeError, match=message):
        mul_(target, constant(2.0))
    assert (target._array == before).all()


def test_view_made_under_no_grad() -> None:
    y = twice(leaf([1.0, 2.0]))
    with no_grad():
        view = take(y, slice(0, 1))
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        mul_(view, constant([2.0]))


def test_leaf_that_came_to_require_grad_after_its_view() -> None:
    base = constant([1.0, 2.0])
    view = take(base, slice(0, 1))
    base.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        mul_(view, constant([2.0]))


@pytest.mark.parametrize("no_grad_view", [False, True])
def test_views_that_lose_their_meaning(no_grad_view: bool) -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = twice(x)
    if no_grad_view:
        with no_grad():
            view = take(y, 0)
    else:
        view = unbind(y)[0]
    mul_(y, constant(3.0))
    message = "its base or another view of its base has been modified inplace"
    with pytest.raises(RuntimeError, match=message):
        grad(sum_all(view), x)
    with pytest.raises(RuntimeError, match=message):
        backward(sum_all(view))


def test_retained_gradient_is_that_of_the_new_value() -> None:
    x = leaf([1.0, 2.0])
    y = twice(x)
    y.retain_grad()
    mul_(y, constant([3.0, 5.0]))
    backward(sum_all(y))
    assert g(y) == [1.0, 1.0]


@pytest.mark.parametrize("write", ["through the view", "through an alias"])
def test_an_unrecorded_write_makes_views_stale_that_must_not_change(write: str) -> None:
    y = twice(leaf([[1.0, 2.0], [3.0, 4.0]]))
    row = unbind(y)[0]
    views.bump_version(row if write == "through the view" else y.detach())
    with pytest.raises(RuntimeError, match="is a view and its base or another view of its base has been modified"):
        backward(sum_all(row))


def test_hook_stays_with_the_value_it_was_put_on() -> None:
    seen: list[list[float]] = []
    y = twice(leaf([1.0, 2.0]))
    y.register_hook(lambda grad: seen.append(grad._array.tolist()))
    mul_(y, constant([3.0, 5.0]))
    backward(sum_all(y))
    assert seen == [[3.0, 5.0]]


def test_graph_of_a_write_can_be_freed() -> None:
    x = leaf([1.0, 2.0])
    y = twice(x)
    mul_(take(y, slice(0, 1)), constant([3.0]))
    total = sum_all(y)
    backward(total)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        backward(total)


# -- regions


def _layouts() -> list[tuple[np.ndarray, np.ndarray]]:
    base = np.arange(24.0).reshape(4, 6)
    fortran = np.asfortranarray(base)
    wide = np.arange(96.0).reshape(8, 12)[::2, ::2]
    backwards = np.arange(24.0).reshape(4, 6)[::-1, ::-1]
    pairs = []
    for array in (base, fortran, wide, backwards):
        pairs += [(array, array[1:3, ::2]), (array, array.T[2]), (array, array[::-1, 3:]), (array, array[..., None])]
    windows = np.lib.stride_tricks.sliding_window_view(base, 3, axis=1)
    broadcast = np.broadcast_to(base[:, :1], (4, 5))
    numbers = np.arange(6.0) + 1j
    parts = [(numbers, numbers.real), (numbers, numbers.imag)]
    return [*pairs, *parts, (base, windows), (base, broadcast), (base, base[:0])]


@pytest.mark.parametrize(("base", "view"), _layouts())
def test_region(base: np.ndarray, view: np.ndarray) -> None:
    region = Region(base, view)
    values = np.ascontiguousarray(base)
    np.testing.assert_array_equal(region.gather(values), view)
    np.testing.assert_array_equal(region.gather(np.asfortranarray(base)), view)
    # The adjoint: <gather(a), b> == <a, scatter(b)>, as real vectors.
    b = np.random.default_rng(0).random(view.shape)
    scattered = region.scatter(b)
    assert scattered.shape == base.shape
    left = np.sum(region.gather(values) * b)
    right = np.sum(np.real(np.conj(values) * scattered))
    np.testing.assert_allclose(left, right)
    cleared = region.clear(values)
    np.testing.assert_array_equal(region.gather(cleared), np.zeros(view.shape))


def test_region_of_reinterpreted_parts() -> None:
    base = np.arange(6.0).reshape(3, 2)
    view = base.view("complex128")[:, 0]
    region = Region(base, view)
    np.testing.assert_array_equal(region.gather(base), view)
    np.testing.assert_array_equal(region.scatter(view), base)


def test_wrapped_region_is_a_copy_of_nothing() -> None:
    base = wrap(np.zeros((2, 3)))
    view = take(base, 1)
    views.rebase_history(view, Node((), (3,), np.dtype("float64")))
    assert base._edge.name() == "CopySlices"
    np.testing.assert_array_equal(base._array, np.zeros((2, 3)))
