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

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from runtime import ops
from runtime.base import modes
from runtime.base.once import publish
from runtime.base.tensor import Tensor, wrap
from runtime.graph import fit, jvp_by_transpose, views, zero_tensors
from runtime.graph.linear import ArrayMap, LinearBackward, apply_linear, carriers
from runtime.graph.node import Node, OutputEdge

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

_Result = TypeVar("_Result")
# The tangents of the differentiable arguments: one for each, for a list of Tensors a list.
_Given = list[Any]


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


class _State(threading.local):
    levels: tuple[Level, ...] = ()  # those that calls take part in, the outermost first
    running: Level | None = None  # the level whose formula is being computed


_state = _State()


# -- levels


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


def _outside(number: int, function: Callable[..., _Result], *args: Any) -> _Result:
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
        return _lookup(tensor, _state.levels[level])
    found = _state.running or (_state.levels[-1] if _state.levels else None)
    return None if found is None else _lookup(tensor, found)


def set_tangent(tensor: Tensor, tangent: Tensor | None, level: int) -> None:
    """Let a Tensor carry a tangent until the level is closed.

    Args:
        tensor: of floating point or complex dtype.  Whoever must not change a Tensor of somebody else takes a view.
        tangent: of the same shape; copied where it lies in memory in another way than `tensor`.  None: no tangent,
            even if what `tensor` is a view of has one.
        level: the number of an open level.
    """
    _outside(level, _carry, tensor, tangent, _state.levels[level])


def map_tangents(source: Tensor, target: Tensor, function: Callable[[Tensor], Tensor]) -> None:
    """Let `target` carry `function` of the tangents of `source`, in all levels."""
    for number, level in enumerate(_state.levels):
        tangent = _lookup(source, level)
        if tangent is not None:
            level.put(_tangents(target), _outside(number, function, tangent))


def share_tangents(source: Tensor, target: Tensor) -> None:
    """Let `target`, over the same memory, carry the very tangents of `source`."""
    map_tangents(source, target, lambda tangent: tangent)


def copy_tangents(source: Tensor, target: Tensor) -> None:
    """Let `target`, over other memory, carry copies of the tangents of `source`."""
    map_tangents(source, target, lambda tangent: tangent.clone())


def _carry(tensor: Tensor, tangent: Tensor | None, level: Level) -> None:
    if tangent is not None and not tangent._opaque and not _same_layout(tensor._array, tangent._array):
        tangent = _copied(tangent, tensor)
    level.put(_tangents(tensor), tangent)


def _tangents(tensor: Tensor) -> Tangents:
    extra = tensor.extra
    known = extra.tangent
    return publish(extra, "tangent", Tangents()) if known is None else known  # type: ignore[no-any-return]


def _own(tensor: Tensor) -> Tangents | None:
    return None if tensor._extra is None else tensor._extra.tangent


def _lookup(tensor: Tensor, level: Level) -> Tensor | None:
    own = _own(tensor)
    if own is not None and level in own:
        return own[level]
    base = tensor._base
    if base is None or tensor._array.dtype.kind in "biu":
        return None
    whole = _own(base)
    known = None if whole is None else whole.get(level)
    if known is None:
        return None
    # The base came to have a tangent after the view was made: the part of it where the view lies.
    tangent = views.part_of(known, base._array, tensor._array)
    level.put(_tangents(tensor), tangent)
    return tangent


def _same_layout(array: np.ndarray, other: np.ndarray) -> bool:
    if array.strides == other.strides or array.dtype != other.dtype:
        return True
    strides = zip(array.shape, array.strides, other.strides, strict=True)
    # Nobody can write where several elements are one, so it does not matter there.
    return all(size <= 1 or a in (0, b) for size, a, b in strides)


def _copied(tangent: Tensor, like: Tensor) -> Tensor:
    """A tangent in memory of its own that is laid out as `like` is."""
    if tangent._opaque:
        return ops.clone(tangent)
    return ops.copy_(wrap(views.zeros_as(like._array)), tangent)


# -- calls


def apply(operator: Operator, out: Any, values: Sequence[Any], record: Callable[..., None] | None = None) -> None:
    """Give the results of a call their tangents.

    Args:
        operator: what was called.
        out: its results, recorded already if they are recorded at all.
        values: its arguments.
        record: makes the Node of the call, where it is not `operator.record`.

    Raises:
        NotImplementedError: a result would have a tangent, and the operator has no derivative, or none in an argument.
    """
    outputs: tuple[Tensor | None, ...]  # None: what a mask leaves out
    if isinstance(out, Tensor):
        outputs = (out,)
    elif isinstance(out, list | tuple):
        outputs = tuple(out)
    else:
        return
    remembered = False
    for number, level in enumerate(_state.levels):
        given = _given(operator, values, level)
        if given is None:
            if operator.view is not None:
                _leave_out(operator, outputs, values, level)
            continue
        if operator.unimplemented:
            _check_implemented(operator, given)
        if not remembered:
            _remember(outputs)
            remembered = True
        _outside(number, _propagate, operator, out, outputs, values, given, level, record or operator.record)


def apply_function(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    jvp: Callable[[list[Tensor | None]], Sequence[Tensor | None]],
    written: set[int],
) -> None:
    """Give the results of a custom Function their tangents, by its own rule.

    Args:
        inputs: what it was called with.
        outputs: its results, recorded already if they are recorded at all.
        jvp: the tangents of the results from those of the inputs; those of what was written are written by it.
        written: the identities of the inputs that the Function wrote in place.
    """
    for number, level in enumerate(_state.levels):
        given = [_lookup(value, level) if isinstance(value, Tensor) else None for value in inputs]
        if all(tangent is None for tangent in given):
            continue
        _remember([out for out in outputs if isinstance(out, Tensor)])
        taken = {id(tangent) for tangent in given}
        for out, tangent in zip(outputs, _outside(number, jvp, given), strict=True):
            if not isinstance(out, Tensor) or tangent is None:
                continue
            if id(out) in written:
                if _lookup(out, level) is not tangent:
                    _outside(number, _overwrite, out, tangent, level)
                continue
            if out._base is None and (id(tangent) in taken or tangent._base is not None):
                tangent = _outside(number, _copied, tangent, out)
            taken.add(id(tangent))
            _outside(number, _carry, out, tangent, level)


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


def carried(operator: Operator, values: Sequence[Any]) -> bool:
    """Whether an argument of a call carries a tangent that its results would have to carry on."""
    return any(_given(operator, values, level) is not None for level in _state.levels)


def any_tangent(tensors: Sequence[Tensor]) -> bool:
    """Whether one of the Tensors carries a tangent."""
    return any(_lookup(tensor, level) is not None for level in _state.levels for tensor in tensors)


def _given(operator: Operator, values: Sequence[Any], level: Level) -> _Given | None:
    """The tangents of the differentiable arguments, None for those without; None where no argument has one."""
    given: _Given = []
    found = False
    for position in operator.tangent_positions:
        value = values[position]
        if isinstance(value, list | tuple):
            item: Any = [_lookup(each, level) if isinstance(each, Tensor) else None for each in value]
            found = found or any(tangent is not None for tangent in item)
        else:
            item = _lookup(value, level) if isinstance(value, Tensor) else None
            found = found or item is not None
        given.append(item)
    return given if found else None


def _flat(item: Any) -> Sequence[Tensor | None]:
    return item if isinstance(item, list) else (item,)


def _check_implemented(operator: Operator, given: _Given) -> None:
    for position, item in zip(operator.tangent_positions, given, strict=True):
        name = operator.signature.schema.arguments[position].name
        if name in operator.unimplemented and any(tangent is not None for tangent in _flat(item)):
            raise NotImplementedError(
                f"Trying to use forward AD with {operator.name} that does not support it because it has not been "
                f"implemented yet: the derivative of '{operator.unimplemented[name]}' for '{name}' is not implemented\n"
                f"  schema: {operator.schema}"
            )


def _leave_out(operator: Operator, outputs: Sequence[Tensor | None], values: Sequence[Any], level: Level) -> None:
    """A view of what has no tangent although its base has one has none either."""
    own = _own(values[operator.base_position])
    if own is not None and level in own:
        for tensor in outputs:
            if tensor is not None:
                level.put(_tangents(tensor), None)


def _propagate(
    operator: Operator,
    out: Any,
    outputs: Sequence[Tensor | None],
    values: Sequence[Any],
    given: _Given,
    level: Level,
    record: Callable[..., None] | None,
) -> None:
    results = _results(operator, out, outputs, values, given, record)
    taken = {id(tangent) for item in given for tangent in _flat(item)}
    for tensor, tangent in zip(outputs, results, strict=True):
        if tangent is None or tensor is None or tensor._array.dtype.kind in "biu":
            continue
        tangent = _fitted(tangent, tensor)
        if operator.view is None and (id(tangent) in taken or tangent._base is not None):
            tangent = _copied(tangent, tensor)  # a write to the result must not be one to the argument's tangent
        taken.add(id(tangent))
        _carry(tensor, tangent, level)


def _results(
    operator: Operator,
    out: Any,
    outputs: Sequence[Tensor | None],
    values: Sequence[Any],
    given: _Given,
    record: Callable[..., None] | None,
) -> list[Tensor | None]:
    """The tangents of the results: by the formula, and where there is none, by the backward formula."""
    results: list[Tensor | None] = [None] * len(outputs)
    depends = [True] * len(outputs)  # on the tangents that are given
    if operator.jvp is not None:
        found = operator.jvp(out, *values, *_filled(operator, values, given))
        results = [found] if isinstance(out, Tensor) else list(found)
        depends = [not zero_tensors.is_zeros(result) for result in results]
    elif operator.view is not None:
        position = operator.base_position  # a view is linear in what it is a view of
        tangent = given[operator.tangent_positions.index(position)]
        found = operator.call_composite(operator.function, [*values[:position], tangent, *values[position + 1 :]])
        results = [found] if isinstance(out, Tensor) else list(found)
    missing = [
        i
        for i, (result, tensor) in enumerate(zip(results, outputs, strict=True))
        if result is None and tensor is not None and tensor._array.dtype.kind in "fcV"
    ]
    results = [result if known else None for result, known in zip(results, depends, strict=True)]
    if not missing:
        return results
    if record is not None:
        found = jvp_by_transpose.tangents(record, out, outputs, values, operator.tangent_positions, given, missing)
        for i in missing:
            results[i] = found[i]
    elif operator.jvp is None and not operator.never_differentiable:
        raise NotImplementedError(
            f"Trying to use forward AD with {operator.name} that does not support it because it has not been "
            "implemented yet: derivatives.yaml has no entry for it"
        )
    return results


def _filled(operator: Operator, values: Sequence[Any], given: _Given) -> list[Any]:
    """Tangents as formulas take them: for arguments that have none, zeros that take no part in a product."""
    filled: list[Any] = []
    for position, item in zip(operator.tangent_positions, given, strict=True):
        value = values[position]
        if isinstance(value, list | tuple):
            pairs = zip(value, item, strict=True)
            filled.append([zero_tensors.like(each) if t is None and each is not None else t for each, t in pairs])
        else:
            filled.append(zero_tensors.like(value) if item is None and value is not None else item)
    return filled


def _fitted(tangent: Tensor, tensor: Tensor) -> Tensor:
    """A tangent in the shape and dtype of its Tensor."""
    shape, dtype = tensor._array.shape, tensor._array.dtype
    if tangent._array.shape != shape:
        tangent = ops.expand(tangent, shape)
    return fit.fit(tangent, shape, dtype, "forward mode")


# -- writes in place


def overwrite(target: Tensor, written: Tensor) -> None:
    """Let `target` carry the tangents of `written`, in the memory of those that it carries already.

    Args:
        target: what was written in place; perhaps a view, whose base then carries the tangent too.
        written: a Tensor over the same memory, with the tangents of the new values.
    """
    for number, level in enumerate(_state.levels):
        own = _own(written)
        _outside(number, _overwrite, target, None if own is None else own.get(level), level)


def _overwrite(target: Tensor, tangent: Tensor | None, level: Level) -> None:
    known = _lookup(target, level)
    if tangent is None:
        if known is not None:
            ops.zero_(known)
        return
    own = _own(target)
    base = target._base
    if known is None and base is not None and (own is None or level not in own):
        # The rest of the base has a tangent of zeros now.
        level.put(_tangents(base), wrap(views.zeros_as(base._array)))
        known = _lookup(target, level)
    if known is None:
        _carry(target, tangent, level)
    else:
        ops.copy_(known, tangent)


# -- on the way back


def _remember(outputs: Sequence[Tensor | None]) -> None:
    """Let the Nodes of recorded results know their tangents: a Node holds arrays of its results, and no Tensors."""
    for tensor in outputs:
        if tensor is None:
            continue
        found = tensor._edge
        node, output_nr = (found.node, found.output_nr) if isinstance(found, OutputEdge) else (found, 0)
        if isinstance(node, Node):
            node.extra.tangents[output_nr] = _tangents(tensor)


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
        tangent = _lookup(source, level)
        if tangent is not None:
            found = _outside(number, apply_linear, tangent, function, adjoint, kind)
            level.put(_tangents(out), found)


carriers.append(_apply_linear_to_tangents)
