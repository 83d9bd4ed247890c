"""What processes of a group do together with Tensors. They write to them, and have no derivatives, as in PyTorch.

The operators of gradwright-mpi, which return new Tensors, have derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradwright.distributed.backends import Array, Pending, ProcessGroup, ReduceOp
from gradwright.distributed.groups import get_group_rank, group_in_use
from runtime.base.creation import from_numpy
from runtime.base.tensor import Tensor

__all__ = [
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
]


class Work:
    """A call that was begun: what it brings is written by `wait`."""

    def __init__(self, pending: Pending, write: Callable[[Array], None] | None = None) -> None:
        self._pending: Pending | None = pending
        self._write = write

    def wait(self, timeout: object = None) -> bool:
        """Wait for its end, and write what came to the Tensors that the call named."""
        if self._pending is not None:
            came = self._pending.wait()
            self._pending = None
            if came is not None and self._write is not None:
                self._write(came)
        return True

    def is_completed(self) -> bool:
        """Whether it has ended; `wait` writes what came, and does not wait then."""
        return self._pending is None or self._pending.is_completed()


def array_of(tensor: Tensor) -> Array:
    """The elements of a Tensor as a contiguous array, which may be its memory."""
    return np.ascontiguousarray(tensor.detach()._array).reshape(tensor.shape)


def write(tensor: Tensor, array: Array) -> None:
    """Make an array the elements of a Tensor, whose version counts one more; a graph does not notice."""
    out = tensor.detach()
    out.copy_(from_numpy(np.asarray(array).reshape(tensor.shape)))


def _begun(work: Work, async_op: bool) -> Work | None:
    if async_op:
        return work
    work.wait()
    return None


def _written(pending: Pending, tensor: Tensor, async_op: bool) -> Work | None:
    """The work that writes what comes to a Tensor."""
    return _begun(Work(pending, lambda came: write(tensor, came)), async_op)


def _peer(found: ProcessGroup, given: int | None, in_group: int | None) -> int:
    """A rank in the group, which was told by the rank among all, or in the group."""
    if in_group is not None:
        return in_group
    assert given is not None
    return get_group_rank(found, given)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Make `tensor` the sum of those of all processes, or what `op` says.

    Returns:
        None, or with `async_op` what waits for it.
    """
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.all_reduce(array_of(tensor), op, async_op)
    return _written(pending, tensor, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """As `all_reduce`, on the process `dst` alone."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.reduce(array_of(tensor), op, _peer(found, dst, group_dst), async_op)
    return _written(pending, tensor, async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Make `tensor` that of the process `src`."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.broadcast(array_of(tensor), _peer(found, src, group_src), async_op)
    return _written(pending, tensor, async_op)


def _write_rows(tensors: Sequence[Tensor]) -> Callable[[Array], None]:
    def write_rows(came: Array) -> None:
        for tensor, row in zip(tensors, came, strict=True):
            write(tensor, row)

    return write_rows


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the Tensors of all processes to those of a list."""
    found = group_in_use(group)
    if found is None:
        return None
    return _begun(Work(found.all_gather(array_of(tensor), async_op), _write_rows(tensor_list)), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the Tensors of all processes one after the other."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.all_gather(array_of(input_tensor), async_op)
    return _written(pending, output_tensor, async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the Tensors of all processes to those of a list, on the process `dst`, by default 0."""
    found = group_in_use(group)
    if found is None:
        return None
    root = _peer(found, found.ranks[0] if dst is None else dst, group_dst)
    _check_list("gather", "dst", gather_list, found, root)
    return _begun(Work(found.gather(array_of(tensor), root, async_op), _write_rows(gather_list or ())), async_op)


def _check_list(name: str, role: str, tensors: Sequence[Tensor] | None, found: ProcessGroup, root: int) -> None:
    if found.rank() == root and (tensors is None or len(tensors) != found.size()):
        raise ValueError(f"{name}: the process {role} has a list of {found.size()} Tensors, one for each process")
    if found.rank() != root and tensors:
        raise ValueError(f"{name}: only the process {role} has a list")


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write to `tensor` the one that the list of the process `src`, by default 0, has for this process."""
    found = group_in_use(group)
    if found is None:
        return None
    root = _peer(found, found.ranks[0] if src is None else src, group_src)
    _check_list("scatter", "src", scatter_list, found, root)
    rows = np.stack([array_of(each) for each in scatter_list]) if scatter_list else None
    pending = found.scatter(rows, array_of(tensor), root, async_op)
    return _written(pending, tensor, async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Write to `output` the sum over all processes of the Tensors that their lists have for this one."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.reduce_scatter(np.stack([array_of(each) for each in input_list]), op, async_op)
    return _written(pending, output, async_op)


def _rows(tensor: Tensor, found: ProcessGroup, name: str) -> Array:
    if not tensor.shape or tensor.shape[0] % found.size():
        raise ValueError(f"{name}: the first dimension of the input has to be a multiple of {found.size()} processes")
    array = array_of(tensor)
    return array.reshape(found.size(), tensor.shape[0] // found.size(), *tensor.shape[1:])


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """As `reduce_scatter`, with the Tensors one after the other in one."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.reduce_scatter(_rows(input, found, "reduce_scatter_tensor"), op, async_op)
    return _written(pending, output, async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send to each process the Tensor that the list has for it, all of one shape; write what comes."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.all_to_all(np.stack([array_of(each) for each in input_tensor_list]), async_op)
    return _begun(Work(pending, _write_rows(output_tensor_list)), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """As `all_to_all`, with the Tensors one after the other in one.

    Raises:
        NotImplementedError: parts of different sizes are asked for.
    """
    found = group_in_use(group)
    if found is None:
        return None
    if len({*(output_split_sizes or ()), *(input_split_sizes or ())}) > 1:
        raise NotImplementedError("all_to_all_single: parts of different sizes")
    pending = found.all_to_all(_rows(input, found, "all_to_all_single"), async_op)
    return _written(pending, output, async_op)


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a Tensor to the process `dst`; what is returned waits until its memory is free."""
    found = group_in_use(group)
    return None if found is None else Work(found.send(array_of(tensor), _peer(found, dst, group_dst), tag))


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a Tensor from the process `src`."""
    found = group_in_use(group)
    if found is None:
        return None
    pending = found.receive(array_of(tensor), _peer(found, src, group_src), tag)
    return Work(pending, lambda came: write(tensor, came))


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a Tensor to the process `dst`."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a Tensor from the process `src`, whose rank is returned."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    found = group_in_use(group)
    assert found is not None
    return found.ranks[_peer(found, src, group_src)]


def barrier(group: Any = None, async_op: bool = False, device_ids: object = None) -> Work | None:
    """Return when all processes have called this."""
    found = group_in_use(group)
    return None if found is None else _begun(Work(found.barrier(async_op)), async_op)


def monitored_barrier(group: Any = None, timeout: object = None, wait_all_ranks: bool = False) -> None:
    """As `barrier`: a backend says itself which processes do not come, and has a timeout of its own."""
    barrier(group)
