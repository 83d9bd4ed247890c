"""The recorded graph as users see and steer it: Nodes, edges, hooks on saved Tensors, hooks on several gradients."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from gradwright.autograd.drawing import draw, to_dot
from runtime.base import modes
from runtime.base.handles import RemovableHandle
from runtime.base.sharing import counter
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.call.dispatch import Operator
from runtime.graph import engine, views
from runtime.graph.node import DISCARD_GRADIENT, GradientEdge, Node, accumulator
from runtime.graph.recording import pack_saved
from runtime.graph.saved import hook_stack

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "draw",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "to_dot",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a Tensor; for a leaf that of its AccumulateGrad.

    Raises:
        RuntimeError: the Tensor does not require grad.
        AssertionError: it does only because what it is a view of does, so that its gradient goes nowhere.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor._edge is DISCARD_GRADIENT:
        raise AssertionError("Expected gradient function to be set")
    if tensor.is_leaf:
        return GradientEdge(accumulator(tensor), 0)
    return GradientEdge(*tensor._node_and_output())


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to the memory of a Tensor (or of each of several), as an in-place operator does.

    Raises:
        RuntimeError: something among them is no Tensor.
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(one, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        views.bump_version(one)


# -- hooks on saved Tensors


class saved_tensors_hooks:
    """While open, `pack_hook(tensor)` is kept in place of each Tensor that is saved for backward.

    `unpack_hook` of that gives the Tensor again: of the same shape and dtype, with the contents that the gradient is to
    be computed with. The innermost pair counts.

    Raises:
        RuntimeError: hooks are disabled; or `pack_hook` writes to its argument.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._open: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        if hook_stack.disabled is not None:
            raise RuntimeError(hook_stack.disabled)
        hook_stack.pairs = (*hook_stack.pairs, (self.pack_hook, self.unpack_hook))
        # One callback is enough for any number of open pairs.
        context = (
            modes.handle_recorded(pack_saved)
            if pack_saved not in modes.thread_handlers.recorded
            else contextlib.nullcontext()
        )
        context.__enter__()
        self._open.append(context)

    def __exit__(self, *exc_info: Any) -> None:
        hook_stack.pairs = hook_stack.pairs[:-1]
        self._open.pop().__exit__(None, None, None)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved Tensors in the memory of the CPU, where all of this runtime's Tensors are.

    Args:
        pin_memory: keep copies.
        device_type: accepted for code that names one.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Tensor:
            return tensor.clone() if pin_memory else tensor.cpu()

        super().__init__(pack, lambda tensor: tensor)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """While open, `saved_tensors_hooks` raises a RuntimeError with this message.

    Raises:
        RuntimeError: hooks are open already.
    """
    if hook_stack.pairs:
        raise RuntimeError(error_message)
    before = hook_stack.disabled
    hook_stack.disabled = error_message
    try:
        yield
    finally:
        hook_stack.disabled = before


class _Kept:
    """A saved Tensor that in-place writes may reach: itself, or a copy made just before the first write."""

    __slots__ = ("__weakref__", "owner", "tensor")

    def __init__(self, owner: _Mutations, tensor: Tensor) -> None:
        self.owner = owner
        self.tensor = tensor


class _Mutations:
    """The saved Tensors of one `allow_mutation_on_saved_tensors`, by the memory they lie in."""

    def __init__(self) -> None:
        self.kept: dict[int, weakref.WeakSet[_Kept]] = {}
        self.is_open = True

    def pack(self, tensor: Tensor) -> _Kept:
        kept = _Kept(self, tensor.detach())
        self.kept.setdefault(id(counter(tensor)), weakref.WeakSet()).add(kept)
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        assert self.is_open, (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
            "originally recorded."
        )
        return kept.tensor

    def before_write(
        self, operator: Operator, variant: modes.Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        """Copy what is about to be overwritten."""
        if variant != "call":
            for target in values[0] if variant == "out" else (values[0],):
                for kept in self.kept.pop(id(target._writes), ()):
                    kept.tensor = kept.tensor.clone()
        return proceed(values)

    def clear(self) -> None:
        """Forget everything."""
        self.kept.clear()


class _Mutating(ThreadState):
    is_open = False


_mutating = _Mutating()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutations]:
    """While open, saved Tensors may be written in place: backward sees them as they were when they were saved.

    The backward must run inside, too.

    Raises:
        RuntimeError: it is open already.
    """
    if _mutating.is_open:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    mutations = _Mutations()
    _mutating.is_open = True
    try:
        with saved_tensors_hooks(mutations.pack, mutations.unpack), modes.handle_calls(mutations.before_write):
            yield mutations
    finally:
        mutations.clear()
        mutations.is_open = _mutating.is_open = False


# -- hooks on several gradients


class _MultiHandle(RemovableHandle):
    """Takes several hooks away at once."""

    __slots__ = ("handles",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks away."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call `fn` when the gradients of several Tensors are known.

    Args:
        tensors: each requires grad.
        fn: for mode "all" it gets the list of gradients, None for Tensors that a backward does not reach; for mode
            "any" the first gradient.
        mode: whether to wait for all gradients that a backward computes, or for the first.

    Raises:
        ValueError: an unknown mode.
        AssertionError: a Tensor does not require grad.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    for tensor in tensors:
        assert tensor.requires_grad, "Expected gradient function to be set"
    gather = _FirstGradient(fn) if mode == "any" else _AllGradients(tensors, fn)
    return _MultiHandle([tensor.register_hook(gather.hook_of(number)) for number, tensor in enumerate(tensors)])


class _FirstGradient:
    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn
        self.seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self.lock = threading.Lock()

    def hook_of(self, number: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            run = engine.current_run()
            with self.lock:
                if run in self.seen:
                    return
                self.seen.add(run)
            self.fn(grad)

        return hook


class _AllGradients:
    def __init__(self, tensors: tuple[Tensor, ...], fn: Callable[..., None]) -> None:
        # Edges and not the Tensors, so that a hook does not keep them alive.
        self.edges = [get_gradient_edge(tensor) for tensor in tensors]
        self.fn = fn
        self.gradients: weakref.WeakKeyDictionary[Any, list[Tensor | None]] = weakref.WeakKeyDictionary()
        self.missing: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.lock = threading.Lock()

    def hook_of(self, number: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            run = engine.current_run()
            with self.lock:
                if run not in self.missing:
                    self.missing[run] = sum(run.will_reach(edge.node) for edge in self.edges)
                    self.gradients[run] = [None] * len(self.edges)
                self.gradients[run][number] = grad
                self.missing[run] -= 1
                complete = self.missing[run] == 0
                grads = self.gradients.pop(run) if complete else None
            if complete:
                self.fn(grads)

        return hook
