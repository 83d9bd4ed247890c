"""The gradients of leaves: their hooks, and adding them up in `leaf.grad`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import class_dispatch
from runtime.base.array_proxies import on_device, tensor_over
from runtime.base.arrays import adds_up
from runtime.base.memory import lie_alike, repeats
from runtime.base.modes import grad_mode, plain
from runtime.base.overriding import call_the_program
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.graph.hooks import accumulating, replace_all, run_hooks
from runtime.graph.node import AccumulateGrad, Node
from runtime.graph.views import bump_version
from runtime.native import core

_getrefcount: Callable[[object], int] | None = getattr(sys, "getrefcount", None)


def is_unshared(grads: dict[Tensor, Tensor], leaf: Tensor) -> bool:
    """Whether nobody but `grads` holds the gradient of `leaf`, nor its memory: it may become `leaf.grad`."""
    if _getrefcount is None:
        return False
    # Each count is of what holds the object there plus the argument of the call.
    if _getrefcount(grads[leaf]) > 2 or _getrefcount(grads[leaf]._array) > 2:
        return False
    base = grads[leaf]._array.base
    if base is None:
        return True
    if type(base) is not np.ndarray or base.base is not None or base.size != grads[leaf]._array.size:
        return False
    del base
    return _getrefcount(grads[leaf]._array.base) <= 2


def finish_with_hooks(leaf: Tensor, grad: Tensor, accumulates: bool, create_graph: bool, unshared: bool) -> Tensor:
    """Run the hooks of a leaf whose gradient is complete, and add it to `leaf.grad` if it is to be accumulated."""
    extra = leaf._extra
    if extra is not None and extra.hooks:
        grad = run_hooks(extra.hooks, grad)
        unshared = False  # a hook may have kept it
    if accumulates:
        _accumulate_with_hooks(leaf, grad, create_graph, unshared)
    return grad


def _accumulate_with_hooks(leaf: Tensor, grad: Tensor, create_graph: bool, unshared: bool) -> None:
    extra = leaf.extra
    node = extra.accumulate_node
    hooked = node if isinstance(node, Node) else None
    if hooked is not None and hooked._extra is not None:
        grads: tuple[Any, ...] = (grad,)
        for hook in list(hooked._extra.prehooks.values()):
            grads = replace_all(hook, call_the_program(hook, grads), grads)
            unshared = False
        grad = grads[0]
    if grad is not None:  # else a hook took it away
        accumulate(leaf, grad, create_graph, unshared)
        if extra.post_accumulate_hooks:
            _run_post_accumulate_hooks(leaf, extra.post_accumulate_hooks)
    if hooked is not None and hooked._extra is not None:
        for hook in list(hooked._extra.hooks.values()):
            replace_all(hook, call_the_program(hook, (), (grad,)), ())


def _run_post_accumulate_hooks(leaf: Tensor, hooks: dict[int, Callable[..., Any]]) -> None:
    returned = False
    for hook in list(hooks.values()):
        changed = call_the_program(hook, leaf)
        if changed is not None and not isinstance(changed, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
        returned |= changed is not None
    if returned:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def accumulate(leaf: Tensor, grad: Tensor, create_graph: bool, unshared: bool = False) -> None:
    """Add `grad` to `leaf.grad`, if the leaf still requires one.

    Args:
        leaf: required grad when it was used.
        grad: of its shape, and the element type of its gradients.
        create_graph: keep the history of the sum.
        unshared: the memory of `grad` has no other reference, so it need not be copied.
    """
    if leaf._edge is None:
        return
    extra = leaf.extra
    if core is not None and create_graph:
        core.expect_cycles()  # the gradient's history leads to the leaf
    with accumulating:
        known = extra.grad
        if known is None:
            if create_graph and grad._edge is not None:
                extra.grad = grad if unshared else grad.clone()
            elif class_dispatch.watch.classes and class_dispatch.overriding_types((grad,)):
                extra.grad = grad.detach()
            elif unshared and _same_layout(grad._array, leaf._array):
                extra.grad = grad
            elif on_device(leaf) or on_device(grad):
                extra.grad = tensor_over(grad._array.copy())
            else:
                own = np.empty_like(leaf._array, grad._array.dtype)  # laid out as the leaf is
                np.copyto(own, grad._array)
                first = wrap(own)
                if grad_mode.inference:
                    first._writes = UNTRACKED
                extra.grad = first
        elif known.is_sparse and not grad.is_sparse:
            extra.grad = grad + known  # dense, which `known` can not become
        elif create_graph or not (on_device(known) or _may_be_written(known._array)):
            extra.grad = known + grad
        elif (
            type(known) not in plain
            or type(grad) not in plain
            or known._writes is UNTRACKED
            or known._array.dtype is not grad._array.dtype
            or not adds_up(known._array.dtype)
        ):
            known.add_(grad)
        else:
            np.add(known._array, grad._array, out=known._array)
            bump_version(known)


def _may_be_written(array: np.ndarray) -> bool:
    """Whether each element has a place of its own, which is not read-only."""
    return array.flags.writeable and not repeats(array)


def _same_layout(grad: np.ndarray, leaf: np.ndarray) -> bool:
    if grad.flags.c_contiguous and leaf.flags.c_contiguous:
        return True
    return lie_alike(grad, leaf) and _may_be_written(grad)


AccumulateGrad.accumulate = accumulate
