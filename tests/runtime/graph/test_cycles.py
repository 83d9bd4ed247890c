"""Cycles through Tensors and Nodes: the collector finds them, whichever member of an object they go through."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import Tensor
from gradwright.autograd import grad
from gradwright.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from runtime.base.state import Extra
from runtime.graph import engine
from runtime.graph.node import Node, OutputEdge, accumulator
from support.handmade import Kept


class Held:
    """Something that a cycle holds; it leads to whatever it is given."""

    def __init__(self, *leads_to: Any) -> None:
        self.leads_to = leads_to

    def look(self, *_: Any) -> None:
        """A hook."""


@pytest.fixture(autouse=True)
def no_collection_by_itself() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf() -> Tensor:
    return gradwright.ones(2, requires_grad=True)


def member(name: str) -> Callable[[], Any]:
    """A Tensor whose member leads to something that leads to it."""

    def make() -> Any:
        x = leaf()
        held = Held(x)
        setattr(x, name, held)
        return held

    return make


def extra_member(name: str) -> Callable[[], Any]:
    def make() -> Any:
        x = leaf()
        held = Held(x)
        setattr(x.extra, name, held)
        return held

    return make


def node_member(name: str) -> Callable[[], Any]:
    """The same for a Node of a Python class."""

    def make() -> Any:
        x = Kept.apply(leaf())
        held = Held(x)
        setattr(x.grad_fn, name, (held,))
        return held

    return make


def node_extra_member(name: str) -> Callable[[], Any]:
    """The same for a Node of a generated class, by way of two others that nobody tells of it."""

    def make() -> Any:
        x = leaf()
        y = x * x
        held = Held((y * 2).exp())
        getattr(y.grad_fn.extra, name)[0] = held
        return held

    return make


def numbers_that_lead_on(function: Callable[[Tensor], Tensor]) -> Callable[[], Any]:
    """A Node that saves a Tensor which leads to what was made of the Node."""

    def make() -> Any:
        x = leaf()
        held = Held()
        other = x * 1
        y = function(other)
        held.leads_to = (y.sum() * 2,)
        other.extra.level = held
        return held

    return make


def through_saved_list() -> Any:
    index = gradwright.tensor([0, 1])
    held = Held((leaf() * 1)[index] * 2)
    index.extra.level = held
    return held


def through_attribute() -> Any:
    x = leaf()
    held = Held((x * x).tanh())
    x.note = held  # type: ignore[attr-defined]
    return held


def through_recorded_gradient() -> Any:
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    held = Held(x)
    x.grad.extra.level = held
    return held


def through_gradient_of_gradient() -> Any:
    x, w = leaf(), leaf()
    (g,) = grad((x * w).exp().sum(), x, create_graph=True)
    x.grad = g.sin()
    held = Held(x)
    w.extra.level = held
    return held


def through_retained_gradient() -> Any:
    x = leaf()
    y = x * x
    y.retain_grad()
    (y * y * y).sum().backward(create_graph=True)
    held = Held(x)
    y.extra.level = held
    return held


def through_hook() -> Any:
    x = leaf()
    y = x * 2
    held = Held((y * y).tanh())
    y.register_hook(held.look)
    return held


def through_node_hook() -> Any:
    x = leaf()
    y = x * 2
    held = Held((y * y).tanh())
    y.grad_fn.register_hook(held.look)
    return held


def through_leaf_hook() -> Any:
    x = leaf()
    held = Held((x * x).tanh())
    x.register_post_accumulate_grad_hook(held.look)
    return held


def through_accumulator() -> Any:
    x = leaf()
    held = Held((x * x).tanh())
    accumulator(x).register_hook(held.look)
    return held


def through_function() -> Any:
    y = Kept.apply(leaf())
    held = Held((y * y).sum())
    y.grad_fn.kept = held
    return held


def through_packed() -> Any:
    x = leaf()
    held = Held()
    with saved_tensors_hooks(lambda t: (t, held), lambda packed: packed[0]):
        y = x.exp() * x
    held.leads_to = (y * 3,)
    return held


def through_view_and_base() -> Any:
    x = leaf()
    base = x * 1
    view = base[:1]
    view.mul_(3)
    held = Held(view)
    base.extra.level = held
    return held


def through_write() -> Any:
    """No help of a user's: a Node saved what was written with what the Node made."""
    x = leaf()
    held = Held()
    y = x * 1
    z = y * gradwright.ones(2, requires_grad=True)
    y.add_(z)
    y.extra.level = held
    return held


def through_search() -> Any:
    x = leaf()
    held = Held()
    y = x * 2
    register_multi_grad_hook([y], lambda grads: None)

    def hook(g: Tensor) -> None:
        held.leads_to = (engine.current_run(), y)

    y.register_hook(hook)
    grad(y.sum(), x, retain_graph=True)
    assert held.leads_to[0] is not None
    return held


def through_several_outputs() -> Any:
    y = (leaf() * 2).unbind(0)[1]
    held = Held((y * y).exp())
    assert isinstance(y._edge, OutputEdge)
    y._edge.node.extra.metadata["held"] = held
    return held


def through_class_of_node() -> Any:
    """A Node that has become one of another class, since what it saved was asked for as an object."""
    x = leaf()
    y = x * x
    held = Held((y * 2).exp())
    y.grad_fn._raw_saved_self.register_hooks(lambda t: (t * 1, held), lambda packed: packed[0])
    return held


CYCLES: dict[str, Callable[[], Any]] = {
    **{f"Tensor.{name}": member(name) for name in ("_base", "_edge")},
    **{f"Extra.{name}": extra_member(name) for name in vars(Extra) if not name.startswith("__")},
    **{f"Node.{name}": node_member(name) for name in ("edges", "shape", "dtype")},
    **{f"NodeExtra.{name}": node_extra_member(name) for name in ("hooks", "prehooks", "tensor_hooks", "metadata")},
    "saved inputs": numbers_that_lead_on(lambda x: x * x),
    "saved optional": numbers_that_lead_on(lambda x: gradwright.nn.functional.layer_norm(x, (2,), x, x)),
    **{
        name.removeprefix("through_").replace("_", " "): function
        for name, function in list(globals().items())
        if name.startswith("through_")
    },
}


@pytest.mark.parametrize("cycle", CYCLES)
def test_it_is_collected(cycle: str) -> None:
    held = weakref.ref(CYCLES[cycle]())
    assert held() is not None, "there is no cycle"
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_recorded_gradients_are_collected_in_each_generation(generation: int) -> None:
    """Young cycles go with the young collections, which come often."""
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    nodes = [weakref.ref(x), weakref.ref(x.grad.grad_fn)]
    del x
    gc.collect(generation)
    assert [node() for node in nodes] == [None, None]


def count_of(kind: type) -> int:
    return sum(issubclass(type(one), kind) for one in gc.get_objects())


def test_training_with_recorded_gradients_does_not_grow() -> None:
    """With the collector as users have it: what is alive at the end does not depend on how long it went on."""
    gc.enable()
    alive: list[weakref.ref[Any]] = []
    for _ in range(2_000):
        x = gradwright.ones(3, requires_grad=True)
        (x * x * x).sum().backward(create_graph=True)
        alive += [weakref.ref(x), weakref.ref(x.grad.grad_fn)]
    del x
    assert sum(one() is not None for one in alive) < 1_000
    gc.collect()
    assert sum(one() is not None for one in alive) == 0


def test_a_step_that_differentiates_its_gradient_leaves_nothing() -> None:
    x = gradwright.ones(3, requires_grad=True)

    def step() -> None:
        (g,) = grad((x * x * x).sum(), x, create_graph=True)
        (g * g).sum().backward()
        x.grad = None

    step()
    gc.collect()
    before = count_of(Tensor), count_of(Node), len(gc.get_objects())
    for _ in range(200):
        step()
    assert (count_of(Tensor), count_of(Node)) == before[:2]
    assert len(gc.get_objects()) < before[2] + 100


def test_who_looks_at_the_end_finds_whole_objects() -> None:
    """Finalizers and callbacks of references run before anything of a cycle is taken apart."""
    seen: list[Any] = []

    class Looks(Held):
        def __del__(self) -> None:
            x, node = self.leads_to
            seen.append((x.tolist(), x.grad.tolist(), node.name(), len(node.next_functions), node._saved_self.tolist()))

    x = leaf()
    y = x * x
    y.sum().backward(create_graph=True)
    held = Looks(x, y.grad_fn)
    x.extra.level = held
    del x, y, held
    gc.collect()
    assert seen == [([1.0, 1.0], [2.0, 2.0], "MulBackward0", 2, [1.0, 1.0])]


def test_what_comes_back_to_life_works() -> None:
    back: list[Any] = []

    class Returns(Held):
        def __del__(self) -> None:
            back.extend(self.leads_to)

    x = leaf()
    y = (x * x).exp()
    y.grad_fn.metadata["held"] = Returns(y, x)
    del x, y
    gc.collect()
    y, x = back
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * np.e)


def test_a_cleared_object_can_be_looked_at() -> None:
    """One that nothing holds any more but what is being freed itself."""
    seen: list[Any] = []

    class Late:
        """It goes when its holder goes, perhaps after others of the cycle were cleared."""

        __slots__ = ("node", "tensor")

        def __del__(self) -> None:
            for look in (
                lambda: self.tensor.shape,
                lambda: self.tensor.grad_fn,
                lambda: self.tensor.requires_grad,
                lambda: (self.tensor * 2).tolist(),
                lambda: self.node.next_functions,
                lambda: self.node.metadata,
                lambda: self.node._saved_self,
                lambda: self.node(gradwright.ones(2)),
                lambda: repr(self.tensor),
            ):
                try:
                    seen.append(look())
                except RuntimeError as error:
                    seen.append(str(error))

    x = leaf()
    y = x * x
    late = Late()
    late.tensor, late.node = y, y.grad_fn
    y.grad_fn.metadata["late"] = late
    del x, y, late
    gc.collect()
    assert len(seen) == 9
