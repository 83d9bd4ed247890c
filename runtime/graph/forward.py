"""Forward mode: tangents that travel along with the values of a call.

A level is one direction of differentiation; derivatives of derivatives take several, one inside the other.  The API for
whoever builds on this (`forward_ad`, `func.jvp`):

    level = enter()                        open a level inside those that are open
    set_tangent(tensor, tangent, level)    let a Tensor carry a tangent
    tangent_of(tensor, level)              what it carries, or None
    leave(level)                           close the innermost level; its tangents are gone

Levels belong to a thread and are numbered from the outermost, 0.  A call gives its results a tangent in each level,
from the outermost to the innermost.  While that of one level is computed only the levels outside of it are open: so
tangents carry tangents of outer levels, which makes mixed second derivatives, and a level takes no part in computing
its own tangents or those of the levels around it.

While a level is open `modes.plain` is empty, so every operator comes to its general path, and that asks here.

Tangents share memory as their Tensors do: the tangent of a view is the view of the tangent, and a write in place writes
the tangent in place too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from runtime import ops
from runtime.base import modes
from runtime.base.once import publish
from runtime.base.tensor import Tensor, wrap
from runtime.base.threads import ThreadState
from runtime.graph import regions, views
from runtime.graph.linear import ArrayMap, LinearBackward, apply_linear, carriers
from runtime.graph.node import Node, OutputEdge

if TYPE_CHECKING:
    pass

_Result = TypeVar("_Result")


class Tangents(dict["Level", "Tensor | None"]):
    """The tangents of one Tensor, by level.  None: it has none there, whatever its base has."""

    __slots__ = ("__weakref__",)


class Level:
    """One opening of a level.  Tangents are filed under it, so those of another opening are never mistaken for its."""

    __slots__ = ("_holders", "_limit")

    def __init__(self) -> None:
        self._holders: list[weakref.ref[Tangents]] = []
        self._limit = 1024

    def put(self, tangents: Tangents, tangent: Tensor | None) -> None:
        """File a tangent."""
        if self not in tangents:
            if len(self._holders) >= self._limit:
                self._holders = [holder for holder in self._holders if holder() is not None]
                self._limit = 2 * len(self._holders) + 1024
            self._holders.append(weakref.ref(tangents))
        tangents[self] = tangent

    def close(self) -> None:
        """Take all tangents away."""
        for holder in self._holders:
            tangents = holder()
            if tangents is not None:
                tangents.pop(self, None)


class _State(ThreadState):
    levels: tuple[Level, ...] = ()  # those that calls take part in, the outermost first
    running: Level | None = None  # the level whose formula is being computed


_state = _State()


# -- levels


def open_levels() -> tuple[Level, ...]:
    """The levels that calls of this thread take part in, the outermost first."""
    return _state.levels


def active() -> bool:
    """Whether operators of this thread carry tangents along."""
    return bool(_state.levels)


def enter() -> int:
    """Open a level inside those that are open, and give its number."""
    _state.levels += (Level(),)
    modes.enter_unusual()
    return len(_state.levels) - 1


def leave(level: int | None = None) -> None:
    """Close the innermost level.

    Args:
        level: its number, where the caller wants to be sure.

    Raises:
        RuntimeError: no level is open, or the innermost one has another number.
    """
    levels = _state.levels
    if not levels:
        raise RuntimeError("Trying to exit a forward AD level, but no level is open")
    if level is not None and level != len(levels) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _state.levels = levels[:-1]
    levels[-1].close()
    modes.leave_unusual()


def innermost() -> int | None:
    """The number of the innermost level; None if none is open."""
    return len(_state.levels) - 1 if _state.levels else None


@contextmanager
def suspended() -> Iterator[None]:
    """A block in which no level of this thread is open."""
    levels, _state.levels = _state.levels, ()
    try:
        yield
    finally:
        _state.levels = levels


def outside(number: int, function: Callable[..., _Result], *args: Any) -> _Result:
    """Call `function` with only those levels open that are outside of level `number`."""
    levels, running = _state.levels, _state.running
    _state.levels, _state.running = levels[:number], levels[number]
    try:
        return function(*args)
    finally:
        _state.levels, _state.running = levels, running


# -- tangents


def tangent_of(tensor: Tensor, level: int | None = None) -> Tensor | None:
    """The tangent that a Tensor carries.

    Args:
        tensor: any Tensor.
        level: the number of an open level; by default that whose formula is being computed, else the innermost.
    """
    if level is not None:
        return tangent_at(tensor, _state.levels[level])
    innermost = _state.running or (_state.levels[-1] if _state.levels else None)
    return None if innermost is None else tangent_at(tensor, innermost)


def set_tangent(tensor: Tensor, tangent: Tensor | None, level: int) -> None:
    """Let a Tensor carry a tangent until the level is closed.

    Args:
        tensor: of floating point or complex dtype.  Whoever must not change a Tensor of somebody else takes a view.
        tangent: of the same shape; copied where it lies in memory in another way than `tensor`.  None: no tangent,
            even if what `tensor` is a view of has one.
        level: the number of an open level.
    """
    outside(level, carry, tensor, tangent, _state.levels[level])


def map_tangents(source: Tensor, target: Tensor, function: Callable[[Tensor], Tensor]) -> None:
    """Let `target` carry `function` of the tangents of `source`, in all levels."""
    for number, level in enumerate(_state.levels):
        tangent = tangent_at(source, level)
        if tangent is not None:
            level.put(tangents_of(target), outside(number, function, tangent))


def share_tangents(source: Tensor, target: Tensor) -> None:
    """Let `target`, over the same memory, carry the very tangents of `source`."""
    map_tangents(source, target, lambda tangent: tangent)


def copy_tangents(source: Tensor, target: Tensor) -> None:
    """Let `target`, over other memory, carry copies of the tangents of `source`."""
    map_tangents(source, target, lambda tangent: tangent.clone())


def carry(tensor: Tensor, tangent: Tensor | None, level: Level) -> None:
    """Let a Tensor carry a tangent, in memory that is laid out as its own."""
    if tangent is not None and not tangent._opaque and not _same_layout(tensor._array, tangent._array):
        tangent = copied(tangent, tensor)
    level.put(tangents_of(tensor), tangent)


def drop_tangents(tensor: Tensor) -> None:
    """Take the tangents of a Tensor away; those of its views stay."""
    own = own_tangents(tensor)
    if own is not None:
        own.clear()


def tangents_of(tensor: Tensor) -> Tangents:
    """All tangents of a Tensor, made on first use."""
    extra = tensor.extra
    known = extra.tangent
    return publish(extra, "tangent", Tangents()) if known is None else known  # type: ignore[no-any-return]


def own_tangents(tensor: Tensor) -> Tangents | None:
    """All tangents of a Tensor but for those that its base has; None before the first."""
    return None if tensor._extra is None else tensor._extra.tangent


def tangent_at(tensor: Tensor, level: Level) -> Tensor | None:
    """The tangent of a Tensor at a level."""
    own = own_tangents(tensor)
    if own is not None and level in own:
        return own[level]
    base = tensor._base
    if base is None or tensor._array.dtype.kind in "biu":
        return None
    whole = own_tangents(base)
    known = None if whole is None else whole.get(level)
    if known is None:
        return None
    # The base came to have a tangent after the view was made: the part of it where the view lies.
    tangent = views.part_of(known, base._array, tensor._array)
    level.put(tangents_of(tensor), tangent)
    return tangent


def _same_layout(array: np.ndarray, other: np.ndarray) -> bool:
    if array.strides == other.strides or array.dtype != other.dtype:
        return True
    strides = zip(array.shape, array.strides, other.strides, strict=True)
    # Memory in which several elements coincide cannot be written, so it does not matter there.
    return all(size <= 1 or a in (0, b) for size, a, b in strides)


def copied(tangent: Tensor, like: Tensor) -> Tensor:
    """A tangent in memory of its own that is laid out as `like` is."""
    if tangent._opaque:
        return ops.clone(tangent)
    return ops.copy_(wrap(regions.zeros_as(like._array)), tangent)


def check_size(tensor: Tensor, tangent: Tensor) -> None:
    """Refuse a tangent of another shape than its Tensor has.

    Raises:
        RuntimeError: the shapes differ.
    """
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor._array.shape)} while the given forward gradient is of size "
            f"{list(tangent._array.shape)}."
        )


def lies_alike(view: Tensor, tensor: Tensor, part: Tensor, tangent: Tensor) -> bool:
    """Whether `part` lies in `tangent` where `view` lies in `tensor`, as far as can be said."""
    arrays = [each._array for each in (view, tensor, part, tangent)]
    if any(each._opaque for each in (view, tensor, part, tangent)) or not arrays[0].size:
        return True
    if not _same_layout(arrays[1], arrays[3]) or arrays[0].dtype != arrays[2].dtype:
        return True
    starts = [array.__array_interface__["data"][0] for array in arrays]
    return starts[0] - starts[1] == starts[2] - starts[3] and _same_layout(arrays[0], arrays[2])


def any_tangent(tensors: Sequence[Tensor]) -> bool:
    """Whether one of the Tensors carries a tangent."""
    return any(tangent_at(tensor, level) is not None for level in _state.levels for tensor in tensors)


# -- on the way back


def remember(outputs: Sequence[Tensor | None]) -> None:
    """Let the Nodes of recorded results know their tangents: a Node holds arrays of its results, and no Tensors."""
    for tensor in outputs:
        if tensor is None:
            continue
        edge = tensor._edge
        node, output_nr = (edge.node, edge.output_nr) if isinstance(edge, OutputEdge) else (edge, 0)
        if isinstance(node, Node):
            node.extra.tangents[output_nr] = tangents_of(tensor)


def restore(node: Node, tensor: Tensor, output_nr: int | None) -> None:
    """Give a saved result that a Node unpacked its tangents again."""
    extra = node._extra
    if extra is None or output_nr is None:
        return
    tangents = extra.tangents.get(output_nr)
    if tangents is not None:
        tensor.extra.tangent = tangents
    if extra.results is not None:
        tensor._edge = extra.results[output_nr]


def _apply_linear_to_tangents(
    source: Tensor, out: Tensor, function: ArrayMap, adjoint: ArrayMap, kind: type[LinearBackward]
) -> None:
    """Give the result of a linear map on arrays its tangents: the map, applied to those of its argument."""
    for number, level in enumerate(_state.levels):
        tangent = tangent_at(source, level)
        if tangent is not None:
            result = outside(number, apply_linear, tangent, function, adjoint, kind)
            level.put(tangents_of(out), result)


carriers.append(_apply_linear_to_tangents)
