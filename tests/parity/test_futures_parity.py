"""Futures, conditions on Tensors, and checks of sizes, the same in both libraries."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import pytest

import gradwright
from support.both import assert_same, assert_same_results


def _fail(*args: Any) -> Any:
    raise KeyError("x")


CALLS = [
    *("Future().done()", "done(1).done()", "done(1).wait()", "done(1).value()", "Future().value()", "bad().done()"),
    *("bad().wait()", "bad().value()", "bad().then(lambda f: f.wait()).wait()", "bad().then(lambda f: 3).wait()"),
    *("done(1).then(lambda f: f.wait() + 1).wait()", "done(1).then(fail).wait()", "done(1).then(fail).value()"),
    *("done(1).set_result(2)", "bad().set_result(2)", "done(1).set_exception(ValueError())", "done(1).then(3)"),
    *("done(1).set_exception(3)", "Future(devices=['cpu'])", "Future(devices=[]).done()", "Future(devices=3)"),
    *("[f.wait() for f in collect_all([done(1), done(2)]).wait()]", "collect_all([]).wait()", "collect_all(3)"),
    *("collect_all([done(1), Future()]).done()", "collect_all([done(1), bad()]).wait()", "collect_all([3])"),
    *("wait_all([done(1), done(2)])", "wait_all([done(1), bad()])", "wait_all([])"),
    *("torch.fork(lambda a, b=2: a + b, 1).wait()", "torch.wait(torch.fork(lambda a, b=2: a + b, 1, b=4))"),
    *("torch.fork(fail, 1)", "torch.wait(done(3))", "torch.wait(3)", "torch.wait(bad())"),
    *("torch.jit.fork(lambda a: a, 1).wait()", "torch.jit.wait(done(3))", "torch.jit.wait(3)"),
    *("isinstance(done(1), torch.Future)", "isinstance(done(1).then(id), torch.Future)"),
]


@pytest.mark.parametrize("call", CALLS)
def test_futures(call: str) -> None:
    def body(torch: Any) -> Any:
        futures = torch.futures

        def done(value: Any) -> Any:
            future = futures.Future()
            future.set_result(value)
            return future

        def bad() -> Any:
            future = futures.Future()
            future.set_exception(ValueError("no"))
            return future

        names = {name: getattr(futures, name) for name in ("Future", "collect_all", "wait_all")}
        return eval(call, {"torch": torch, "done": done, "bad": bad, "fail": _fail, **names})

    assert_same(body)


def test_callbacks() -> None:
    def body(torch: Any) -> Any:
        future, seen = torch.futures.Future(), []
        following = future.then(lambda f: seen.append(("then", f.value())) or f.value() * 2)
        future.add_done_callback(lambda f: seen.append(("done", f.value())))
        both = torch.futures.collect_all([future, following])
        before = following.done(), both.done()
        future.set_result(torch.ones(2))
        future.add_done_callback(lambda f: seen.append(("late", f.done())))
        return before, sorted(seen, key=lambda each: each[0]), following.wait(), both.done()

    assert_same_results(body)


def test_waiting_for_another_thread() -> None:
    def body(torch: Any) -> Any:
        future = torch.futures.Future()
        thread = threading.Thread(target=lambda: (time.sleep(0.01), future.set_result(5)))
        thread.start()
        found = future.wait()
        thread.join()
        return found

    assert_same_results(body)


def test_errors_of_callbacks_are_told(caplog: pytest.LogCaptureFixture) -> None:
    future = gradwright.futures.Future[int]()
    future.add_done_callback(_fail)
    future.set_result(1)
    assert "KeyError" in caplog.text


def test_deprecation() -> None:
    def body(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.jit.wait(torch.jit.fork(int, 3))
        return [(str(each.message), each.category.__name__) for each in caught]

    assert_same_results(body)


# -- conditions: PyTorch compiles what has a Tensor for its condition

PREDICATES = ["True", "False", "1", "0.0", "torch.tensor(True)", "torch.tensor([False])", "torch.tensor(1.0)"]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_cond(predicate: str) -> None:
    def body(torch: Any) -> Any:
        x, y = torch.arange(3.0, requires_grad=True), torch.ones(3, requires_grad=True)
        chosen = eval(predicate, {"torch": torch})
        out = torch.cond(
            chosen,
            lambda d, z: {"out": d["a"] * z, "other": z + 1},
            lambda d, z: {"out": d["a"] - z, "other": z.sin()},
            ({"a": x}, y),
        )
        grads = torch.autograd.grad((out["out"] * out["other"]).sum(), (x, y))
        return out["out"].detach(), out["other"].detach(), grads

    assert_same_results(body)


@pytest.mark.parametrize("in_dims", [(0, 0), (None, 0), (0, None)])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_cond_for_each_element_of_a_batch(in_dims: Any, shape: Any) -> None:
    def body(torch: Any) -> Any:
        signs = torch.tensor([1.0, -1.0, 2.0]).reshape(3, *shape)
        x = torch.arange(6.0).reshape(3, 2)
        p, x = signs if in_dims[0] == 0 else signs[1], x if in_dims[1] == 0 else x[0]

        def choose(p: Any, x: Any) -> Any:
            return torch.cond(p > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

        return torch.func.vmap(choose, in_dims=in_dims)(p, x)

    assert_same_results(body)


def test_gradients_of_cond_for_each_element() -> None:
    def choose(p: Any, x: Any) -> Any:
        return gradwright.cond(p > 0, lambda x: (x * 3, {"a": x}), lambda x: (x * x, {"a": x + 1}), (x,))

    x = gradwright.tensor([2.0, 5.0], requires_grad=True)
    out, more = gradwright.func.vmap(choose)(gradwright.tensor([1.0, -1.0]), x)
    assert more["a"].tolist() == [2.0, 6.0]
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 10.0]
    with pytest.raises(RuntimeError, match="same structure"):
        gradwright.func.vmap(lambda p: gradwright.cond(p > 0, lambda: p, lambda: [p]))(gradwright.ones(2))


WRONG = [
    "'text', f, g, (x,)",
    "None, f, g, (x,)",
    "torch.tensor([True, False]), f, g, (x,)",
    "True, 3, g, (x,)",
    "torch.tensor(True), 3, g, (x,)",
    "True, f, g, 3",
    "torch.tensor(True), f, g, 3",
    "torch.tensor(True), f, g, ('a',)",
    "torch.tensor(True), f, g, (None,)",
    "torch.tensor(True), f, g, (2.5,)",
    "True, f, g, (3,)",
    "True, lambda: 1, lambda: 2",
]


@pytest.mark.parametrize("args", WRONG)
def test_arguments_of_cond(args: str) -> None:
    def body(torch: Any) -> Any:
        names = {"torch": torch, "x": torch.ones(2), "f": lambda x: x + 1, "g": lambda x: x - 1}
        return eval(f"torch.cond({args})", names)

    assert_same(body)


# -- sizes

SIZES = [
    "sym_constrain_range(3, min=1, max=5)", "sym_constrain_range(3, min=4, max=5)", "sym_constrain_range(3)",
    "sym_constrain_range(3, min=5, max=1)", "sym_constrain_range(3.5, min=1)", "sym_constrain_range(3, max=2)",
    "sym_constrain_range(torch.tensor(3), min=1)", "sym_constrain_range_for_size(3, min=1, max=5)",
    "sym_constrain_range_for_size(3, min=4, max=5)", "sym_constrain_range_for_size(3, min=0, max=2)",
    "sym_constrain_range_for_size(3)", "sym_constrain_range_for_size(-1)", "sym_constrain_range_for_size(3.5)",
    "sym_constrain_range_for_size(3, max=1)", "sym_fresh_size(1)", "sym_fresh_size()",
]  # fmt: skip


@pytest.mark.parametrize("call", SIZES)
def test_checks_of_sizes(call: str) -> None:
    assert_same(lambda torch: eval(f"torch.{call}", {"torch": torch}))
