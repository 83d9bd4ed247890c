"""utils.checkpoint, the same in both libraries."""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref
from typing import Any

import pytest

import gradwright
from support.both import assert_same

BOTH_WAYS = pytest.mark.parametrize("use_reentrant", [True, False])


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def checkpoint(torch: Any, *args: Any, **kwargs: Any) -> Any:

    return torch.utils.checkpoint.checkpoint(*args, **kwargs)


@BOTH_WAYS
def test_gradients_and_number_of_runs(use_reentrant: bool) -> None:
    def body(torch: Any) -> Any:
        runs: list[bool] = []

        def function(x: Any, factor: Any, y: Any) -> Any:
            runs.append(torch.is_grad_enabled())
            return (x * y).exp() * factor, y.sin()

        x, y = leaf(torch), leaf(torch)
        first, second = checkpoint(torch, function, x, 3, y, use_reentrant=use_reentrant)
        count = len(runs)
        (first.sum() + second.sum()).backward()
        return count, len(runs), first, x.grad, y.grad

    assert_same(body)


@BOTH_WAYS
def test_random_numbers_repeat(use_reentrant: bool) -> None:
    for torch in (gradwright, __import__("torch")):
        x = torch.ones(100, requires_grad=True)
        drop = functools.partial(torch.dropout, p=0.5, train=True)
        y = checkpoint(torch, drop, x, use_reentrant=use_reentrant)
        y.sum().backward()
        assert y.tolist() == x.grad.tolist()
        assert len(set(y.tolist())) == 2


def test_random_numbers_do_not_repeat_if_not_asked_to() -> None:
    x = gradwright.ones(1000, requires_grad=True)
    function = lambda x: gradwright.dropout(x * 1, 0.5, True)  # noqa: E731
    y = checkpoint(gradwright, function, x, use_reentrant=False, preserve_rng_state=False)
    y.sum().backward()
    assert x.grad is not None
    assert y.tolist() != x.grad.tolist()


def test_twice() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        y = checkpoint(torch, lambda x: (x * x).exp(), x, use_reentrant=False)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        z = checkpoint(torch, lambda x: (x * x).exp(), x, use_reentrant=False)
        first = torch.autograd.grad(z.sum(), x, create_graph=True)[0]
        return x.grad, first, torch.autograd.grad(first.sum(), x)

    assert_same(body)


def test_inside_each_other() -> None:
    def body(torch: Any) -> Any:
        def inner(x: Any, y: Any = None) -> Any:
            return (x * x).sin() * y

        def outer(x: Any) -> Any:
            a = checkpoint(torch, inner, x.tanh(), y=x, use_reentrant=False)
            return checkpoint(torch, inner, a.tanh(), y=a, use_reentrant=False) * a

        x = leaf(torch)
        checkpoint(torch, outer, x, use_reentrant=False).sum().backward()
        return x.grad

    assert_same(body)


def test_what_the_function_made_is_gone() -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        y = x.exp()
        seen.append(weakref.ref(y))
        return y.sin().exp()

    for torch in (gradwright, __import__("torch")):
        seen.clear()
        x = torch.ones(3, requires_grad=True)
        y = checkpoint(torch, function, x, use_reentrant=False)
        gc.collect()
        assert [reference() for reference in seen] == [None]
        y.sum().backward()


def test_saved_state_can_be_looked_at() -> None:
    def body(torch: Any) -> Any:
        y = checkpoint(torch, lambda x: (x * x).exp(), leaf(torch), use_reentrant=False)
        return y.grad_fn._saved_result, y.grad_fn._saved_result

    assert_same(body)


def test_a_function_that_does_something_else_the_second_time() -> None:
    def body(torch: Any, second: Any, **options: Any) -> Any:
        runs: list[int] = []

        def function(x: Any) -> Any:
            runs.append(1)
            y = x * x
            return y.exp() * y if len(runs) == 1 else second(torch, y)

        checkpoint(torch, function, leaf(torch), use_reentrant=False, **options).sum().backward()

    assert_same(lambda torch: body(torch, lambda torch, y: y), "A different number of tensors was saved")
    assert_same(
        lambda torch: body(torch, lambda torch, y: (y * torch.ones(3, 2)).exp() * y),
        "have different metadata than during the forward",
    )
    with pytest.raises(gradwright.utils.checkpoint.CheckpointError, match=r"Saved during recomputation"):
        body(gradwright, lambda torch, y: y, debug=True)


def test_contexts_and_early_stop() -> None:
    def body(torch: Any, early_stop: bool) -> Any:
        seen: list[str] = []

        @contextlib.contextmanager
        def noted(name: str) -> Any:
            seen.append(name)
            yield
            seen.append(f"end of {name}")

        def function(x: Any) -> Any:
            y = (x * x).exp()
            seen.append("late")
            return y + 1

        contexts = lambda: (noted("first"), noted("second"))  # noqa: E731
        options = {"use_reentrant": False, "context_fn": contexts, "early_stop": early_stop}
        checkpoint(torch, function, leaf(torch), **options).sum().backward()
        return seen

    # A context of a generator does not go on after an exception, so that it has no end where the run is stopped.
    assert_same(lambda torch: body(torch, True))
    assert_same(lambda torch: body(torch, False))


def test_wrong_uses() -> None:
    def function(x: Any) -> Any:
        return x * x

    assert_same(
        lambda torch: torch.autograd.grad(checkpoint(torch, function, x := leaf(torch), use_reentrant=True).sum(), x),
        "is incompatible with .grad()",
    )
    assert_same(
        lambda torch: checkpoint(torch, function, x := leaf(torch), use_reentrant=True).sum().backward(inputs=[x]),
        "is incompatible with .grad()",
    )
    assert_same(
        lambda torch: checkpoint(torch, lambda x: x.detach(), leaf(torch), use_reentrant=True).sum().backward(),
        "none of output has requires_grad=True",
    )
    assert_same(lambda torch: checkpoint(torch, function, x=leaf(torch), use_reentrant=True), "Unexpected keyword")
    assert_same(lambda torch: checkpoint(torch, function, leaf(torch), use_reentrant=False, bogus=1))
    assert_same(
        lambda torch: checkpoint(torch, function, leaf(torch), use_reentrant=False, determinism_check="x"),
        "determinism_check should be one of",
    )
    assert_same(
        lambda torch: checkpoint(torch, function, leaf(torch), use_reentrant=True, debug=True),
        "is only supported when use_reentrant=False",
    )


@BOTH_WAYS
def test_sequential(use_reentrant: bool) -> None:
    def body(torch: Any) -> Any:

        x = leaf(torch)
        steps = [torch.exp, torch.sin, torch.tanh, lambda x: x * 3, torch.cos]
        y = torch.utils.checkpoint.checkpoint_sequential(steps, 3, x, use_reentrant=use_reentrant)
        y.sum().backward()
        return y, x.grad

    assert_same(body)


def test_warnings() -> None:
    for torch in (gradwright, __import__("torch")):
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
            checkpoint(torch, lambda x: x * 2, torch.ones(2), use_reentrant=True)
        with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
            checkpoint(torch, lambda x: x * 2, leaf(torch))


@pytest.mark.parametrize("early_stop", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_a_gradient_inside_of_a_checkpoint(early_stop: bool, create_graph: bool, nested: bool) -> None:
    def body(torch: Any) -> Any:
        run = functools.partial(checkpoint, torch, use_reentrant=False, early_stop=early_stop)

        def inner(x: Any) -> Any:
            y = (x.sin() * x.exp()).sum()
            return torch.autograd.grad(y, x, create_graph=create_graph)[0] * x

        def outer(x: Any) -> Any:
            return run(inner, x.cos()).exp() if nested else inner(x)

        x = torch.tensor([0.3, 0.7], requires_grad=True)
        (first,) = torch.autograd.grad(run(outer, x).sum(), x, create_graph=create_graph)
        run(outer, x).sum().backward()
        return first, x.grad

    assert_same(body)


def test_a_checkpoint_that_differentiates_another_graph() -> None:
    def body(torch: Any, early_stop: bool) -> Any:
        def run(x: Any) -> Any:
            z = x.detach().clone().requires_grad_()
            (z * z).sum().backward()
            return x.sin() * z.grad

        x = torch.tensor([0.3, 0.7], requires_grad=True)
        checkpoint(torch, run, x, use_reentrant=False, early_stop=early_stop).sum().backward()
        return x.grad

    assert_same(lambda torch: body(torch, False))
    assert_same(lambda torch: body(torch, True))


@pytest.mark.parametrize("early_stop", [False, True])
def test_a_checkpoint_of_a_transform(early_stop: bool) -> None:
    """PyTorch refuses hooks in transforms."""

    def function(x: Any) -> Any:
        return gradwright.func.grad(lambda z: (z.sin() * z.exp()).sum())(x) * x

    x = gradwright.tensor([0.3, 0.7], requires_grad=True)
    wanted = gradwright.autograd.grad(function(x).sum(), x)
    out = gradwright.utils.checkpoint.checkpoint(function, x, use_reentrant=False, early_stop=early_stop)
    assert gradwright.autograd.grad(out.sum(), x)[0].tolist() == wanted[0].tolist()


@BOTH_WAYS
@pytest.mark.parametrize("cast", [("forward",), ("backward",), ("forward", "backward")])
def test_the_second_run_casts_as_the_first(use_reentrant: bool, cast: tuple[str, ...]) -> None:
    def body(torch: Any) -> Any:
        def block(on: bool) -> Any:
            return torch.autocast("cpu", dtype=torch.bfloat16) if on else contextlib.nullcontext()

        seen: list[str] = []

        def function(x: Any) -> Any:
            out = x @ weight
            seen.append(str(out.dtype).rpartition(".")[2])
            return out.tanh().float()

        weight = (torch.arange(16.0).reshape(4, 4) / 32).requires_grad_()
        x = torch.ones(2, 4, requires_grad=True)
        with block("forward" in cast):
            out = checkpoint(torch, function, x, use_reentrant=use_reentrant)
        with block("backward" in cast):
            out.sum().backward()
        return seen, x.grad, weight.grad

    assert_same(body)


def test_parts_of_a_sequence_cast_as_they_did() -> None:
    def body(torch: Any) -> Any:
        steps = [lambda x: x @ (torch.arange(4.0).reshape(2, 2) / 8), lambda x: x.exp()] * 2
        x = torch.ones(2, 2, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = torch.utils.checkpoint.checkpoint_sequential(steps, 2, x, use_reentrant=False)
        out.float().sum().backward()
        return x.grad

    assert_same(body)
