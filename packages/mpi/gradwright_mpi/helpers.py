"""Functions on Tensors that formulas call."""

from __future__ import annotations

from gradwright import Tensor, ops
from gradwright.library import linear_in
from gradwright_mpi.agreement import agree


@linear_in("self")
def agreed(self: Tensor, call: str, root: int, group: str) -> Tensor:
    """The same Tensor, with a graph or a tangent where another rank's has one: all take part in its derivative then."""
    return agree(self, call, root, group)


def extreme_backward(grad: Tensor, self: Tensor, result: Tensor, group: str) -> Tensor:
    """The gradient of the greatest or least of all ranks' elements: ties, on whichever ranks, have equal shares."""
    total = ops.mpi._allreduce(agreed(grad, "allreduce", -1, group), group)
    return ops.mul(total, _share(self, result, group))


def extreme_forward(tangent: Tensor, self: Tensor, result: Tensor, group: str) -> Tensor:
    """The tangent of the greatest or least of all ranks' elements: the mean of those of the ties."""
    return ops.mpi._allreduce(ops.mul(tangent, _share(self, result, group)), group)


def _share(self: Tensor, result: Tensor, group: str) -> Tensor:
    reached = ops.eq(self, result).to(self.dtype)
    return ops.div(reached, ops.mpi._allreduce(reached, group))


def scatter_backward(grad: Tensor, size: list[int], root: int, group: str) -> Tensor:
    """The gradients of all rows, on `root`; zeros for what the others had in place of them."""
    rows = ops.mpi._gather_to(agreed(grad, "gather_to", root, group), root, group)
    return rows if rows.shape[0] == size[0] else ops.cat([rows, ops.zeros(size, dtype=grad.dtype)])


@linear_in("self")
def sent(self: Tensor, like: Tensor, dest: int, source: int, tag: int, group: str) -> Tensor:
    """What comes from `source`, while `self` goes to `dest`: a gradient on its way back, or a tangent."""
    return ops.mpi.sendrecv(self, like, dest, source, tag=tag, group=group)
