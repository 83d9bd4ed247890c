"""The engine under threads, in itself, interrupted, with hooks that fail, and with graphs that go away meanwhile."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradwright
from gradwright import Tensor
from gradwright.autograd import Function, grad
from runtime import native
from runtime.graph import engine
from runtime.graph.node import Node
from support.handmade import Kept

# Long enough for signals and other threads to come in between.
CHAIN = 300_000 if native.is_available() else 40_000


def chain(x: Tensor, length: int) -> Tensor:
    c = gradwright.ones(x.shape)
    y = x
    for _ in range(length):
        y = y * c
    return y


def used_leaf() -> Tensor:
    """A leaf that has had a gradient: nothing of it is made in Python when it gets another one."""
    x = gradwright.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    x.grad = None
    return x


def in_threads(count: int, work: Callable[[int], None]) -> list[BaseException]:
    """Run `work` in several threads that start together; what they raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def body(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def in_rounds(count: int, rounds: int, work: Callable[[int], None], after: Callable[[], None]) -> None:
    """Run `work(number)` in several threads at once, and `after()` when all have done it; again and again."""
    barrier = threading.Barrier(count, after)

    def body(number: int) -> None:
        try:
            for _ in range(rounds):
                barrier.wait()
                work(number)
            barrier.wait()
        except BaseException:
            barrier.abort()  # the others would wait for ever
            raise

    errors = in_threads(count, body)
    assert [error for error in errors if not isinstance(error, threading.BrokenBarrierError)] == []
    assert errors == []


@pytest.fixture(autouse=True)
def quick_switching() -> Iterator[None]:
    """The interpreter goes from thread to thread as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert engine.current_run() is None
    assert gradwright.is_grad_enabled()


class Pass(Function):
    """The identity, with whatever is to happen on the way back."""

    action: Callable[[], object]

    @staticmethod
    def forward(ctx: Any, x: Tensor, action: Callable[[], object]) -> Tensor:
        ctx.action = action
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ctx.action()
        return grad, None


# -- threads


def test_threads_add_to_the_same_leaves() -> None:
    leaves = [gradwright.ones(3, requires_grad=True) for _ in range(4)]

    def work(number: int) -> None:
        for step in range(60):
            y = leaves[0] * 2
            for leaf in leaves[1:]:
                y = y + leaf if step % 2 else leaf * 3 - y
            if step % 3 == 0:
                y = Pass.apply(y, lambda: None)
            (y * (1 if step % 2 else -1)).sum().backward(inputs=leaves if step % 5 == 0 else None)

    assert in_threads(6, work) == []
    shared, leaves = leaves, [gradwright.ones(3, requires_grad=True) for _ in range(4)]
    for number in range(6):
        work(number)
    assert shared[1].grad.tolist() != [0.0] * 3
    assert [leaf.grad.tolist() for leaf in shared] == [leaf.grad.tolist() for leaf in leaves]


def test_threads_run_the_same_graph() -> None:
    x = gradwright.ones(3, requires_grad=True)
    y = (x * x + x).tanh()
    for _ in range(20):
        y = (y * x).clone()
    out = y.sum()
    expected = grad(out, x, retain_graph=True)[0]
    found: list[Tensor] = []

    def work(number: int) -> None:
        for _ in range(30):
            found.extend(grad(out, x, retain_graph=True))

    assert in_threads(6, work) == []
    assert len(found) == 180
    assert all(one.tolist() == expected.tolist() for one in found)


def test_threads_free_the_same_graph() -> None:
    for _ in range(20):
        x = gradwright.ones(3, requires_grad=True)
        y = x
        for step in range(60):
            y = y * x
            if step % 10 == 0:
                y = Pass.apply(y, lambda: None).tanh()
        box = [y]
        del y
        done: list[int] = []

        def work(number: int, box: list[Tensor] = box, done: list[int] = done) -> None:
            out = box[0]
            if number == 3:
                box.clear()
            out.backward(gradwright.ones(3))
            done.append(number)

        errors = in_threads(4, work)
        assert len(errors) + len(done) == 4
        assert {type(error) for error in errors} <= {RuntimeError, IndexError}
        assert all("second time" in str(e) for e in errors if isinstance(e, RuntimeError))


def test_threads_meet_at_a_fresh_leaf() -> None:
    """All that a leaf has of its own is made by whoever comes first, and the others find it."""
    state: dict[str, Any] = {"x": None, "total": 0}

    def work(number: int) -> None:
        x, done = state["x"], state["done"]
        if number % 4 == 1:
            x.register_post_accumulate_grad_hook(lambda _: done.append("accumulated"))
        elif number % 4 == 2:
            (x * 1).grad_fn.next_functions[0][0].register_hook(lambda *_: done.append("after"))
        elif number % 4 == 3:
            x.register_hook(lambda _: done.append("leaf"))
        x.sum().backward()

    def after() -> None:
        x = state["x"]
        if x is not None:
            assert x.grad.tolist() == [8.0, 8.0]
            state["done"].clear()
            x.sum().backward()
            assert sorted(state["done"]) == ["accumulated"] * 2 + ["after"] * 2 + ["leaf"] * 2
            state["total"] += 1
        state["x"], state["done"] = gradwright.ones(2, requires_grad=True), []

    in_rounds(8, 150, work, after)
    assert state["total"] == 150


def test_threads_meet_at_a_fresh_node() -> None:
    state: dict[str, Any] = {"y": None, "total": 0}

    def work(number: int) -> None:
        y, done = state["y"], state["done"]
        if number % 4 == 0:
            y.register_hook(lambda _: done.append("tensor"))
        elif number % 4 == 1:
            y.grad_fn.register_prehook(lambda *_: done.append("before"))
        elif number % 4 == 2:
            y.grad_fn.metadata[number] = number
        else:
            y.retain_grad()
        y.sum().backward(retain_graph=True)

    def after() -> None:
        y = state["y"]
        if y is not None:
            state["done"].clear()
            y.sum().backward()
            assert sorted(state["done"]) == ["before"] * 2 + ["tensor"] * 2
            assert y.grad_fn.metadata == {2: 2, 6: 6}
            assert y.grad is not None
            assert state["x"].grad.tolist() == [18.0, 18.0]
            state["total"] += 1
        x = state["x"] = gradwright.ones(2, requires_grad=True)
        state["y"], state["done"] = x * 2, []

    in_rounds(8, 100, work, after)
    assert state["total"] == 100


def test_gradients_are_taken_away_and_recorded_meanwhile() -> None:
    """Nobody can say what is left; but whatever a thread sees is a gradient."""
    x = gradwright.ones(3, requires_grad=True)

    def work(number: int) -> None:
        for step in range(40):
            if number == 0:
                x.grad = None
            elif number == 1:
                x.grad = gradwright.ones(3)
            else:
                (x * x).sum().backward(create_graph=number == 2 and step % 2 == 0)
            found = x.grad
            assert found is None or (found.shape == (3,) and set(found.tolist()) <= set(map(float, range(1, 400))))

    assert in_threads(6, work) == []
    x.grad = None


def test_threads_look_at_what_another_frees() -> None:
    state: dict[str, Any] = {"z": None}
    messages: set[str] = set()

    def work(number: int) -> None:
        y, z = state["y"], state["z"]
        try:
            if number % 4 == 0:
                z.backward()
            elif number % 4 == 1:
                assert y.grad_fn._saved_self is not None
            elif number % 4 == 2:
                raw = y.grad_fn._raw_saved_self
                assert raw.unpack(y.grad_fn) is not None
            else:
                assert z.grad_fn.next_functions[0][0].saved_tensors[0] is not None
        except RuntimeError as error:
            messages.add(str(error)[:56])

    def after() -> None:
        x = gradwright.full((2,), 2.0, requires_grad=True)
        state["y"] = x * x
        state["z"] = Kept.apply(state["y"]).sum()

    in_rounds(8, 100, work, after)
    assert messages <= {"Trying to backward through the graph a second time (or d"}


def test_other_threads_have_their_turns() -> None:
    """Several within a backward: one or two come from what runs before and after the engine's loop."""
    for _ in range(20):  # whether another thread comes to run at all is up to the machine
        x = used_leaf()
        y = chain(x, 2 * CHAIN)
        started, turns, stop = threading.Event(), [], threading.Event()

        def look(x: Tensor = x, started: Any = started, turns: list[bool] = turns, stop: Any = stop) -> None:
            started.wait()
            while not stop.is_set():
                turns.append(x.grad is None)
                stop.wait(1e-4)

        thread = threading.Thread(target=look)
        thread.start()
        started.set()
        y.backward(gradwright.ones(2))
        stop.set()
        thread.join()
        assert x.grad is not None
        if turns.count(True) > 4:
            return
    pytest.fail("the engine kept all other threads waiting")


# -- a backward within a backward


def test_backward_within_hooks() -> None:
    x, other = gradwright.ones(2, requires_grad=True), gradwright.ones(2, requires_grad=True)
    order: list[str] = []

    def inner(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            order.append(name)
            outer = engine.current_run()
            with gradwright.enable_grad():
                (other * 3).sum().backward()
                (found,) = grad((other * other).sum(), other)
            assert found.tolist() == [2.0, 2.0]
            assert engine.current_run() is outer

        return hook

    y = x * 2
    z = y.tanh()
    y.register_hook(inner("tensor"))
    z.grad_fn.register_hook(inner("node"))
    z.grad_fn.register_prehook(inner("before"))
    x.register_post_accumulate_grad_hook(inner("leaf"))
    z.sum().backward()
    assert order == ["before", "node", "tensor", "leaf"]
    assert other.grad.tolist() == [12.0, 12.0]


@pytest.mark.parametrize("deepest", [60, 2000])
def test_backward_within_backward_goes_deep(deepest: int) -> None:
    x = gradwright.ones(2, requires_grad=True)
    depths: list[int] = []

    def descend(depth: int) -> Callable[[], None]:
        def action() -> None:
            depths.append(depth)
            if depth < deepest:
                with gradwright.enable_grad():
                    (Pass.apply(x * 2, descend(depth + 1)) * x).sum().backward()

        return action

    Pass.apply(x * 2, descend(0)).sum().backward()
    assert depths == list(range(deepest + 1))
    assert x.grad.tolist() == [2.0 + deepest * 4] * 2


def test_a_backward_without_end_is_an_error() -> None:
    x = gradwright.ones(2, requires_grad=True)

    def again() -> None:
        with gradwright.enable_grad():
            Pass.apply(x * 2, again).sum().backward()

    with pytest.raises(RecursionError):
        Pass.apply(x * 2, again).sum().backward()
    assert x.grad is None


def test_the_same_graph_again_within_its_backward() -> None:
    x = gradwright.ones(2, requires_grad=True)
    inner: list[Tensor] = []

    def action() -> None:
        if len(inner) < 3:
            inner.append(x)
            box[0].backward(retain_graph=True)

    y = Pass.apply(x * 2, action) * 3
    box = [y.sum()]
    box[0].backward(retain_graph=True)
    assert x.grad.tolist() == [24.0, 24.0]


# -- failures


class Failed(Exception):
    pass


@pytest.mark.parametrize("place", ["tensor", "before", "after", "leaf", "accumulated", "before leaf", "function"])
def test_what_raises_leaves_the_engine_usable(place: str) -> None:
    x, w = gradwright.ones(2, requires_grad=True), gradwright.ones(2, requires_grad=True)
    failing = True

    def fail(*_: Any) -> None:
        if failing:
            raise Failed(place)

    y = Pass.apply(x * w, fail if place == "function" else lambda: None)
    z = y * 2
    if place == "tensor":
        y.register_hook(fail)
    elif place == "before":
        y.grad_fn.register_prehook(fail)
    elif place == "after":
        z.grad_fn.register_hook(fail)
    elif place == "leaf":
        x.register_hook(fail)
    elif place == "accumulated":
        x.register_post_accumulate_grad_hook(fail)
    elif place == "before leaf":
        (x * 1).grad_fn.next_functions[0][0].register_prehook(fail)
    reference = weakref.ref(z.grad_fn)
    with pytest.raises(Failed, match=place):
        z.sum().backward(retain_graph=True)
    with pytest.raises(Failed, match=place):
        grad(z.sum(), [w, x], retain_graph=True) if place != "accumulated" and place != "before leaf" else fail()
    failing = False
    x.grad = w.grad = None
    z.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([2.0, 2.0], [2.0, 2.0])
    del y, z
    gc.collect()
    assert reference() is None


def test_wrong_gradients_are_errors() -> None:
    x = gradwright.ones(2, requires_grad=True)

    class Bad(Node):
        __slots__ = ("given",)

        def apply(self, grad: Any) -> Any:
            return self.given

    for given, error in [((1.5,), AttributeError), (("text",), AttributeError), (3, TypeError)]:
        y = x * 2
        node = Bad((y.grad_fn,), (2,), y._array.dtype)
        node.given = given
        y._edge = node
        with pytest.raises(error):
            y.sum().backward()
    y = x * 2
    node = Bad((y.grad_fn,), (2,), y._array.dtype)
    node.given = (gradwright.ones(3),)
    y._edge = node
    with pytest.raises(RuntimeError, match="invalid gradient"):
        y.sum().backward()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("towards", [False, True])
def test_it_can_be_interrupted(towards: bool) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    x = used_leaf()
    # The timer starts in the loop: what comes before it may take its time.
    y = Pass.apply(chain(x, CHAIN), lambda: signal.setitimer(signal.ITIMER_REAL, 0.002))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            y.backward(gradwright.ones(2), inputs=[x] if towards else None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# -- graphs that go away


def test_long_graphs_disappear_in_a_small_stack() -> None:
    x = gradwright.ones(2, requires_grad=True)
    box: list[Any] = [chain(x, CHAIN), chain(x, 10).tanh()]
    for step in range(20_000):  # through saved Tensors, outputs of other Nodes and Python's Nodes
        box[1] = box[1] * box[1] if step % 3 else Pass.apply(box[1], len)
    reference = weakref.ref(box[1].grad_fn)
    old = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    gc.collect()
    assert reference() is None


def test_long_graphs_in_cycles_disappear() -> None:
    x = gradwright.ones(2, requires_grad=True)
    y = chain(x, 50_000)
    y.grad_fn.metadata["itself"] = y
    reference = weakref.ref(y)
    del y
    gc.collect()
    assert reference() is None


def test_the_graph_goes_while_it_runs() -> None:
    x = gradwright.ones(2, requires_grad=True)
    counts: list[int] = []

    def let_go(*_: Any) -> None:
        box.clear()
        gc.collect()
        counts.append(1)

    y = x * x
    y.register_hook(let_go)
    y = Pass.apply(y, let_go)
    y = y.unbind(0)[0] * y.sum()
    y.grad_fn.register_hook(let_go)
    x.register_post_accumulate_grad_hook(let_go)
    box: list[Any] = [y]
    del y
    box[0].backward()
    assert len(counts) == 4
    assert x.grad.tolist() == [6.0, 2.0]


def test_hooks_that_take_themselves_away() -> None:
    x = gradwright.ones(2, requires_grad=True)
    y = x * 3
    handles: list[Any] = []
    calls: list[str] = []

    def once(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            calls.append(name)
            for handle in handles:
                handle.remove()

        return hook

    handles.append(y.register_hook(once("tensor")))
    handles.append(y.grad_fn.register_prehook(once("before")))
    handles.append(x.register_hook(once("leaf")))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert calls == ["tensor"]
    assert x.grad.tolist() == [6.0, 6.0]


def test_hooks_registered_on_the_way() -> None:
    x = gradwright.ones(2, requires_grad=True)
    calls: list[str] = []
    y = x * 3

    def action() -> None:
        y.register_hook(lambda g: calls.append("tensor"))
        x.register_hook(lambda g: calls.append("leaf"))
        x.register_post_accumulate_grad_hook(lambda t: calls.append("accumulated"))

    Pass.apply(y * 2, action).sum().backward()
    assert calls == ["tensor", "leaf", "accumulated"]
