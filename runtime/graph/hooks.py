"""Runs a Node with the hooks that users put on it and on the Tensors that it made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from runtime.base.overriding import call_the_program
from runtime.base.tensor import Tensor
from runtime.graph.formula_places import formula_places, tangent_places
from runtime.native import core

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator
    from runtime.graph.node import Node

# Held while a gradient is added to. One lock for all: what it guards is short, and threads that share one leaf mostly
# share all of them.
accumulating = threading.RLock()


def run_node(node: Node, grad: Any) -> Sequence[Tensor | None]:
    """One Node with its hooks, outside of a backward."""
    if node._extra is not None:
        grad = run_tensor_hooks(node, grad)
    return apply_with_hooks(node, grad, None)


def run_tensor_hooks(node: Node, grad: Any) -> Any:
    """The hooks of the outputs as Tensors; those that keep their gradient come last, whenever they asked for it."""
    extra = node._extra
    assert extra is not None
    if not extra.tensor_hooks and not extra.retained:
        return grad
    grads = [grad] if node.num_outputs == 1 else list(grad)
    for output_nr, hooks in list(extra.tensor_hooks.items()):
        grads[output_nr] = run_hooks(hooks, grads[output_nr])
    for output_nr, reference in list(extra.retained.items()):
        tensor = reference()
        if tensor is not None and grads[output_nr] is not None:
            _add_retained(tensor, grads[output_nr])
    return grads[0] if node.num_outputs == 1 else tuple(grads)


def _add_retained(tensor: Tensor, grad: Tensor) -> None:
    extra = tensor.extra
    if core is not None and grad._edge is not None:
        core.expect_cycles()
    with accumulating:
        known = extra.grad
        extra.grad = grad if known is None else known + grad


def run_hooks(hooks: dict[int, Callable[..., Any]], grad: Tensor | None) -> Any:
    """The gradient as the hooks leave it; they see None for a result that has none, which stays so."""
    for hook in list(hooks.values()):
        changed = call_the_program(hook, grad)
        if changed is not None:
            _check_hook_result(hook, changed, grad)
            grad = changed
    return grad


def _check_hook_result(hook: Callable[..., Any], changed: Any, grad: Tensor | None) -> None:
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Tensor, but hook '{name}' returned '{type(changed).__name__}'")
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if changed._array.dtype != grad._array.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {grad.dtype} got {changed.dtype})")
    if changed._array.shape != grad._array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def replace_all(hook: Callable[..., Any], changed: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a Node's hook returned, in place of `values`."""
    if changed is None:
        return values
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(values):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(changed)}, but expected {len(values)})"
        )
    for new, old in zip(changed, values, strict=True):
        if new is not None:
            _check_hook_result(hook, new, old)
    return tuple(changed)


def apply_with_hooks(node: Node, grad: Any, wanted: Sequence[bool] | None) -> Sequence[Tensor | None]:
    """Run a Node with its hooks, which see the gradients of those edges that are `wanted` (None: all)."""
    extra = node._extra
    single = node.num_outputs == 1
    if extra is not None and extra.prehooks:
        grads = (grad,) if single else tuple(grad)
        for hook in list(extra.prehooks.values()):
            grads = replace_all(hook, call_the_program(hook, grads), grads)
        grad = grads[0] if single else grads
    results: tuple[Tensor | None, ...] = ()
    if single and grad is None:  # a hook took it away
        results = (None,) * len(node.edges)
    elif wanted is None or any(wanted):
        try:
            results = node.apply(grad)
        except Exception as error:
            explain(error, node)
            raise
    if wanted is not None:
        results = tuple([result if asked else None for result, asked in zip_longest(results, wanted)])
    if extra is not None and extra.hooks:
        grads = (grad,) if single else tuple(grad)
        for hook in list(extra.hooks.values()):
            results = replace_all(hook, call_the_program(hook, results, grads), results)
    return results


def explain(error: Exception, node: Node) -> None:
    """Say in notes which operator's derivative failed, and where its formula stands; the error stays as it is."""
    operator = getattr(node, "operator", None)
    name = f"{operator} ({node._name})" if isinstance(operator, str) else node._name
    _add_places(error, f"in the derivative of {name}", formula_places, type(node).__qualname__, type(node).__module__)


def explain_tangents(error: Exception, operator: Operator) -> None:
    """The same for the forward formulas of an operator."""
    _add_places(error, f"in the forward derivative of {operator.name}", tangent_places, operator.jvp)


def _add_places(error: Exception, note: str, places: Callable[..., list[str]], *arguments: Any) -> None:
    """Add a note, and what `places` says below it, to an error that does not have it yet."""
    if note in getattr(error, "__notes__", ()):
        return
    error.add_note(note)
    for place in places(*arguments, error):
        error.add_note(f"  {place}")
