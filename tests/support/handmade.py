"""Operators written by hand in the shape of generated ones, to test the engine without generated code."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwright.autograd import Function
from runtime.base.modes import grad_mode
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.graph import views
from runtime.graph.linear import edge_of
from runtime.graph.node import Node, next_sequence_nr
from runtime.graph.recording import freed_error, modified_error, set_edges, unpack_result


def leaf(*values: Any, dtype: str = "float64", shape: tuple[int, ...] | None = None) -> Tensor:
    """A leaf that requires grad."""
    array = np.array(values if len(values) != 1 or shape is not None else values[0], dtype=dtype)
    tensor = wrap(array if shape is None else array.reshape(shape))
    tensor._edge = LEAF
    return tensor


def constant(value: Any, dtype: str = "float64") -> Tensor:
    """A Tensor that does not require grad."""
    return wrap(np.array(value, dtype=dtype))


class Kept(Function):
    """The identity, which saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * (x / x)


def _record(node: Node, out: Tensor, *inputs: Tensor) -> None:
    node.edges = tuple([edge_of(tensor) for tensor in inputs])
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    node.shape = out._array.shape
    node.dtype = out._array.dtype
    out._edge = node


def _needed(*tensors: Tensor) -> bool:
    return grad_mode.enabled and any(tensor._edge is not None for tensor in tensors)


class MulBackward0(Node):
    """`self * other`"""

    __slots__ = ("_other", "_other_version", "_self", "_self_version")
    name = "MulBackward0"  # type: ignore[assignment]
    operator = "mul.Tensor"
    num_outputs = 1

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        try:
            me, other = self._self, self._other
        except AttributeError:
            raise freed_error(self) from None
        for name, tensor, version in (("self", me, self._self_version), ("other", other, self._other_version)):
            if tensor is not None and tensor._writes is not None and tensor._writes[0] != version:
                raise modified_error(self, name, tensor, version)
        return (
            None if self.edges[0] is None else mul(grad, other),
            None if self.edges[1] is None else mul(grad, me),
        )

    def release(self) -> None:
        del self._self, self._self_version, self._other, self._other_version


def record_mul(out: Tensor, self: Tensor, other: Tensor) -> None:
    node = object.__new__(MulBackward0)
    _record(node, out, self, other)
    node._self = self
    node._self_version = 0 if self._writes is None else self._writes[0]
    node._other = other
    node._other_version = 0 if other._writes is None else other._writes[0]


def mul(self: Tensor, other: Tensor) -> Tensor:
    out = wrap(np.asarray(self._array * other._array))
    if _needed(self, other):
        record_mul(out, self, other)
    return out


class AddBackward0(Node):
    """`self + other`"""

    __slots__ = ()
    name = "AddBackward0"  # type: ignore[assignment]
    num_outputs = 1

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        return tuple([None if edge is None else grad for edge in self.edges])


def add(self: Tensor, other: Tensor) -> Tensor:
    out = wrap(np.asarray(self._array + other._array))
    if _needed(self, other):
        _record(object.__new__(AddBackward0), out, self, other)
    return out


class SumBackward0(Node):
    """`self.sum()`"""

    __slots__ = ("_sizes",)
    name = "SumBackward0"  # type: ignore[assignment]

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        return (expand(grad, self._sizes),)


def sum_all(self: Tensor) -> Tensor:
    out = wrap(np.asarray(self._array.sum()))
    if _needed(self):
        node = object.__new__(SumBackward0)
        _record(node, out, self)
        node._sizes = self._array.shape
    return out


class ExpandBackward0(Node):
    """`self.expand(...)`: the engine sums what was broadcast"""

    __slots__ = ()
    name = "ExpandBackward0"  # type: ignore[assignment]

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        return (grad,)


def expand(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    out = wrap(np.broadcast_to(self._array, shape))
    if _needed(self):
        _record(object.__new__(ExpandBackward0), out, self)
    return out


class TanhBackward0(Node):
    """`self.tanh()`: saves its result"""

    __slots__ = ("_result", "_result_at", "_result_version")
    name = "TanhBackward0"  # type: ignore[assignment]
    operator = "tanh"

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        try:
            result = unpack_result(self, "result", self._result, self._result_version, self._result_at, 0)
        except AttributeError:
            raise freed_error(self) from None
        return (mul(grad, add(constant(1.0), mul(constant(-1.0), mul(result, result)))),)

    def release(self) -> None:
        del self._result, self._result_at, self._result_version


def tanh(self: Tensor) -> Tensor:
    out = wrap(np.asarray(np.tanh(self._array)))
    if _needed(self):
        node = object.__new__(TanhBackward0)
        _record(node, out, self)
        node._result = out._array
        node._result_version = out._writes = out._writes or [0]
        node._result_at = node._result_version[0]
    return out


class UnbindBackward0(Node):
    """`self.unbind(0)`: as many outputs as there are rows"""

    __slots__ = ()
    name = "UnbindBackward0"  # type: ignore[assignment]
    num_outputs = None

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        rows = [
            np.zeros(shape, dtype) if g is None else g._array
            for g, shape, dtype in zip(grad, self.shape, self.dtype, strict=True)
        ]
        return (wrap(np.stack(rows)),)


def unbind(self: Tensor) -> list[Tensor]:
    outs = [views.view_of(np.asarray(self._array[i, ...]), self, "multi") for i in range(len(self._array))]
    if _needed(self):
        node = object.__new__(UnbindBackward0)
        _record(node, outs[0], self)
        node.shape = tuple([out._array.shape for out in outs])
        node.dtype = tuple([out._array.dtype for out in outs])
        set_edges(outs, node)
    return outs


class SliceBackward0(Node):
    """`self[start:stop:step]`"""

    __slots__ = ("_key", "_sizes")
    name = "SliceBackward0"  # type: ignore[assignment]

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        full = np.zeros(self._sizes, grad._array.dtype)
        full[self._key] = grad._array
        return (wrap(full),)


def take(self: Tensor, key: Any) -> Tensor:
    """A view by basic indexing."""
    out = views.view_of(self._array[key], self)
    if _needed(self):
        node = object.__new__(SliceBackward0)
        _record(node, out, self)
        node._key, node._sizes = key, self._array.shape
    return out


def mul_(self: Tensor, other: Tensor) -> Tensor:
    """`self *= other`, as the dispatcher does it."""
    needs_grad = _needed(self, other)
    views.check_inplace(self, needs_grad)
    before = wrap(self._array.copy())
    before._edge = self._edge
    self._array[...] = self._array * other._array
    views.bump_version(self)
    if needs_grad:
        written = wrap(self._array)
        written._writes = self._writes
        record_mul(written, before, other)
        assert isinstance(written._edge, Node)
        # The written value's own history: a leaf is refused above, so the edge is the one that `self` has.
        views.rebase_history(self, written._edge)
    return self
