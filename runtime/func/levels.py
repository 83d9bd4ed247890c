"""Open transforms of a thread: the levels of vmap, of reverse and of forward differentiation.

A level of vmap stands around the operator calls of its thread. It is not an unusual mode: calls on plain Tensors have
nothing to do with it and stay on their straight way, and BatchedTensor is not plain, so its calls come here anyway; so
do those of random operators, which have no straight way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runtime import forward
from runtime.func.batched import BatchedTensor
from runtime.func.rules import perform
from runtime.modes import Variant, grad_mode, interest
from runtime.node import Node, OutputEdge
from runtime.tensor import LEAF, Tensor

if TYPE_CHECKING:
    from runtime.dispatch import Operator


class _Open(threading.local):
    """The levels of vmap that are open on this thread, the outermost first."""

    vmaps: tuple[VmapLevel, ...] = ()


_open = _Open()


def open_vmaps() -> tuple[VmapLevel, ...]:
    """The levels of vmap that are open on this thread, the outermost first; not those of tangents only."""
    return tuple([level for level in _open.vmaps if not level.of_tangents])


class VmapLevel:
    """One call of a function under vmap.

    Args:
        size: how many elements the batch has.
        randomness: "error", "same" or "different".
        of_tangents: only tangents are batched, and the values that carry them are not.
    """

    __slots__ = ("number", "of_tangents", "open", "randomness", "size")

    def __init__(self, size: int, randomness: str, of_tangents: bool = False) -> None:
        self.size = size
        self.randomness = randomness
        self.of_tangents = of_tangents
        self.number = len(_open.vmaps) + 1
        self.open = True

    def __call__(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        """Perform an operator call that has a batch of this level among its arguments; let others pass."""
        for value in values:
            kind = type(value)
            if kind is BatchedTensor:
                if value.level is self:
                    return perform(self, operator, variant, values, proceed)
            elif kind is list and self._holds(value):
                return perform(self, operator, variant, values, proceed)
        batching = operator.batching
        if batching is not None and batching[0] == "random":
            return perform(self, operator, variant, values, proceed)
        return proceed(values)

    def _holds(self, values: Sequence[Any]) -> bool:
        return any(type(value) is BatchedTensor and value.level is self for value in values)


@contextmanager
def vmap_level(size: int, randomness: str, of_tangents: bool = False) -> Iterator[VmapLevel]:
    """A level of vmap, open for the length of a `with` block; Tensors batched at it are void after that."""
    level = VmapLevel(size, randomness, of_tangents)
    vmaps, around = _open.vmaps, interest.around
    _open.vmaps = (*vmaps, level)
    interest.around = (*around, level)
    try:
        yield level
    finally:
        _open.vmaps = vmaps
        interest.around = around
        level.open = False


# -- reverse mode


class GradLevel:
    """One call of a function that is differentiated backward.

    All levels record into one graph: what tells them apart is that each has inputs of its own. `outer` is whether
    results may stay connected to what is outside.
    """

    __slots__ = ("open", "outer")

    def __init__(self) -> None:
        self.open = True
        self.outer = grad_mode.enabled

    def depends_outside(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the history of one of these leads to something that requires grad outside of this level."""
        waiting: list[Any] = [_target(tensor) for tensor in tensors if tensor._edge is not None]
        seen = set(waiting)
        while waiting:
            target = waiting.pop()
            if not isinstance(target, Node):
                level = target._extra.level if target._extra is not None else None
                if level is None or (level.open and level is not self):
                    return True
                continue
            for edge in target.edges:
                if edge is None:
                    continue
                found = edge.node if isinstance(edge, OutputEdge) else edge
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return False


def _target(tensor: Tensor) -> Any:
    edge = tensor._edge
    if edge is LEAF:
        while type(tensor) is BatchedTensor:
            tensor = tensor.value
        return tensor
    return edge.node if isinstance(edge, OutputEdge) else edge


def without_history(tensor: Tensor, cut: Callable[[Tensor], Tensor]) -> Tensor:
    """`tensor` cut off from the graph; it still carries its tangents, to which `cut` is applied."""
    out = tensor.detach()
    if forward.active():
        forward.map_tangents(tensor, out, cut)
    return out
