"""Tensors saved for backward: unpacking with the check for writes since, hooks that pack them, the errors.

Generated Nodes keep what they save in slots of their own and check it in straight-line code. A SavedTensor is the same
as an object, for Nodes written by hand and for saved state that hooks have packed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.base.array_proxies import tensor_over
from runtime.base.arrays import type_name as scalar_name
from runtime.base.modes import grad_mode
from runtime.base.once import publish
from runtime.base.overriding import call_the_program
from runtime.base.sharing import counter
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.graph.linear import LinearBackward
from runtime.graph.node import Node, OutputEdge

if TYPE_CHECKING:
    import numpy as np

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


_PACKED_ALREADY = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. "
    "Hint: only one pair of hooks is allowed at a time."
)


class HookStack(ThreadState):
    """The pairs of `saved_tensors_hooks` that this thread has opened, and why it must not open any."""

    pairs: tuple[Hooks, ...] = ()
    disabled: str | None = None


hook_stack = HookStack()


class SavedTensor:
    """A Tensor that a Node saved, under the name `name`; None where the Node did without it.

    Args:
        node: what saves it.
        name: under which it is saved, for messages.
        tensor: an input, an output or any other Tensor.
    """

    __slots__ = ("_edge", "_freed", "_own_output", "_packed", "_tensor", "_version", "name", "when_packed")

    def __init__(self, node: Node, name: str, tensor: Tensor | None) -> None:
        self.name = name
        self.when_packed: Callable[[], object] | None = None  # lets go of the Tensor elsewhere
        # What a pack hook gave, with the hook that unpacks it. Other threads may be unpacking: whatever replaces the
        # Tensor is there before it goes.
        self._packed: tuple[Any, Callable[[Any], Tensor]] | None = None
        self._own_output: int | None = None
        self._tensor = tensor
        self._version = 0
        self._edge: Any = None
        self._freed = False
        if tensor is None:
            return
        edge = tensor._edge
        if edge is node:
            self._own_output = 0
        elif isinstance(edge, OutputEdge) and edge.node is node:
            self._own_output = edge.output_nr
        else:
            self._edge = edge
        self._version = counter(tensor)[0]
        if self._own_output is not None:
            # The history of an output is the Node itself, which must not hold on to itself.
            self._tensor = _without_history(tensor)

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Keep `pack_hook(tensor)` in place of the Tensor, and give `unpack_hook` of it whenever it is asked for.

        Raises:
            TypeError: one of them cannot be called.
            RuntimeError: there are hooks already, nothing is saved here, or `pack_hook` wrote to the Tensor.
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks() takes two functions, pack_hook and unpack_hook")
        tensor = self._tensor  # read before the flags: the flags are set before it is dropped
        if self._packed is not None:
            raise RuntimeError(_PACKED_ALREADY)
        if self._freed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                "to backward through the graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if tensor is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        self.pack(tensor, (pack_hook, unpack_hook))

    def pack(self, shown: Tensor, hooks: Hooks) -> None:
        """Let `hooks` keep the Tensor, which `pack_hook` sees as `shown`."""
        enabled, grad_mode.enabled = grad_mode.enabled, False
        try:
            packed = hooks[0](shown)
        finally:
            grad_mode.enabled = enabled
        if shown._writes is not None and shown._writes[0] != self._version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations as this can lead to unexpected side-effects."
            )
        mine = (packed, hooks[1])
        tensor = self._tensor
        if self._edge is LEAF and tensor is not None:
            self._edge = tensor
        if publish(self, "_packed", mine) is not mine:
            raise RuntimeError(_PACKED_ALREADY)
        self._tensor = None
        if self._freed:
            self._packed = None  # a backward freed it meanwhile
        if self.when_packed is not None:
            self.when_packed()

    @property
    def is_packed(self) -> bool:
        """Whether hooks keep the Tensor."""
        return self._packed is not None

    @property
    def is_gone(self) -> bool:
        """Whether the Tensor is no longer kept as it was: hooks keep it, or it is freed."""
        return self._freed or self._packed is not None

    def unpack(self, node: Node) -> Tensor | None:
        """The Tensor again, with its history; `node` is what saved it.

        Raises:
            RuntimeError: it was written since it was saved.
            TypeError: the unpack hook gave something else than a Tensor.
        """
        tensor, packed = self._tensor, self._packed
        if self._freed:  # read last, and set first by the one that frees: if it is not set, there was no Tensor
            raise freed_error(node)
        if packed is not None:
            return self._unpacked(node, *packed)
        if tensor is None:
            return None
        out = tensor if self._own_output is None else self._as_output(node, tensor)
        if tensor._writes is not None and tensor._writes[0] != self._version:
            raise modified_error(node, self.name, out, self._version)
        return out

    def free(self) -> None:
        """Drop the Tensor, if one was saved."""
        self._freed = self._freed or self._tensor is not None or self._packed is not None
        self._tensor = self._packed = None

    def _unpacked(self, node: Node, packed: Any, unpack_hook: Callable[[Any], Tensor]) -> Tensor:
        enabled, grad_mode.enabled = grad_mode.enabled, False
        try:
            tensor = call_the_program(unpack_hook, packed)
        finally:
            grad_mode.enabled = enabled
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        if self._own_output is not None:
            return self._as_output(node, tensor)
        out = _without_history(tensor)
        if isinstance(self._edge, Tensor):
            out._edge = LinearBackward(self._edge, _same, _same, out._array)
        else:
            out._edge = self._edge
        return out

    def _as_output(self, node: Node, tensor: Tensor) -> Tensor:
        out = _without_history(tensor)
        out._edge = node if self._own_output == 0 else OutputEdge(node, self._own_output or 0)
        return out


def _same(array: np.ndarray) -> np.ndarray:
    return array


def _without_history(tensor: Tensor) -> Tensor:
    """Another Tensor over the memory and version of `tensor`."""
    out = tensor_over(tensor._array)
    out._writes = counter(tensor)
    return out


def save(node: Node, name: str, tensor: Tensor | None) -> SavedTensor:
    """Save a Tensor, packed by the innermost `saved_tensors_hooks` of this thread where there are any."""
    saved = SavedTensor(node, name, tensor)
    if hook_stack.pairs and tensor is not None:
        saved.pack(tensor, hook_stack.pairs[-1])
    return saved


def type_name(dtype: np.dtype) -> str:
    """`FloatTensor` for float32: the name of a Tensor of this element type."""
    return f"{scalar_name(dtype)}Tensor"


def describe(tensor: Tensor) -> str:
    """`[FloatTensor [3]], which is output 0 of MulBackward0,` for error messages."""
    text = f"[{type_name(tensor._array.dtype)} {list(tensor._array.shape)}]"
    edge = tensor._edge
    if isinstance(edge, Node):
        return f"{text}, which is output 0 of {edge.name()},"
    if isinstance(edge, OutputEdge):
        return f"{text}, which is output {edge.output_nr} of {edge.node.name()},"
    return text


def modified_error(node: Node, name: str, tensor: Tensor, saved_version: int) -> RuntimeError:
    """A tensor saved for backward was overwritten after it was saved."""
    version = 0 if tensor._writes is None else tensor._writes[0]
    error = RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{describe(tensor)} is at version {version}; expected version {saved_version} instead."
    )
    error.add_note(f"it was saved as '{name}' by {node.name()}")
    return error


def detached_error(node: Node) -> RuntimeError:
    """The history of a saved Tensor is gone: it was taken away with `detach_`."""
    error = RuntimeError(
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, "
        "please use out-of-place `.detach()` instead"
    )
    error.add_note(f"it was saved by {node.name()}")
    return error


def freed_error(node: Node) -> RuntimeError:
    """The saved state of `node` is gone: an earlier backward used it up."""
    error = RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward."
    )
    error.add_note(f"the freed state is that of {node.name()}")
    return error
