"""Forward mode of operators that have a backward formula only.

The gradients that a backward formula gives, `J^T u`, are linear in the gradients `u` of the results.  So the formula,
seen as a function of `u`, has a backward of its own, and that is the transpose of `J^T`: applied to tangents it gives
`J t` (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).  For complex numbers the transpose is
that of the real map on real and imaginary parts, as everywhere here.

The operator is not run again: its Node is recorded a second time for the results that are there, so a random operator
uses the numbers that it drew.  What the Node saves is what the caller gave, with its history and its tangents of outer
levels; so the tangents found can be differentiated further, by either mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.base.modes import grad_mode
from runtime.base.sharing import share
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.graph import engine
from runtime.graph.fit import fit
from runtime.graph.hooks import explain
from runtime.graph.node import Node, OutputEdge


def tangents(
    record: Callable[..., None],
    out: Any,
    outputs: Sequence[Tensor | None],
    values: Sequence[Any],
    positions: Sequence[int],
    input_tangents: Sequence[Any],
    wanted: Sequence[int],
) -> list[Tensor | None]:
    """The tangents of the results of a call.

    Args:
        record: makes the Node of the call.
        out: the results as the call gave them.
        outputs: the same as a tuple; None for one that a mask left out.
        values: the arguments.
        positions: which of them are differentiable.
        input_tangents: the tangents of these, None for those that have none; for a list of Tensors a list.
        wanted: the numbers of the results whose tangents are asked for.

    Returns:
        One for each result; None for one that depends on no tangent or has no derivative.
    """
    keep = grad_mode.enabled and any(t._edge is not None for t in _tensors([*values, *input_tangents]))
    node, numbers = _record(record, out, outputs, values, positions, input_tangents)
    if node is None or all(numbers[i] is None for i in wanted):
        return [None] * len(outputs)
    grad_mode.enabled, enabled = True, grad_mode.enabled
    try:
        starts = [_start(*info) for info in _infos(node)]
        try:
            gradients = node.apply(starts[0] if node.num_outputs == 1 else tuple(starts))
        except Exception as error:
            explain(error, node)
            raise
        pairs = []
        tangents = _flat(input_tangents)
        # Behind the gradients of Tensors a Node has those of numbers that stand for some, which are None.
        for gradient, tangent in zip(gradients[: len(tangents)], tangents, strict=True):
            if gradient is not None and tangent is not None and gradient._edge is not None:
                info = tangent._array.shape, tangent._array.dtype
                pairs.append((fit(gradient, *info, node.name()), tangent))
    finally:
        grad_mode.enabled = enabled
    if not pairs:
        return [None] * len(outputs)
    roots, cotangents = zip(*pairs, strict=True)
    inputs = [start for start in starts if start is not None]
    given_back = iter(engine.run(roots, cotangents, inputs, keep, keep, accumulate=False, allow_unused=True))
    results = [None if start is None else next(given_back) for start in starts]
    return [None if number is None else results[number] for number in numbers]


def _record(
    record: Callable[..., None],
    out: Any,
    outputs: Sequence[Tensor | None],
    values: Sequence[Any],
    positions: Sequence[int],
    tangents: Sequence[Any],
) -> tuple[Node | None, list[int | None]]:
    """A Node that computes the gradients of those arguments that have tangents, and which of its outputs are whose."""
    originals: dict[int, Tensor] = {}  # by the identity of what stands in for them

    def stand_in(value: Any, tangent: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [stand_in(each, t) for each, t in zip(value, tangent, strict=True)]
        if not isinstance(value, Tensor):
            return value
        other = _over_the_same_memory(value)
        other._edge = None if tangent is None else LEAF
        originals[id(other)] = value
        return other

    replaced = list(values)
    for position, item in zip(positions, tangents, strict=True):
        replaced[position] = stand_in(values[position], item)
    results = [None if tensor is None else _over_the_same_memory(tensor) for tensor in outputs]
    record(results[0] if isinstance(out, Tensor) else results, *replaced)
    node = next((n for n, _ in map(_end, results) if n is not None), None)
    if node is None:
        return None, []
    numbers = [number if n is node else None for n, number in map(_end, results)]
    _put_back(node, originals)
    extra = node.extra
    extra.results = {}
    for number, tensor in zip(numbers, outputs, strict=True):
        if number is not None and tensor is not None:
            extra.results[number] = tensor._edge
            if tensor._extra is not None and tensor._extra.tangent is not None:
                extra.tangents[number] = tensor._extra.tangent
    return node, numbers


def _over_the_same_memory(tensor: Tensor) -> Tensor:
    other = wrap(tensor._array)
    share(other, tensor)
    return other


def _end(tensor: Tensor | None) -> tuple[Node | None, int]:
    """The Node that a result came out of, and as which output."""
    edge = None if tensor is None else tensor._edge
    if isinstance(edge, OutputEdge):
        return edge.node, edge.output_nr
    return (edge, 0) if isinstance(edge, Node) else (None, 0)


def _put_back(node: Node, originals: dict[int, Tensor]) -> None:
    """Let the Node hold the arguments themselves, and not what stood in for them to say which gradients are wanted."""
    slots: tuple[str, ...] = type(node).__slots__
    for slot in slots:
        value = getattr(node, slot, None)
        if slot.startswith("_edge"):
            continue
        if isinstance(value, Tensor):
            setattr(node, slot, originals.get(id(value), value))
        elif isinstance(value, tuple) and any(isinstance(item, Tensor) for item in value):
            setattr(node, slot, tuple([originals.get(id(item), item) for item in value]))


class Start(Node):
    """Where `u` comes from.  Being a Node with a number, it keeps the engine from walking what is older."""

    __slots__ = ()


def _start(shape: tuple[int, ...] | None, dtype: np.dtype[Any]) -> Tensor | None:
    if shape is None:  # an output that a mask left out
        return None
    tensor = wrap(np.zeros(shape, dtype))
    tensor._edge = Start((), shape, dtype)
    return tensor


def _infos(node: Node) -> list[tuple[tuple[int, ...] | None, np.dtype[Any]]]:
    """Shape and dtype of each output."""
    if node.num_outputs == 1:
        return [(node.shape, node.dtype)]
    return list(zip(node.shape, node.dtype, strict=True))


def _flat(tangents: Sequence[Any]) -> list[Tensor | None]:
    """The tangents in the order of the Node's edges."""
    flat: list[Tensor | None] = []
    for item in tangents:
        if isinstance(item, list):
            flat += item
        else:
            flat.append(item)
    return flat


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    tensors = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors += _tensors(value)
    return tensors
