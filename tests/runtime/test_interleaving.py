"""Two threads on one object: whatever the one is about to do, the other may come in between.

A first action runs again and again, each time with another line of the runtime before which a second one runs in a
thread of its own. Where the second has to wait for the first, it goes on when it can. So nothing here is up to chance
or to how loaded the machine is.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import generated
import gradwright
import runtime
from gradwright import Tensor
from gradwright.autograd import Function, grad
from runtime.base import modes
from runtime.call import registered
from runtime.graph.node import accumulator
from runtime.native import is_available

OURS = tuple(str(Path(package.__file__ or "").parent) for package in (gradwright, generated, runtime))
State = dict[str, Any]
Action = Callable[[State], Any]


class Double(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * 2 * (x / x)


def interrupted(first: Action, second: Action, state: State, at: int) -> tuple[list[BaseException | Any], bool]:
    """What the two give, or raise, where `second` runs before line `at` of `first`; whether there is such a line."""
    found: list[Any] = [None, None]
    lines = 0

    def perform(number: int, action: Action) -> None:
        try:
            found[number] = action(state)
        except Exception as error:
            found[number] = error

    other = threading.Thread(target=perform, args=(1, second))

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            if lines == at:
                other.start()
                other.join(
                    0.02
                )  # longer only where it waits for a lock, or the machine is slow: then they run together
            lines += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        perform(0, first)
    finally:
        sys.settrace(before)
    reached = lines > at
    if not reached:
        other.start()
    other.join()
    return found, reached


def at_every_line(prepare: Callable[[], State], first: Action, second: Action, check: Callable[..., None]) -> None:
    first(prepare())  # so that all is loaded that is loaded on first use
    second(prepare())
    at, reached = 0, True
    while reached:
        state = prepare()
        found, reached = interrupted(first, second, state, at)
        try:
            check(state, *found)
        except AssertionError as error:
            error.add_note(f"at line {at}")
            raise
        at += 1
    assert at > 3 or is_available()  # what is done in C++ is done without a break


def no_errors(*found: Any) -> None:
    for one in found:
        if isinstance(one, BaseException):
            raise AssertionError("an action failed") from one


def leaf() -> State:
    return {"x": gradwright.ones(2, requires_grad=True), "calls": []}


def backward(state: State) -> None:
    (state["x"] * 2).sum().backward()


def test_gradients_of_a_fresh_leaf() -> None:
    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert state["x"].grad.tolist() == [4.0, 4.0]

    at_every_line(leaf, backward, backward, check)


def test_gradients_of_a_leaf_that_is_marked() -> None:
    """A leaf whose rare parts are those that all views of a kind share."""

    def prepare() -> State:
        base = gradwright.ones(2)
        with gradwright.no_grad():
            view = base.view(2)
        return {"x": view.requires_grad_(), "calls": []}

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert state["x"].grad.tolist() == [4.0, 4.0]

    at_every_line(prepare, backward, backward, check)


def test_recorded_gradients_of_a_fresh_leaf() -> None:
    def recorded(state: State) -> None:
        (state["x"] * state["x"]).sum().backward(create_graph=True)

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert state["x"].grad.tolist() == [4.0, 4.0]
        state["x"].grad = None

    at_every_line(leaf, recorded, recorded, check)


def test_gradients_that_are_taken_away_meanwhile() -> None:
    def take(state: State) -> None:
        state["x"].grad = None

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert state["x"].grad is None or state["x"].grad.tolist() == [2.0, 2.0]

    at_every_line(leaf, backward, take, check)


def test_retained_gradients() -> None:
    def prepare() -> State:
        x = gradwright.ones(2, requires_grad=True)
        y = x * 3
        y.retain_grad()
        return {"y": y}

    def run(state: State) -> None:
        (state["y"] * 2).sum().backward(retain_graph=True)

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert state["y"].grad.tolist() == [4.0, 4.0]

    at_every_line(prepare, run, run, check)


PLACES: dict[str, Callable[[State, Callable[..., Any]], Any]] = {
    "leaf": lambda state, hook: state["x"].register_hook(hook),
    "accumulated": lambda state, hook: state["x"].register_post_accumulate_grad_hook(hook),
    "tensor": lambda state, hook: state["y"].register_hook(hook),
    "after": lambda state, hook: state["y"].grad_fn.register_hook(hook),
    "before": lambda state, hook: state["y"].grad_fn.register_prehook(hook),
    "after accumulation": lambda state, hook: accumulator(state["x"]).register_hook(hook),
    "before accumulation": lambda state, hook: state["y"].grad_fn.next_functions[0][0].register_prehook(hook),
}


def used_leaf() -> State:
    x = gradwright.ones(2, requires_grad=True)
    return {"x": x, "y": x * 3, "calls": []}


@pytest.mark.parametrize(("place", "other"), [*itertools.combinations_with_replacement(PLACES, 2)])
def test_hooks_are_not_lost(place: str, other: str) -> None:

    def register(place: str, name: str) -> Action:
        return lambda state: PLACES[place](state, lambda *_: state["calls"].append(name))

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        state["y"].sum().backward()
        assert sorted(state["calls"]) == ["first", "second"]

    at_every_line(used_leaf, register(place, "first"), register(other, "second"), check)


@pytest.mark.parametrize("place", PLACES)
def test_hooks_beside_a_backward(place: str) -> None:
    def register(state: State) -> None:
        PLACES[place](state, lambda *_: state["calls"].append(1))

    def run(state: State) -> None:
        state["y"].sum().backward(retain_graph=True)

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert state["x"].grad.tolist() == [3.0, 3.0]
        state["calls"].clear()
        run(state)
        assert state["calls"] == [1]
        assert state["x"].grad.tolist() == [6.0, 6.0]

    at_every_line(used_leaf, run, register, check)


def test_notes_and_accumulators_are_the_same_for_all() -> None:
    def notes(state: State) -> Any:
        return state["y"].grad_fn.metadata

    def stands_for(state: State) -> Any:
        return state["y"].grad_fn.next_functions[0][0]

    def same(state: State, one: Any, other: Any) -> None:
        no_errors(one, other)
        assert one is other

    at_every_line(used_leaf, notes, notes, same)
    at_every_line(used_leaf, stands_for, stands_for, same)


def graph() -> State:
    x = gradwright.full((2,), 2.0, requires_grad=True)
    y = x * x
    return {"x": x, "y": y, "z": Double.apply(y.exp()).sum()}


def freed(state: State, *found: Any) -> None:
    errors = [one for one in found if isinstance(one, BaseException)]
    assert all(isinstance(error, RuntimeError) and "a second time" in str(error) for error in errors), errors
    assert len(errors) < 2


def test_two_backward_passes_that_free_the_graph() -> None:
    """Both come through, or one is told that the graph is freed."""
    at_every_line(graph, lambda state: state["z"].backward(), lambda state: state["z"].backward(), freed)


@pytest.mark.parametrize("name", ["_saved_self", "_saved_other", "_raw_saved_self"])
def test_what_is_saved_beside_a_backward_that_frees_it(name: str) -> None:
    def look(state: State) -> None:
        found = getattr(state["y"].grad_fn, name)
        assert found is not None
        if name.startswith("_raw"):
            assert found.unpack(state["y"].grad_fn) is not None

    at_every_line(graph, lambda state: state["z"].backward(), look, freed)
    at_every_line(graph, look, lambda state: state["z"].backward(), freed)


def test_saved_objects_beside_a_backward_that_keeps_the_graph() -> None:
    def run(state: State) -> Any:
        return grad(state["z"], state["x"], retain_graph=True)[0].tolist()

    def look(state: State) -> Any:
        return state["y"].grad_fn._raw_saved_self

    expected = run(graph())

    def check(state: State, one: Any, other: Any) -> None:
        no_errors(one, other)
        assert one == expected
        assert other is look(state)
        assert run(state) == expected

    at_every_line(graph, run, look, check)


def test_packing_beside_a_backward() -> None:
    """A Node that was about to run finds what it needs, or says that it is gone; later passes find it packed."""

    def run(state: State) -> Any:
        return grad(state["z"], state["x"], retain_graph=True)[0].tolist()

    def pack(state: State) -> None:
        state["y"].grad_fn._raw_saved_self.register_hooks(lambda t: t.detach() * 1, lambda t: t)

    expected = run(graph())

    def check(state: State, one: Any, other: Any) -> None:
        no_errors(other)
        assert one == expected or (isinstance(one, RuntimeError) and "a second time" in str(one))
        assert run(state) == expected

    at_every_line(graph, run, pack, check)


def test_two_threads_run_a_node_whose_saved_tensor_is_packed() -> None:
    def prepare() -> State:
        state = graph()
        state["y"].grad_fn._raw_saved_self.register_hooks(lambda t: t.detach() * 1, lambda t: t)
        return state

    def run(state: State) -> Any:
        return grad(state["z"], state["x"], retain_graph=True)[0].tolist()

    expected = run(graph())

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        assert list(found) == [expected, expected]

    at_every_line(prepare, run, run, check)


def test_only_one_pair_of_hooks_packs() -> None:
    def pack(state: State) -> None:
        state["y"].grad_fn._raw_saved_self.register_hooks(lambda t: t.detach() * 1, lambda t: t)

    def check(state: State, *found: Any) -> None:
        (error,) = [one for one in found if one is not None]
        assert isinstance(error, RuntimeError)
        assert "hooks have already been set" in str(error)

    at_every_line(graph, pack, pack, check)


def test_one_count_of_writes() -> None:
    """What was saved while another thread made a Tensor over the same memory: a write to either is noticed."""

    def prepare() -> State:
        x = gradwright.ones(2, requires_grad=True)
        return {"x": x, "y": x * 1}

    def save(state: State) -> None:
        state["z"] = state["y"].tanh_().sum()  # saves its result, and with it the count

    def share(state: State) -> None:
        state["alias"] = state["y"].detach()

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        with gradwright.no_grad():
            state["alias"].add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            state["z"].backward()

    at_every_line(prepare, save, share, check)
    at_every_line(prepare, share, save, check)


def test_views_made_at_once_are_all_known() -> None:
    def prepare() -> State:
        x = gradwright.ones(4, requires_grad=True)
        return {"x": x, "y": x * 1, "views": []}

    def view(state: State) -> None:
        state["views"].append(state["y"].view(2, 2))

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        state["y"].mul_(2)
        assert [type(one.grad_fn).__name__ for one in state["views"]] == ["AsStridedBackward0"] * 2

    at_every_line(prepare, view, view, check)


def test_anomaly_mode_is_switched_once() -> None:
    def switch(on: bool) -> Action:
        return lambda state: gradwright.autograd.set_detect_anomaly(on)

    def check(state: State, *found: Any) -> None:
        no_errors(*(one for one in found if isinstance(one, BaseException)))
        gradwright.autograd.set_detect_anomaly(False)
        assert modes._unusual == 0
        assert modes.process_handlers.nodes == modes.process_handlers.recorded == ()

    at_every_line(dict, switch(True), switch(True), check)
    at_every_line(dict, switch(True), switch(False), check)
    at_every_line(dict, switch(False), switch(True), check)


def test_kernels_of_one_operator() -> None:
    """Registered by two threads for an operator that comes later: both come into force with it."""

    def prepare() -> State:
        return {"library": gradwright.library.Library("meeting", "FRAGMENT")}

    def register(key: str) -> Action:
        return lambda state: state["library"].impl("f", lambda x: x, key)

    def define(state: State) -> None:
        state["library"].define("f(Tensor x) -> Tensor")

    def check(state: State, *found: Any) -> None:
        no_errors(*found)
        if not registered.exists("meeting::f"):
            define(state)
        assert registered.has_kernel("meeting::f", "CPU")
        assert gradwright.ops.meeting.f(gradwright.ones(1)).item() == 1.0
        state["library"]._destroy()

    at_every_line(prepare, register("CPU"), register("Autograd"), check)
    at_every_line(prepare, define, register("CPU"), check)
