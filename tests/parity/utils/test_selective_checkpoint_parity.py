"""Checkpointing by operators, the same in both libraries: what is kept, what computes again, what is refused."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

import pytest

import gradwright.utils.checkpoint
from support.both import assert_same

UNSEEN = frozenset(("aten.detach.default",))


def leaves(torch: Any) -> tuple[Any, Any]:
    return (
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        torch.tensor([[0.5, 0.6], [0.7, 0.8]], requires_grad=True),
    )


def noting(torch: Any, seen: list[str]) -> Any:
    mode = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Noting(mode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if str(func) not in UNSEEN:
                seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Noting()


class Both:
    """Two contexts, the second inside of the first, that can be entered again."""

    def __init__(self, outer: Any, inner: Any) -> None:
        self.outer, self.inner = outer, inner

    def __enter__(self) -> None:
        self.outer.__enter__()
        self.inner.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.inner.__exit__(*error)
        self.outer.__exit__(*error)


def contexts(torch: Any, policy: Any, again: list[str], **kwargs: Any) -> Callable[[], Any]:
    """A `context_fn` that notes the operators which compute again."""

    def make() -> Any:
        first, second = torch.utils.checkpoint.create_selective_checkpoint_contexts(policy, **kwargs)
        return first, Both(noting(torch, again), second)

    return make


def by_name(torch: Any, policies: dict[str, str]) -> Callable[..., Any]:
    """A policy by the names of operators; the rest computes again."""
    kinds = torch.utils.checkpoint.CheckpointPolicy

    def policy(context: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        return kinds[policies.get(str(func), "PREFER_RECOMPUTE")]

    return policy


def function(x: Any, y: Any) -> Any:
    return ((x @ y).sigmoid() @ y).exp().sin() * y


MM, EXP, SIGMOID = "aten.mm.default", "aten.exp.default", "aten.sigmoid.default"


@pytest.mark.parametrize(
    "policies",
    [
        {},
        {MM: "MUST_SAVE"},
        {MM: "PREFER_SAVE", EXP: "MUST_RECOMPUTE"},
        {EXP: "MUST_SAVE", SIGMOID: "MUST_SAVE"},
        {MM: "MUST_CPU_OFFLOAD", EXP: "PREFER_CPU_OFFLOAD"},
        dict.fromkeys((MM, EXP, SIGMOID, "aten.sin.default", "aten.mul.Tensor"), "PREFER_SAVE"),
    ],
)
@pytest.mark.parametrize("early_stop", [True, False])
def test_what_computes_again(policies: dict[str, str], early_stop: bool) -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        again: list[str] = []
        make = contexts(torch, by_name(torch, policies), again)
        out = torch.utils.checkpoint.checkpoint(
            function, x, y, use_reentrant=False, context_fn=make, early_stop=early_stop
        )
        before = len(again)
        out.backward(torch.ones(2, 2))
        if early_stop:  # PyTorch saves the arguments of an operator before it computes: it stops one earlier
            again = [name for name in again if name != "aten.mul.Tensor"]
        return before, again, out, x.grad, y.grad

    assert_same(body)


def test_gradients_are_those_without_a_checkpoint() -> None:
    torch = gradwright
    x, y = leaves(torch)
    expected = torch.autograd.grad(function(x, y).sum(), [x, y])
    make = contexts(torch, [torch.ops.aten.mm.default], [])
    out = torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=make)
    for actual, wanted in zip(torch.autograd.grad(out.sum(), [x, y]), expected, strict=True):
        assert torch.allclose(actual, wanted)


def test_a_list_of_operators() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        again: list[str] = []
        make = contexts(torch, [torch.ops.aten.mm.default, torch.ops.aten.sin.default], again)
        out = torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=make, early_stop=False)
        out.backward(torch.ones(2, 2))
        return again, x.grad

    assert_same(body)


def test_what_a_policy_is_told() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        told: list[Any] = []

        def policy(context: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
            if str(func) not in UNSEEN:
                told.append((str(func), context.is_recompute, context.op_output, len(args), kwargs))
            return len(told) % 2 == 0

        make = contexts(torch, policy, [])
        out = torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=make)
        count = len(told)
        out.backward(torch.ones(2, 2))
        return told, count, x.grad

    assert_same(body)


def test_several_results_and_views() -> None:
    def split(x: Any, y: Any) -> Any:
        values, places = (x * y).max(0)
        return values.sin() * places + x.t().exp().unsqueeze(0)[0].cos()

    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        again: list[str] = []
        kept = {"aten.max.dim": "MUST_SAVE", "aten.t.default": "MUST_SAVE", "aten.unsqueeze.default": "MUST_SAVE"}
        make = contexts(torch, by_name(torch, kept), again)
        out = torch.utils.checkpoint.checkpoint(split, x, y, use_reentrant=False, context_fn=make, early_stop=False)
        out.backward(torch.ones(2, 2))
        return again, out, x.grad, y.grad

    assert_same(body)


def test_a_second_backward_is_refused() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        make = contexts(torch, [torch.ops.aten.mm.default], [])
        out = torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=make)
        out.backward(torch.ones(2, 2), retain_graph=True)
        out.backward(torch.ones(2, 2))

    def nothing_kept(torch: Any) -> Any:
        x, y = leaves(torch)
        make = contexts(torch, [], [])
        out = torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=make)
        out.backward(torch.ones(2, 2), retain_graph=True)
        out.backward(torch.ones(2, 2))
        return x.grad

    assert_same(body, "Trying to backward an extra time")
    assert_same(nothing_kept)


@pytest.mark.parametrize("changed", ["more", "others"])
def test_another_function_the_second_time(changed: str) -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        runs: list[int] = []

        def unsteady(x: Any, y: Any) -> Any:
            runs.append(1)
            if len(runs) > 1:
                return (x @ y).exp().exp() if changed == "more" else (x @ y).cos().exp()
            return (x @ y).exp()

        make = contexts(torch, [torch.ops.aten.mm.default], [])
        out = torch.utils.checkpoint.checkpoint(unsteady, x, y, use_reentrant=False, context_fn=make, early_stop=False)
        out.backward(torch.ones(2, 2))

    assert_same(body)


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("kept", ["aten.mul.Tensor", "aten.mul_.Tensor", "aten.exp.default"])
def test_writes_in_place(kept: str, allowed: bool) -> None:
    def writing(x: Any, y: Any) -> Any:
        product = x * y
        product.mul_(y.detach())
        return product.exp().sin()

    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        again: list[str] = []
        make = contexts(torch, by_name(torch, {kept: "MUST_SAVE"}), again, allow_cache_entry_mutation=allowed)
        out = torch.utils.checkpoint.checkpoint(writing, x, y, use_reentrant=False, context_fn=make, early_stop=False)
        out.backward(torch.ones(2, 2))
        return again, x.grad

    assert_same(body)


def test_a_kept_result_that_is_written_outside() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        make = contexts(torch, [torch.ops.aten.mm.default], [])
        kept, out = torch.utils.checkpoint.checkpoint(
            lambda x, y: ((z := x @ y), z.exp()), x, y, use_reentrant=False, context_fn=make
        )
        with torch.no_grad():
            kept.detach().zero_()
        out.backward(torch.ones(2, 2))

    assert_same(body, "Tensor cached during selective activation checkpoint has been mutated")


def test_checkpoints_inside_each_other() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        again: list[str] = []
        outer = contexts(torch, [torch.ops.aten.mm.default], again)
        inner = contexts(torch, [torch.ops.aten.exp.default], again)
        checkpoint = torch.utils.checkpoint.checkpoint

        def nested(x: Any, y: Any) -> Any:
            z = (x @ y).sin()
            return checkpoint(function, z, y, use_reentrant=False, context_fn=inner, early_stop=False).cos()

        def plain(x: Any, y: Any) -> Any:
            return checkpoint(function, (x @ y).sin(), y, use_reentrant=False, early_stop=False).cos()

        grads = []
        for run in (nested, plain):
            out = checkpoint(run, x, y, use_reentrant=False, context_fn=outer, early_stop=False)
            grads.append(torch.autograd.grad(out, [x, y], torch.ones(2, 2)))
        return grads

    assert_same(body)


def test_random_numbers_are_kept_or_repeat() -> None:
    for torch in (gradwright, importlib.import_module("torch")):
        for kept in ([], [torch.ops.aten.mul.Tensor]):
            x = torch.ones(100, requires_grad=True)
            make = contexts(torch, kept, [])
            out = torch.utils.checkpoint.checkpoint(
                lambda x, dropout: dropout(x, 0.5) * x.exp(),
                x,
                torch.nn.functional.dropout,
                use_reentrant=False,
                context_fn=make,
            )
            out.sum().backward()
            assert ((out == 0) == (x.grad == 0)).all().item()


@pytest.mark.parametrize("wrong", ["packet", "text", "none"])
def test_wrong_policies(wrong: str) -> None:
    def body(torch: Any) -> Any:
        given = {"packet": [torch.ops.aten.mm], "text": ["aten.mm.default"], "none": None}[wrong]
        torch.utils.checkpoint.create_selective_checkpoint_contexts(given)

    assert_same(body)


def test_without_recording_there_are_no_contexts() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        asked: list[Any] = []

        def policy(context: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
            asked.append(func)
            return False

        with torch.no_grad():
            out = torch.utils.checkpoint.checkpoint(
                function, x, y, use_reentrant=False, context_fn=contexts(torch, policy, [])
            )
        return asked, out

    assert_same(body)


def test_a_context_with_debugging_is_refused() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        make = contexts(torch, [], [])
        torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=make, debug=True)

    assert_same(body, "debug=True is incompatible with non-default context_fn")


def test_a_context_that_suppresses_an_error() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("inside")

    def body(torch: Any) -> Any:
        def make() -> Any:
            return contextlib.suppress(KeyError), contextlib.nullcontext()

        torch.utils.checkpoint.checkpoint(fail, leaves(torch)[0], use_reentrant=False, context_fn=make)

    assert_same(body)


# -- groups of backwards


def grouped(torch: Any, parts: Callable[[Any, Any, list[int]], Any]) -> Any:
    x, y = leaves(torch)
    runs: list[int] = []

    def two(x: Any, y: Any) -> Any:
        runs.append(1)
        return (x * y).exp(), (x + y).sin()

    outs = torch.utils.checkpoint.checkpoint(two, x, y, use_reentrant=False)
    parts(torch, outs, runs)
    return runs, x.grad, y.grad


def test_a_group_computes_again_once() -> None:
    def once(torch: Any, outs: Any, runs: list[int]) -> None:
        with torch.utils.checkpoint.GraphExecGroup() as group:
            assert isinstance(group, torch.utils.checkpoint.GraphExecGroup)
            outs[0].sum().backward(retain_graph=True)
            outs[1].sum().backward(retain_graph=True)
        runs.append(10)
        outs[0].sum().backward(retain_graph=True)

    def twice(torch: Any, outs: Any, runs: list[int]) -> None:
        outs[0].sum().backward(retain_graph=True)
        outs[1].sum().backward()

    def overlapping(torch: Any, outs: Any, runs: list[int]) -> None:
        with torch.utils.checkpoint.GraphExecGroup():
            outs[0].sum().backward(retain_graph=True)
            outs[0].sum().backward()

    for parts in (once, twice, overlapping):
        assert_same(lambda torch, parts=parts: grouped(torch, parts))


def test_groups_are_not_nested() -> None:
    def body(torch: Any) -> Any:
        group = torch.utils.checkpoint.GraphExecGroup
        with group(), group():
            pass

    def after_an_error(torch: Any) -> Any:
        group = torch.utils.checkpoint.GraphExecGroup
        with contextlib.suppress(KeyError), group():
            raise KeyError
        with group():
            return "entered"

    assert_same(body, "GraphExecGroup contexts cannot be nested")
    assert_same(after_an_error)


# -- devices


def test_states_of_devices() -> None:
    def body(torch: Any) -> Any:
        checkpoint = torch.utils.checkpoint
        found = [checkpoint.DefaultDeviceType.get_device_type(), checkpoint.get_device_states(torch.ones(2), 3)]
        checkpoint.set_device_states(*found[1])
        checkpoint.set_device_states([0], [torch.get_rng_state()], device_type="meta")
        try:
            checkpoint.DefaultDeviceType.set_device_type("meta")
            found.append(checkpoint.DefaultDeviceType.get_device_type())
            checkpoint.set_device_states([0], [torch.get_rng_state()])
            checkpoint.DefaultDeviceType.set_device_type()
            found.append(checkpoint.DefaultDeviceType.get_device_type())
        finally:
            checkpoint.DefaultDeviceType.set_device_type("cpu")
        return found

    def refused(torch: Any) -> Any:
        torch.utils.checkpoint.set_device_states([0], [torch.get_rng_state()], device_type="cpu")

    assert_same(body)
    assert_same(refused)


def test_policies_by_number() -> None:
    def body(torch: Any) -> Any:
        return [(kind.name, kind.value) for kind in torch.utils.checkpoint.CheckpointPolicy]

    assert_same(body)


def test_operators_that_are_let_pass() -> None:
    def body(torch: Any) -> Any:
        checkpoints, sin, seen, again = torch.utils.checkpoint, torch.ops.aten.sin.default, [], []

        def policy(ctx: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(str(func))
            return checkpoints.CheckpointPolicy.MUST_SAVE

        def function(x: Any, y: Any) -> Any:
            return (x.sin() * y).exp().sin()

        x, y = leaves(torch)
        before = set(checkpoints.SAC_IGNORED_OPS)
        checkpoints.SAC_IGNORED_OPS.add(sin)
        try:
            made = contexts(torch, policy, again)
            out = checkpoints.checkpoint(function, x, y, use_reentrant=False, context_fn=made, early_stop=False)
            out.sum().backward()
        finally:
            checkpoints.SAC_IGNORED_OPS.discard(sin)
        return sorted(seen), sorted(again), x.grad, y.grad, before == checkpoints.SAC_IGNORED_OPS

    assert_same(body)
