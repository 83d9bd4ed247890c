"""Linear maps on arrays as differentiable steps: the map and its adjoint are each other's derivative.

The engine's own steps (fitting a gradient to its target, cutting a slice out of a gradient) are made of these, so that
they need no operators and can be differentiated as often as anybody likes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runtime.base.modes import grad_mode, plain
from runtime.base.state import LEAF, Leaf
from runtime.base.tensor import Tensor, wrap
from runtime.graph.node import Edge, Node

ArrayMap = Callable[[np.ndarray], np.ndarray]


class LinearBackward(Node):
    """The way back through a linear map: its adjoint."""

    __slots__ = ("adjoint", "forward")

    def __init__(self, source: Tensor, forward: ArrayMap, adjoint: ArrayMap, out: np.ndarray) -> None:
        super().__init__((edge_of(source),), out.shape, out.dtype)
        self.forward = forward
        self.adjoint = adjoint

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The adjoint, applied to `grad`."""
        return (apply_linear(grad, self.adjoint, self.forward),)


# Who carries something else through each map on a Tensor that is not plain: forward mode, its tangents. It is made of
# such maps itself, and puts its function here.
carriers: list[Callable[[Tensor, Tensor, ArrayMap, ArrayMap, type[LinearBackward]], None]] = []


def edge_of(tensor: Tensor) -> Edge:
    """Where the gradient of `tensor` goes, as it stands in `Node.edges`."""
    edge = tensor._edge
    return tensor if edge is LEAF or isinstance(edge, Leaf) else edge


def apply_linear(
    tensor: Tensor, forward: ArrayMap, adjoint: ArrayMap, kind: type[LinearBackward] = LinearBackward
) -> Tensor:
    """`forward(tensor)`, recorded as a Node of class `kind` where a gradient is asked for."""
    unusual = type(tensor) not in plain
    if unusual and tensor._opaque:
        return tensor._apply_linear(forward, adjoint, kind)  # type: ignore[attr-defined,no-any-return]
    out = wrap(np.asarray(forward(tensor._array)))
    if tensor._edge is not None and grad_mode.enabled:
        out._edge = kind(tensor, forward, adjoint, out._array)
    if not plain:
        for carry in carriers:
            carry(tensor, out, forward, adjoint, kind)
    return out
