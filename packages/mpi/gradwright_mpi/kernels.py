"""What MPI does with arrays: their memory is sent and received as it is, nothing is pickled."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from gradwright_mpi.groups import Group, group_of
from gradwright_mpi.waiting import wait

Array = np.ndarray[Any, Any]


def _bytes(array: Array) -> Array:
    """The memory of a contiguous array, which MPI moves whatever its dtype."""
    return array.reshape(-1).view(np.uint8)


def _contiguous(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(array.shape)  # NumPy makes one dimension of none


def _stacked(self: Array, group: Group) -> Array:
    self = _contiguous(self)
    out = np.empty((group.size, *self.shape), self.dtype)
    wait(group.comm.Iallgather(_bytes(self), _bytes(out)), group, "allgather")
    return out


def _in_order(parts: Array) -> Array:
    """Their sum from the first one on, as one process adds them."""
    total: Array = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def allreduce_sum(self: Array, group: str) -> Array:
    of = group_of(group)
    if of.ordered:
        return _in_order(_stacked(self, of))
    self = _contiguous(self)
    out = np.empty_like(self)
    wait(of.comm.Iallreduce(self, out, MPI.SUM), of, "allreduce")
    return out


def allreduce_max(self: Array, group: str) -> Array:
    # MPI does not say what becomes of NaN, which here is greater and less than all numbers.
    return np.asarray(np.maximum.reduce(_stacked(self, group_of(group)), axis=0))


def allreduce_min(self: Array, group: str) -> Array:
    return np.asarray(np.minimum.reduce(_stacked(self, group_of(group)), axis=0))


def reduce_to(self: Array, root: int, group: str) -> Array:
    of = group_of(group)
    if of.ordered:
        parts = gather_to(self, root, group)
        return _in_order(parts) if of.rank == root else np.zeros_like(self, order="C")
    self = _contiguous(self)
    out = np.zeros_like(self)
    wait(of.comm.Ireduce(self, out if of.rank == root else None, MPI.SUM, root), of, "reduce_to")
    return out


def broadcast_from(self: Array, root: int, group: str) -> Array:
    of = group_of(group)
    out = np.array(self, order="C")
    wait(of.comm.Ibcast(_bytes(out), root), of, "broadcast_from")
    return out


def gather_to(self: Array, root: int, group: str) -> Array:
    of = group_of(group)
    self = _contiguous(self)
    out = np.empty((of.size if of.rank == root else 0, *self.shape), self.dtype)
    wait(of.comm.Igather(_bytes(self), _bytes(out) if of.rank == root else None, root), of, "gather_to")
    return out


def scatter_from(self: Array, root: int, group: str) -> Array:
    of = group_of(group)
    if self.ndim == 0:
        raise RuntimeError("scatter_from: self has no first dimension, of which each rank gets a row")
    if of.rank == root and self.shape[0] != of.size:
        raise RuntimeError(f"scatter_from: self has {self.shape[0]} rows, and group '{group}' {of.size} ranks")
    out = np.empty(self.shape[1:], self.dtype)
    wait(
        of.comm.Iscatter(_bytes(_contiguous(self)) if of.rank == root else None, _bytes(out), root), of, "scatter_from"
    )
    return out


def allgather(self: Array, group: str) -> Array:
    return _stacked(self, group_of(group))


def reduce_scatter(self: Array, group: str) -> Array:
    of = group_of(group)
    _check_rows("reduce_scatter", self, of)
    if of.ordered:
        return _in_order(alltoall(self, group))
    self = _contiguous(self)
    out = np.empty(self.shape[1:], self.dtype)
    wait(of.comm.Ireduce_scatter_block(self, out, MPI.SUM), of, "reduce_scatter")
    return out


def alltoall(self: Array, group: str) -> Array:
    of = group_of(group)
    _check_rows("alltoall", self, of)
    self = _contiguous(self)
    out = np.empty_like(self)
    wait(of.comm.Ialltoall(_bytes(self), _bytes(out)), of, "alltoall")
    return out


def _check_rows(name: str, self: Array, group: Group) -> None:
    if self.ndim == 0 or self.shape[0] != group.size:
        rows = "no first dimension" if self.ndim == 0 else f"{self.shape[0]} rows"
        raise RuntimeError(f"{name}: self has {rows}, and group '{group.name}' {group.size} ranks")


def scan(self: Array, reverse: bool, group: str) -> Array:
    of = group_of(group)
    if of.ordered:
        parts = _stacked(self, of)
        return _in_order(parts[of.rank :][::-1] if reverse else parts[: of.rank + 1])
    self = _contiguous(self)
    out = np.empty_like(self)
    wait((of.backwards if reverse else of.comm).Iscan(self, out, MPI.SUM), of, "scan")
    return out


def sendrecv(
    self: Array,
    like: Array,
    dest: int,
    source: int,
    back_dest: int,
    back_source: int,
    front_dest: int,
    front_source: int,
    tag: int,
    group: str,
) -> Array:
    of = group_of(group)
    of.check_message(dest, source, tag)
    self = _contiguous(self)
    out = np.zeros(like.shape, like.dtype)
    if dest == of.rank and (self.dtype, self.shape) != (out.dtype, out.shape):
        raise RuntimeError("sendrecv: what a rank sends to itself is not as it expects it")
    requests = [
        of.comm.Irecv(_bytes(out), MPI.PROC_NULL if source < 0 else source, tag),
        of.comm.Isend(_bytes(self), MPI.PROC_NULL if dest < 0 else dest, tag),
    ]
    wait(requests, of, "sendrecv", peers=(source, dest), tag=tag)
    return out
