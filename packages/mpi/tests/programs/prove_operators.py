"""Compares every operator, on as many processes as run this, with the same mathematics in one process.

Each rank knows the inputs of all ranks, so it computes what all of them should get and compares its own part: values,
gradients, second derivatives, tangents, tangents of gradients, batches, and what follows where one rank alone asks for
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gradwright as torch
import gradwright_mpi as mpi
from gradwright import Tensor

WORLD = mpi.group_of("world")
RANK, SIZE = WORLD.rank, WORLD.size
Together = Callable[[Sequence[Tensor]], Sequence[Tensor]]


class Case(NamedTuple):
    name: str
    call: Callable[[Tensor], Tensor]  # on this rank
    together: Together  # the same, of all ranks' inputs, in one process
    shapes: Sequence[tuple[int, ...]]  # of each rank's input
    real: bool = False
    batched: bool = True


def on(root: int, value: Tensor, like: Tensor) -> Sequence[Tensor]:
    return [value if rank == root else torch.zeros_like(like) for rank in range(SIZE)]


def total(xs: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(xs)).sum(0)


def cases(group: str) -> Sequence[Case]:
    last = SIZE - 1
    same = [(2, 3)] * SIZE
    rows = [(SIZE, 2, 3)] * SIZE

    def of_root(root: int) -> Sequence[tuple[int, ...]]:
        return [(SIZE, 2) if rank == root else (0, 2) for rank in range(SIZE)]

    def shift(x: Tensor) -> Tensor:
        return mpi.sendrecv(x, x.detach(), (RANK + 1) % SIZE, (RANK - 1) % SIZE, group=group)

    def down(x: Tensor) -> Tensor:
        return mpi.sendrecv(x, x.detach(), RANK + 1 if last > RANK else -1, RANK - 1, tag=3, group=group)

    return [
        Case("allreduce", lambda x: mpi.allreduce(x, group=group), lambda xs: [total(xs)] * SIZE, same),
        Case(
            "max",
            lambda x: mpi.allreduce(x, "max", group=group),
            lambda xs: [torch.stack(list(xs)).amax(0)] * SIZE,
            same,
            True,
        ),
        Case(
            "min",
            lambda x: mpi.allreduce(x, "min", group=group),
            lambda xs: [torch.stack(list(xs)).amin(0)] * SIZE,
            same,
            True,
        ),
        Case("reduce_to", lambda x: mpi.reduce_to(x, last, group=group), lambda xs: on(last, total(xs), xs[0]), same),
        Case("broadcast_from", lambda x: mpi.broadcast_from(x, last, group=group), lambda xs: [xs[last]] * SIZE, same),
        Case(
            "gather_to",
            lambda x: mpi.gather_to(x, last, group=group),
            lambda xs: [torch.stack(list(xs)) if rank == last else torch.stack(list(xs))[:0] for rank in range(SIZE)],
            same,
            batched=False,
        ),
        Case(
            "scatter_from",
            lambda x: mpi.scatter_from(x, 0, group=group),
            lambda xs: list(xs[0]),
            of_root(0),
            batched=False,
        ),
        Case("allgather", lambda x: mpi.allgather(x, group=group), lambda xs: [torch.stack(list(xs))] * SIZE, same),
        Case("reduce_scatter", lambda x: mpi.reduce_scatter(x, group=group), lambda xs: list(total(xs)), rows),
        Case(
            "alltoall",
            lambda x: mpi.alltoall(x, group=group),
            lambda xs: [torch.stack([x[rank] for x in xs]) for rank in range(SIZE)],
            rows,
        ),
        Case(
            "scan", lambda x: mpi.scan(x, group=group), lambda xs: [total(xs[: rank + 1]) for rank in range(SIZE)], same
        ),
        Case(
            "scan back",
            lambda x: mpi.scan(x, reverse=True, group=group),
            lambda xs: [total(xs[rank:]) for rank in range(SIZE)],
            same,
        ),
        Case("sendrecv round", shift, lambda xs: [xs[rank - 1] for rank in range(SIZE)], same),
        Case("sendrecv down", down, lambda xs: [xs[0] * 0, *xs[:-1]], same),
    ]


def inputs(case: Case, seed: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, dtype=dtype, generator=generator) for shape in case.shapes]


def like(values: Sequence[Tensor], seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*value.shape, dtype=value.dtype, generator=generator) for value in values]


def loss(y: Tensor, weight: Tensor) -> Tensor:
    """Real, and with a second derivative."""
    value = (y.sin() * weight).sum()
    return value.real if value.is_complex() else value


def close(case: Case, what: str, mine: Tensor, expected: Tensor) -> None:
    if mine.shape != expected.shape or not torch.allclose(mine, expected, rtol=1e-10, atol=1e-12):
        raise AssertionError(f"{case.name}: {what} on rank {RANK} of {SIZE}: {mine} where one process has {expected}")


def differentiate(case: Case, dtype: torch.dtype, asking: Sequence[int]) -> None:
    """First and second derivatives; only the ranks `asking` have inputs that require grad."""
    xs = inputs(case, 1, dtype)
    for rank in asking:
        xs[rank].requires_grad_()
    ys = case.together(xs)
    weights, directions = like(ys, 2), like(xs, 3)
    asked = [xs[rank] for rank in asking]
    nothing = sum((loss(x, x * 0) for x in asked), start=torch.zeros(()))  # some results do not depend on them
    together = sum((loss(y, w) for y, w in zip(ys, weights, strict=True)), start=nothing)
    grads = torch.autograd.grad(together, asked, create_graph=True, materialize_grads=True)
    along = sum((loss(g, directions[rank]) for rank, g in zip(asking, grads, strict=True)), start=nothing)
    seconds = torch.autograd.grad(along, asked, materialize_grads=True)

    x = xs[RANK].detach().clone().requires_grad_(RANK in asking)
    y = case.call(x)
    close(case, "value", y.detach(), ys[RANK].detach())
    if case.name.startswith("sendrecv") and RANK not in asking and (RANK - 1) % SIZE not in asking:
        assert not y.requires_grad
        return
    assert y.requires_grad, f"{case.name}: rank {RANK} takes no part in the derivative"
    mine = loss(y, weights[RANK])
    if len(asking) < SIZE:
        mine.backward()
        if RANK in asking:
            assert x.grad is not None
            close(case, "gradient that one rank asks for", x.grad, grads[asking.index(RANK)].detach())
    else:
        (grad,) = torch.autograd.grad(mine, x, create_graph=True)
        close(case, "gradient", grad.detach(), grads[asking.index(RANK)].detach())
        (second,) = torch.autograd.grad(loss(grad, directions[RANK]), x)
        close(case, "second derivative", second, seconds[asking.index(RANK)])


def move(case: Case) -> None:
    xs = inputs(case, 1)
    ts = like(xs, 4)
    ys, expected = torch.func.jvp(lambda *xs: tuple(case.together(xs)), tuple(xs), tuple(ts))
    value, tangent = torch.func.jvp(case.call, (xs[RANK],), (ts[RANK],))
    close(case, "value of jvp", value, ys[RANK])
    close(case, "tangent", tangent, expected[RANK])
    weights = like(ys, 2)

    def together(*xs: Tensor) -> Tensor:
        return sum((loss(y, w) for y, w in zip(case.together(xs), weights, strict=True)), start=torch.zeros(()))

    everything = tuple(range(SIZE))
    _, curved = torch.func.jvp(torch.func.grad(together, argnums=everything), tuple(xs), tuple(ts))
    _, mine = torch.func.jvp(torch.func.grad(lambda x: loss(case.call(x), weights[RANK])), (xs[RANK],), (ts[RANK],))
    close(case, "tangent of the gradient", mine, curved[RANK])
    # One rank alone has a tangent.
    _, expected = torch.func.jvp(lambda x: tuple(case.together([x, *xs[1:]])), (xs[0],), (ts[0],))
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(xs[RANK], ts[RANK]) if RANK == 0 else xs[RANK]
        tangent = torch.autograd.forward_ad.unpack_dual(case.call(x)).tangent
        if tangent is None and case.name.startswith("sendrecv"):
            tangent = xs[RANK] * 0  # of a rank that rank 0 sends nothing to
        assert tangent is not None
        close(case, "tangent where rank 0 alone has one", tangent, expected[RANK])


def batch(case: Case) -> None:
    many = [inputs(case, seed) for seed in range(10, 14)]
    expected = torch.stack([case.together(xs)[RANK] for xs in many])
    close(case, "batch", torch.vmap(case.call)(torch.stack([xs[RANK] for xs in many])), expected)


def prove(group: str) -> None:
    everyone = list(range(SIZE))
    for case in cases(group):
        for dtype in (torch.float64,) if case.real else (torch.float64, torch.complex128):
            differentiate(case, dtype, everyone)
            differentiate(case, dtype, [0])
        move(case)
        if case.batched:
            batch(case)


def dtypes() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.uint8, torch.bool, torch.complex64):
        x = torch.tensor([1, RANK]).to(dtype)
        summed = mpi.allreduce(x)
        assert summed.dtype == (torch.int64 if dtype == torch.bool else dtype), (dtype, summed.dtype)
        assert summed.tolist() == [SIZE, sum(map(bool, range(SIZE))) if dtype == torch.bool else sum(range(SIZE))]
        assert mpi.broadcast_from(x, SIZE - 1).tolist() == torch.tensor([1, SIZE - 1]).to(dtype).tolist()
        assert mpi.allgather(x).dtype == dtype
    assert mpi.allreduce(torch.tensor([float("nan") if RANK == SIZE - 1 else 1.0]), "max").isnan().all()
    x = torch.tensor(1.0, requires_grad=True)  # a tie of all ranks
    mpi.allreduce(x, "max").backward()
    assert x.grad is not None
    assert abs(x.grad.item() - 1.0) < 1e-6  # each copy of the result asks for 1, and each rank has its share
    y = torch.ones(2, 3).t()  # not contiguous
    assert mpi.allreduce(y).shape == (3, 2)
    assert mpi.allreduce(torch.ones(0)).shape == (0,)


def communicators() -> None:
    """Two groups at once, and sums in order: the bits of one process that adds in the same order."""
    from mpi4py import MPI

    pairs = mpi.register(MPI.COMM_WORLD.Split(RANK % 2, RANK))
    x = torch.tensor(float(RANK), requires_grad=True)
    y = mpi.allreduce(mpi.allreduce(x, group=pairs.name) * (RANK + 1))
    y.backward()
    mates = [rank for rank in range(SIZE) if rank % 2 == RANK % 2]
    assert y.item() == sum((r + 1) * sum(q for q in range(SIZE) if q % 2 == r % 2) for r in range(SIZE))
    assert x.grad is not None
    assert x.grad.item() == SIZE * sum(r + 1 for r in mates)
    ordered = mpi.register(MPI.COMM_WORLD, "ordered", ordered=True)
    generator = torch.Generator().manual_seed(0)
    parts = torch.randn(SIZE, 1000, generator=generator)
    expected = parts[0]
    for part in parts[1:]:
        expected = expected + part
    assert torch.equal(mpi.allreduce(parts[RANK], group=ordered.name), expected)
    prove(ordered.name)


if __name__ == "__main__":
    prove("world")
    dtypes()
    communicators()
    mpi.barrier()
    if RANK == 0:
        print(f"{len(cases('world'))} cases hold on {SIZE} processes")
