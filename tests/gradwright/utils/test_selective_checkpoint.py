"""Checkpointing by operators: what is kept, what computes again, what is refused."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import gradwright as torch
from gradwright.utils._python_dispatch import TorchDispatchMode
from gradwright.utils.checkpoint import (
    CheckpointPolicy,
    GraphExecGroup,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
    get_device_states,
    set_device_states,
)


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def function(x: torch.Tensor) -> torch.Tensor:
    return (x @ x).exp().sin()


def first_derivative(policy: Any) -> tuple[list[int], torch.Tensor]:
    """How often a backward through a checkpoint calls `mm`, of which the formulas need two, `exp` and `sin`."""
    x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
    with Counting() as counting:
        out.backward(torch.ones(2, 2))
    assert x.grad is not None
    return [counting.names.count(f"{name}.default") for name in ("mm", "exp", "sin")], x.grad


def test_only_what_is_not_kept_computes_again() -> None:
    def policy(context: SelectiveCheckpointContext, func: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        assert not context.is_recompute
        assert isinstance(context.op_output, torch.Tensor)
        keep = func is torch.ops.aten.mm.default
        return CheckpointPolicy.PREFER_SAVE if keep else CheckpointPolicy.MUST_RECOMPUTE

    by_function = first_derivative(policy)
    by_list = first_derivative([torch.ops.aten.mm.default])
    nothing = first_derivative([])
    assert by_function[0] == by_list[0]
    assert by_list[0] == [2, 1, 1]
    assert nothing[0] == [3, 1, 1]
    torch.testing.assert_close(by_list[1], nothing[1])


def test_what_was_given_is_not_given_twice() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    keep = [torch.ops.aten.mm.default]
    out = checkpoint(function, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(keep))
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.sum().backward()


def test_a_write_to_what_is_kept_is_noticed() -> None:
    def writing(x: torch.Tensor) -> torch.Tensor:
        product = x * x
        product.add_(x)
        return product.exp().sin()

    x = torch.ones(2, requires_grad=True)
    for kept in (torch.ops.aten.mul.Tensor, torch.ops.aten.add_.Tensor):
        contexts = functools.partial(create_selective_checkpoint_contexts, [kept])
        out = checkpoint(writing, x, use_reentrant=False, context_fn=contexts)
        with pytest.raises(RuntimeError, match="has been mutated"):
            out.sum().backward()


def test_overloads_are_named() -> None:
    with pytest.raises(ValueError, match=r"aten\.mm\.default"):
        create_selective_checkpoint_contexts([torch.ops.aten.mm])
    with pytest.raises(TypeError, match="a function or a list"):
        create_selective_checkpoint_contexts(3)  # type: ignore[arg-type]


def test_backwards_in_a_group_share_a_run() -> None:
    runs: list[int] = []

    def two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        runs.append(1)
        return x.exp(), x.sin()

    x = torch.ones(2, requires_grad=True)
    first, second = checkpoint(two, x, use_reentrant=False)
    with GraphExecGroup():
        first.sum().backward()
        second.sum().backward()
        with pytest.raises(RuntimeError, match="nested"), GraphExecGroup():
            pass
    assert len(runs) == 2


def test_devices_have_no_states() -> None:
    assert get_device_states(torch.ones(2)) == ([], [])
    set_device_states([], [])
    with pytest.raises(AttributeError, match="no generator"):
        set_device_states([0], [torch.get_rng_state()])
