"""Levels of reverse differentiation: which history belongs to a transform, and cutting it off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.base.modes import grad_mode
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor
from runtime.graph import forward
from runtime.graph.node import Node, OutputEdge
from runtime.operators.batching.batched import BatchedTensor


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
                following = edge.node if isinstance(edge, OutputEdge) else edge
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
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
