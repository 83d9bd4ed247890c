"""What programs call: it agrees with the other ranks, and then calls the operator that MPI carries out.

All ranks of a group call the same, in the same order, with Tensors of one shape and dtype unless it is said otherwise.
"""

from __future__ import annotations

from gradwright import Tensor, ops
from gradwright_mpi.agreement import agree, agree_on_message


def allreduce(self: Tensor, op: str, group: str) -> Tensor:
    """The sum, the greatest or the least of the elements of all ranks, on each of them."""
    if op == "sum":
        return ops.mpi._allreduce(agree(self, "allreduce", -1, group), group)
    if op == "max":
        return ops.mpi._allreduce_max(agree(self, "allreduce max", -1, group), group)
    if op == "min":
        return ops.mpi._allreduce_min(agree(self, "allreduce min", -1, group), group)
    raise ValueError(f"allreduce: op is 'sum', 'max' or 'min', not {op!r}")


def reduce_to(self: Tensor, root: int, group: str) -> Tensor:
    """The sum of all ranks' Tensors on `root`, and zeros elsewhere."""
    return ops.mpi._reduce_to(agree(self, "reduce_to", root, group), root, group)


def broadcast_from(self: Tensor, root: int, group: str) -> Tensor:
    """The Tensor of `root` on each rank. That of the others says shape and dtype."""
    return ops.mpi._broadcast_from(agree(self, "broadcast_from", root, group), root, group)


def gather_to(self: Tensor, root: int, group: str) -> Tensor:
    """The Tensors of all ranks one after the other, in a new first dimension, on `root`; none (0 of them) elsewhere."""
    return ops.mpi._gather_to(agree(self, "gather_to", root, group), root, group)


def scatter_from(self: Tensor, root: int, group: str) -> Tensor:
    """To each rank its row of the Tensor of `root`. That of the others says shape and dtype; it may be empty."""
    return ops.mpi._scatter_from(agree(self, "scatter_from", root, group), root, group)


def allgather(self: Tensor, group: str) -> Tensor:
    """The Tensors of all ranks one after the other, in a new first dimension, on each of them."""
    return ops.mpi._allgather(agree(self, "allgather", -1, group), group)


def reduce_scatter(self: Tensor, group: str) -> Tensor:
    """To each rank its row of the sum of all ranks' Tensors, which have a row for each of them."""
    return ops.mpi._reduce_scatter(agree(self, "reduce_scatter", -1, group), group)


def alltoall(self: Tensor, group: str) -> Tensor:
    """From each rank the row that it has for this one."""
    return ops.mpi._alltoall(agree(self, "alltoall", -1, group), group)


def scan(self: Tensor, reverse: bool, group: str) -> Tensor:
    """The sum of the Tensors of the ranks up to this one; with `reverse` of those from this one on."""
    call = "scan back" if reverse else "scan"
    return ops.mpi._scan(agree(self, call, -1, group), reverse, group)


def sendrecv(self: Tensor, like: Tensor, dest: int, source: int, tag: int, group: str) -> Tensor:
    """Send `self` to `dest` and return what `source` sends, of the shape and dtype of `like`; -1 is nobody, zeros."""
    self, *ways = agree_on_message(self, like, dest, source, tag, group)
    return ops.mpi._sendrecv(self, like, dest, source, *ways, tag, group)
