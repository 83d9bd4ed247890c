"""The tangents of the outputs of a custom Function, by the user's `jvp`, and what that may return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwright.autograd.function_node import FunctionNode
from runtime.base.sharing import lowest
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward
from runtime.graph import jvp as graph_jvp

_NOT_IN_PLACE = "An inplace custom Function is not {what}. If the forward is modifying an input inplace, then the jvp "
_NOT_WRITTEN = (
    _NOT_IN_PLACE.format(what="modifying the forward mode gradients inplace")
    + "function must modify the corresponding gradient inplace."
)
_NOT_RETURNED = (
    _NOT_IN_PLACE.format(what="returning the forward mode gradients as-is")
    + "function must modify the gradient inplace and return it as-is."
)


def propagate_tangents(node: FunctionNode, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """The tangents of the outputs by the user's `jvp`."""
    written = {id(tensor) for tensor in node._dirty}
    constant = {id(tensor) for tensor in node._non_differentiable}

    def jvp(carried: list[Tensor | None]) -> Sequence[Tensor | None]:
        versions = [_version(tangent) for tangent in carried]
        received = carried
        if node.materialize_grads:
            received = [
                wrap(np.zeros_like(value._array))
                if tangent is None and isinstance(value, Tensor) and value._array.dtype.kind in "fcV"
                else tangent
                for value, tangent in zip(inputs, carried, strict=True)
            ]
        node._in_jvp = True
        try:
            results = node._forward_cls.jvp(node, *received)
        finally:
            node._in_jvp = False
        results = results if isinstance(results, tuple) else (results,)
        if len(results) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(results)}): {node._forward_cls.__name__}"
            )
        for number, (out, tangent) in enumerate(zip(outputs, results, strict=True)):
            _check_tangent(number, out, tangent, id(out) in constant)
            if id(out) in written:
                _check_written(out, tangent, inputs, carried, versions)
            elif isinstance(out, Tensor) and out._base is not None and id(out) not in constant:
                _check_view(out, tangent, inputs, carried)
        return results

    graph_jvp.apply_function(inputs, outputs, jvp, written)
    node._saved_for_forward = None


def _version(tangent: Tensor | None) -> int | None:
    return None if tangent is None or tangent.is_inference() else tangent._version


def _check_tangent(number: int, out: Any, tangent: Any, constant: bool) -> None:
    """Refuse what is no tangent of an output."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}.")
    if tangent is None or not isinstance(out, Tensor):
        return
    if constant or out._array.dtype.kind in "biu":
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {number}, but the corresponding forward output is not a "
            "differentiable Tensor. You should return None at that position instead."
        )
    if tangent._array.dtype.kind in "biu":
        raise RuntimeError("Expected both tensor and its forward grad to be floating point or complex")
    forward.check_size(out, tangent)


def _check_written(
    out: Tensor,
    tangent: Tensor | None,
    inputs: Sequence[Any],
    carried: Sequence[Tensor | None],
    versions: Sequence[int | None],
) -> None:
    """Refuse a tangent of a written input that is not the input's own, written too."""
    for value, own, version in zip(inputs, carried, versions, strict=True):
        if value is out and own is not None:
            if version is not None and own._version == version:
                raise RuntimeError(_NOT_WRITTEN)
            if tangent is not own:
                raise RuntimeError(_NOT_RETURNED)


def _check_view(out: Tensor, tangent: Tensor | None, inputs: Sequence[Any], carried: Sequence[Tensor | None]) -> None:
    """Refuse a tangent of a view of an input that is no view of the input's tangent, or lies elsewhere in it."""
    pairs = [
        (value, own)
        for value, own in zip(inputs, carried, strict=True)
        if own is not None and isinstance(value, Tensor) and _root(value) is out._base
    ]
    if not pairs:
        return
    if tangent is None or lowest(tangent)._base is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    pairs = [(value, own) for value, own in pairs if _root(tangent) is _root(own)]
    if not pairs:
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
        )
    if not any(forward.lies_alike(out, value, tangent, own) for value, own in pairs):
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is returning a view of another part of the given grad "
            "input."
        )


def _root(tensor: Tensor) -> Tensor:
    """What a Tensor is a view of, or itself; of a batch what the batch is a view of."""
    tensor = lowest(tensor)
    return tensor if tensor._base is None else tensor._base
