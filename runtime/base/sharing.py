"""Which Tensors lie over the same memory: the count of writes that they share, and the views among them.

Without a native core, Tensors share the list `_writes` from the moment when the second of them is made, and behind the
count stand weak references to the views. With it they stand in a ring, which costs a few assignments when a view is
made and nothing when it is freed, and the list is made for all of them when the count is first read.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from runtime.base.once import publish
from runtime.base.threads import ThreadState
from runtime.native import core

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor

_reference = weakref.ref
_sweeping = threading.Lock()


class LiveViews:
    """What stands behind the count in a list `_writes`: weak references to views.

    Attributes:
        guarded: whether there may be views among them that must not be written.
    """

    __slots__ = ("_limit", "guarded", "references")

    def __init__(self) -> None:
        self.guarded = False
        self.references: list[weakref.ref[Tensor]] = []
        self._limit = 32

    def add(self, view: Tensor) -> None:
        """Remember one more."""
        references = self.references
        references.append(_reference(view))
        if len(references) > self._limit and _sweeping.acquire(blocking=False):
            try:
                # The dead are swept when there are twice as many as were alive: cheaper than a callback at each death.
                # Other threads add behind those that are looked at.
                count = len(references)
                references[:count] = [reference for reference in references[:count] if reference() is not None]
                self._limit = 2 * len(references) + 32
            finally:
                _sweeping.release()


# What the native core puts behind the count where there are views that must not be written.
GUARD = LiveViews()
GUARD.guarded = True


class Transforms(ThreadState):
    """What the transforms of functions have refused that are open on this thread."""

    captured: tuple[list[Any], ...] = ()  # the counts of writes to Tensors that the functions take from outside


transforms = Transforms()
# Stands behind the count of a captured Tensor: what the native core writes by itself has no second item.
CAPTURED = LiveViews()


def check_captured(tensor: Tensor, operator: str) -> None:
    """Refuse a write to a Tensor that a function under a transform takes from outside.

    Args:
        tensor: what is about to be written.
        operator: the name of what writes.

    Raises:
        RuntimeError: it is one.
    """
    if is_captured(tensor):
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"({operator}) that would mutate a captured Tensor. This is not supported; please rewrite the function "
            "being transformed to explicitly accept the mutated Tensor(s) as inputs."
        )


def is_captured(tensor: Tensor) -> bool:
    """Whether a function under an open transform takes a Tensor, or another over its memory, from outside."""
    writes = lowest(tensor)._writes
    return any(writes is each for each in transforms.captured)


def capture(tensor: Tensor) -> list[Any]:
    """The count of writes to a Tensor from outside, marked so that each write asks `check_captured`."""
    writes = counter(tensor)
    if core is not None and len(writes) == 1:
        writes.append(CAPTURED)
    return writes


def let_go(writes: list[Any]) -> None:
    """Take the mark of `capture` away."""
    if len(writes) > 1 and writes[1] is CAPTURED:
        del writes[1]


def share(new: Tensor, old: Tensor) -> None:
    """Let `new`, just made over the memory of `old`, count writes together with it."""
    writes = new._writes = counter(old)
    if new._base is not None and type(writes) is list:  # inference tensors have no count, and it is not written
        if len(writes) == 1:
            writes.append(LiveViews())  # where two threads do, all use the first
        writes[1].add(new)


def guard(view: Tensor) -> None:
    """Mark `view` as one that writes change the history of, whether they are recorded or not."""
    writes = counter(view)
    if len(writes) > 1 and writes[1] is not CAPTURED:
        writes[1].guarded = True
    elif len(writes) > 1:
        writes[1] = GUARD
    else:
        writes.append(GUARD)


def counter(tensor: Tensor) -> list[Any]:
    """The count of writes to the memory of `tensor`, as the first item of the list that all over this memory share."""
    writes = tensor._writes
    return publish(tensor, "_writes", [0]) if writes is None else writes


def views_over(tensor: Tensor) -> list[Tensor]:
    """The living views over the memory of `tensor`, those of one base in the order in which they were made."""
    writes = tensor._writes
    if writes is None or len(writes) < 2:
        return []
    return [view for reference in writes[1].references if (view := reference()) is not None]


def shares(one: Tensor, other: Tensor) -> bool:
    """Whether writes to one of the Tensors count for the other."""
    return one is other or (one._writes is not None and one._writes is other._writes)


def lowest(tensor: Tensor) -> Tensor:
    """The Tensor that the state is kept in: below a BatchedTensor, the batch."""
    while tensor._batched:
        tensor = tensor.value  # type: ignore[attr-defined]
    return tensor


def _share(new: Tensor, old: Tensor) -> None:
    core.share(new, lowest(old))


def _counter(tensor: Tensor) -> list[Any]:
    return tensor._writes or core.counter(lowest(tensor))


def _views_over(tensor: Tensor) -> list[Tensor]:
    views: list[Tensor] = core.views_over(lowest(tensor))
    return views


def _shares(one: Tensor, other: Tensor) -> bool:
    return bool(core.shares(lowest(one), lowest(other)))


if core is not None:
    share, counter, views_over, shares = _share, _counter, _views_over, _shares
