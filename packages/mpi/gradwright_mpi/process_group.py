"""The backend "mpi" of `gradwright.distributed`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from gradwright.distributed import Backend, ReduceOp
from gradwright_mpi.agreement import agree_on_call, checks
from gradwright_mpi.groups import WORLD, Group, group_of, register
from gradwright_mpi.waiting import Awaited, begin, wait

__all__ = ["MpiProcessGroup"]

Array = np.ndarray[Any, Any]
_OPERATIONS = {
    ReduceOp.SUM: MPI.SUM,
    ReduceOp.AVG: MPI.SUM,
    ReduceOp.PRODUCT: MPI.PROD,
    ReduceOp.MIN: MPI.MIN,
    ReduceOp.MAX: MPI.MAX,
    ReduceOp.BAND: MPI.BAND,
    ReduceOp.BOR: MPI.BOR,
    ReduceOp.BXOR: MPI.BXOR,
}
_IN_ORDER = {ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply}
_WITH_NAN = {ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum}  # MPI does not say what becomes of NaN


class _Begun:
    """A call that was begun, with the arrays that MPI reads and writes meanwhile."""

    def __init__(
        self,
        request: MPI.Request,
        group: Group,
        shown: str,
        awaited: Sequence[Awaited],
        kept: object = None,
        finish: Callable[[], Array | None] = lambda: None,
    ) -> None:
        self._request = request
        self._group = group
        self._shown = shown
        self._awaited = awaited
        self._kept = kept
        self._finish = finish

    def is_completed(self) -> bool:
        return bool(self._request.Test())

    def wait(self) -> Array | None:
        wait(self._request, self._group, self._shown, begun=self._awaited)
        return self._finish()


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


class MpiProcessGroup:
    """A communicator as `gradwright.distributed` uses it."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.ranks: Sequence[int] = group.members

    def __repr__(self) -> str:
        return f"MpiProcessGroup({self.group})"

    def rank(self) -> int:
        return self.group.rank

    def size(self) -> int:
        return self.group.size

    def _call(self, name: str, array: Array | None, overlaps: bool) -> tuple[str, Sequence[Awaited]]:
        """Compare the call with those of the others, and count it."""
        shown = name if array is None else f"{name} of {array.dtype}{list(array.shape)}"
        if self.group.size > 1 and (checks() == "all" or (checks() == "1" and not overlaps)):
            agree_on_call(shown, self.group)
        return shown, begin(self.group)

    def all_reduce(self, array: Array, op: ReduceOp, overlaps: bool = False) -> _Begun:
        shown, awaited = self._call(f"all_reduce {op.value}", array, overlaps)
        if op in _WITH_NAN or (op in _IN_ORDER and self.group.ordered):
            rows = np.empty((self.group.size, *array.shape), array.dtype)
            request = self.group.comm.Iallgather(_bytes(array), _bytes(rows))
            return _Begun(request, self.group, shown, awaited, array, lambda: self._together(rows, op))
        sent = _computable(array)
        out = np.empty_like(sent)
        request = self.group.comm.Iallreduce(sent, out, _OPERATIONS[op])
        return _Begun(request, self.group, shown, awaited, sent, lambda: self._finished(out, array, op))

    def reduce(self, array: Array, op: ReduceOp, root: int, overlaps: bool = False) -> _Begun:
        if op in _WITH_NAN or (op in _IN_ORDER and self.group.ordered):
            begun = self.gather(array, root, overlaps)
            rows = begun._finish()  # the memory that it will be in
            begun._finish = lambda: None if rows is None else self._together(rows, op)
            return begun
        shown, awaited = self._call(f"reduce {op.value} to rank {root}", array, overlaps)
        sent = _computable(array)
        out = np.empty_like(sent) if self.rank() == root else None
        request = self.group.comm.Ireduce(sent, out, _OPERATIONS[op], root)
        return _Begun(
            request,
            self.group,
            shown,
            awaited,
            sent,
            lambda: None if out is None else self._finished(out, array, op),
        )

    def _together(self, rows: Array, op: ReduceOp) -> Array:
        """What all rows become, from the first one on."""
        if op in _WITH_NAN:
            return np.asarray(_WITH_NAN[op].reduce(rows, axis=0))
        total = _computable(rows[0]).copy()
        for row in rows[1:]:
            total = _IN_ORDER[op](total, row, dtype=total.dtype)
        return self._finished(total, rows[0], op)

    def _finished(self, out: Array, like: Array, op: ReduceOp) -> Array:
        if op is ReduceOp.AVG:
            out = np.asarray(out)  # NumPy makes numbers of sums of no dimension
            # Where it is: another array as large as a bucket of gradients would take longer than the division.
            place = out if out.dtype.kind in "fc" else None
            out = np.asarray(np.divide(out, out.real.dtype.type(self.group.size), out=place))
        return out.astype(like.dtype, copy=False)

    def broadcast(self, array: Array, root: int, overlaps: bool = False) -> _Begun:
        shown, awaited = self._call(f"broadcast from rank {root}", array, overlaps)
        out = array.copy()
        request = self.group.comm.Ibcast(_bytes(out), root)
        return _Begun(request, self.group, shown, awaited, out, lambda: out)

    def all_gather(self, array: Array, overlaps: bool = False) -> _Begun:
        shown, awaited = self._call("all_gather", array, overlaps)
        rows = np.empty((self.group.size, *array.shape), array.dtype)
        request = self.group.comm.Iallgather(_bytes(array), _bytes(rows))
        return _Begun(request, self.group, shown, awaited, array, lambda: rows)

    def gather(self, array: Array, root: int, overlaps: bool = False) -> _Begun:
        shown, awaited = self._call(f"gather to rank {root}", array, overlaps)
        rows = np.empty((self.group.size, *array.shape), array.dtype) if self.rank() == root else None
        request = self.group.comm.Igather(_bytes(array), None if rows is None else _bytes(rows), root)
        return _Begun(request, self.group, shown, awaited, array, lambda: rows)

    def scatter(self, rows: Array | None, like: Array, root: int, overlaps: bool = False) -> _Begun:
        shown, awaited = self._call(f"scatter from rank {root}", like, overlaps)
        out = np.empty_like(like)
        request = self.group.comm.Iscatter(None if rows is None else _bytes(rows), _bytes(out), root)
        return _Begun(request, self.group, shown, awaited, rows, lambda: out)

    def reduce_scatter(self, rows: Array, op: ReduceOp, overlaps: bool = False) -> _Begun:
        if rows.shape[0] != self.group.size:
            raise ValueError(f"reduce_scatter: {rows.shape[0]} parts for {self.group.size} processes")
        if op in _WITH_NAN or (op in _IN_ORDER and self.group.ordered):
            begun = self.all_to_all(rows, overlaps)
            received = begun._finish()
            assert received is not None
            begun._finish = lambda: self._together(received, op)
            return begun
        shown, awaited = self._call(f"reduce_scatter {op.value}", rows, overlaps)
        sent = _computable(rows)
        out = np.empty_like(sent[0])
        request = self.group.comm.Ireduce_scatter_block(sent, out, _OPERATIONS[op])
        return _Begun(request, self.group, shown, awaited, sent, lambda: self._finished(out, rows, op))

    def all_to_all(self, rows: Array, overlaps: bool = False) -> _Begun:
        if rows.shape[0] != self.group.size:
            raise ValueError(f"all_to_all: {rows.shape[0]} parts for {self.group.size} processes")
        shown, awaited = self._call("all_to_all", rows, overlaps)
        out = np.empty_like(rows)
        request = self.group.comm.Ialltoall(_bytes(rows), _bytes(out))
        return _Begun(request, self.group, shown, awaited, rows, lambda: out)

    def send(self, array: Array, dest: int, tag: int) -> _Begun:
        awaited = begin(self.group, (-1, dest), tag)
        request = self.group.comm.Isend(_bytes(array), dest, tag)
        return _Begun(request, self.group, f"send of {array.dtype}{list(array.shape)}", awaited, array)

    def receive(self, like: Array, source: int, tag: int) -> _Begun:
        awaited = begin(self.group, (source, -1), tag)
        out = np.empty_like(like)
        request = self.group.comm.Irecv(_bytes(out), source, tag)
        return _Begun(request, self.group, f"recv of {like.dtype}{list(like.shape)}", awaited, out, lambda: out)

    def barrier(self, overlaps: bool = False) -> _Begun:
        shown, awaited = self._call("barrier", None, overlaps)
        return _Begun(self.group.comm.Ibarrier(), self.group, shown, awaited)


def _computable(array: Array) -> Array:
    """An array of a dtype that MPI adds: half precision in float32, rounded once."""
    if array.dtype.kind in "iufc" and array.dtype != np.float16:
        return array
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    return array.astype(np.float32)


def _make(ranks: Sequence[int] | None) -> MpiProcessGroup | None:
    if ranks is None:
        return MpiProcessGroup(group_of(WORLD))
    world = group_of(WORLD)
    agree_on_call(f"new_group of ranks {', '.join(map(str, ranks))}", world)
    comm = world.comm.Split(0 if world.rank in ranks else MPI.UNDEFINED, world.rank)
    if comm == MPI.COMM_NULL:
        return None
    assert isinstance(comm, MPI.Intracomm)
    return MpiProcessGroup(register(comm))


Backend.register_backend("mpi", _make)
