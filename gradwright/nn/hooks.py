"""Hooks of Modules: how they are kept, and the Nodes that see the gradients at a Module's borders."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base.handles import RemovableHandle
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor, wrap
from runtime.graph.linear import edge_of
from runtime.graph.node import Node, OutputEdge
from runtime.graph.views import view_anywhere

Gradients = tuple[Any, ...]  # a Tensor or None for each argument or result

_next_id: Callable[[], int] = itertools.count().__next__


class HookHandle(RemovableHandle):
    """What registering a hook of a Module or an optimizer returns."""

    __slots__ = ()

    def __init__(
        self, hooks: OrderedDict[int, Any], hook: object, prepend: bool = False, marks: Sequence[dict[int, bool]] = ()
    ) -> None:
        # Unlike a hook in the graph, this one is no reason for the engine to watch for the last gradient of a leaf.
        self._hooks = hooks
        self._others = tuple(marks)
        self.id = _next_id()
        while self.id in hooks:  # hooks that came with a pickled Module have numbers of another process
            self.id = _next_id()
        hooks[self.id] = hook
        for mark in marks:
            mark[self.id] = True
        if prepend:
            hooks.move_to_end(self.id, last=False)


class Border(Node):
    """The identity on the Tensors that enter or leave a Module: shows all their gradients at once to `visit`.

    With `fill`, as for those that enter, a gradient that did not come is one of zeros.
    """

    __slots__ = ("fill", "visit")

    num_outputs = None

    def __init__(self, tensors: Sequence[Tensor], visit: Callable[[Gradients], Gradients], fill: bool) -> None:
        arrays = [tensor._array for tensor in tensors]
        edges = tuple(edge_of(tensor) for tensor in tensors)
        super().__init__(edges, tuple(array.shape for array in arrays), tuple(array.dtype for array in arrays))
        self.visit = visit
        self.fill = fill

    def apply(self, grad: Gradients) -> Gradients:
        """What `visit` makes of the gradients."""
        if self.fill:
            outputs = zip(grad, self.shape, self.dtype, strict=True)
            grad = tuple([wrap(np.zeros(shape, dtype)) if one is None else one for one, shape, dtype in outputs])
        return self.visit(tuple(grad))


# What PyTorch calls it, for `grad_fn.name()`.
Border._name = "BackwardHookFunctionBackward"


class Passage:
    """One call of a Module that has backward hooks: a Border before its arguments and one behind its results.

    The gradients of the results are kept when backward comes by the second, for the hooks that run at the first.
    """

    def __init__(
        self, module: object, hooks: Mapping[int, Callable[..., Any]], pre_hooks: Mapping[int, Callable[..., Any]]
    ) -> None:
        self.module = module
        self.hooks = list(hooks.values())
        self.pre_hooks = list(pre_hooks.values())
        self.grad_outputs: Gradients | None = None
        self.inputs = 0
        self.outputs = 0
        self.input_places: list[int] | None = None  # which arguments are Tensors; None: no gradient comes that far
        self.output_places: list[int] = []

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments of `forward`, with their history behind a Border."""
        self.inputs = len(args)
        args, self.input_places = _behind_border(args, self._before, fill=True)
        return args

    def leave(self, result: Any) -> Any:
        """The result of `forward`, with its history behind a Border."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
            return result
        results = result if isinstance(result, tuple) else (result,)
        self.outputs = len(results)
        wrapped, places = _behind_border(results, self._behind, fill=False)
        if places is None:
            return result
        self.output_places = places
        if isinstance(result, Tensor):
            return wrapped[0]
        return wrapped if type(result) is tuple else _like(result, wrapped)

    def _behind(self, grads: Gradients) -> Gradients:
        """Backward comes to the results: the pre-hooks, and all hooks where no argument will get a gradient."""
        shown = _spread(grads, self.output_places, self.outputs)
        for hook in self.pre_hooks:
            shown = _replaced("Backward pre hook", "grad_output", shown, hook(self.module, shown))
        if self.input_places is not None:
            self.grad_outputs = shown
        elif self.hooks:
            self._run_without_inputs(shown)
        return _checked([shown[place] for place in self.output_places], grads)

    def _run_without_inputs(self, grad_outputs: Gradients) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients.",
            stacklevel=2,
        )
        nothing: Gradients = (None,) * self.inputs
        for hook in self.hooks:
            changed = hook(self.module, nothing, grad_outputs)
            if changed is not None and not (isinstance(changed, tuple) and all(item is None for item in changed)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )

    def _before(self, grads: Gradients) -> Gradients:
        """Backward comes to the arguments: the hooks."""
        # A gradient may come here without having been at the results, as that of a parameter in a double backward.
        if self.grad_outputs is None or self.input_places is None:
            return grads
        shown = _spread(grads, self.input_places, self.inputs)
        for hook in self.hooks:
            changed = hook(self.module, shown, self.grad_outputs)
            shown = _replaced("Backward hook", "grad_input", shown, changed)
        self.grad_outputs = None
        return _checked([shown[place] for place in self.input_places], grads)


def _behind_border(
    values: tuple[Any, ...], visit: Callable[[Gradients], Gradients], fill: bool
) -> tuple[tuple[Any, ...], list[int] | None]:
    """`values` with the Tensors behind a Border, and the places of these; None where nothing requires a gradient."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not grad_mode.enabled or all(values[place]._edge is None for place in places):
        return values, None
    border = Border([values[place] for place in places], visit, fill)
    wrapped = list(values)
    for number, place in enumerate(places):
        tensor = values[place]
        if tensor._edge is not None:
            # A view that must not be written: a write would come between the Tensor and its Border.
            wrapped[place] = view_anywhere(tensor._array, tensor, "multi")
            wrapped[place]._edge = border if number == 0 else OutputEdge(border, number)
    return tuple(wrapped), places


def _like(named: Any, values: tuple[Any, ...]) -> Any:
    """A tuple of the class of `named`, which takes its items as arguments, or all of them as one where that fails."""
    try:
        return type(named)(*values)
    except TypeError:
        return type(named)(values)


def _spread(grads: Gradients, places: list[int], size: int) -> Gradients:
    """The gradients at the places of their Tensors, None elsewhere."""
    spread: list[Any] = [None] * size
    for place, grad in zip(places, grads, strict=True):
        spread[place] = grad
    return tuple(spread)


def _replaced(hook: str, what: str, grads: Gradients, changed: Any) -> Any:
    if changed is None:
        return grads
    if len(changed) != len(grads):
        raise RuntimeError(
            f"{hook} returned an invalid number of {what}, got {len(changed)}, but expected {len(grads)}"
        )
    return changed


def _checked(changed: Sequence[Any], grads: Gradients) -> Gradients:
    """What hooks made of gradients.

    Raises:
        TypeError: something is no Tensor.
        RuntimeError: a gradient has another shape than before.
    """
    for new, old in zip(changed, grads, strict=True):
        if new is not None and not isinstance(new, Tensor):
            raise TypeError(f"expected Tensor, but hook returned '{type(new).__name__}'")
        if new is not None and old is not None and new._array.shape != old._array.shape:
            raise RuntimeError("hook has changed the size of value")
    return tuple(changed)
