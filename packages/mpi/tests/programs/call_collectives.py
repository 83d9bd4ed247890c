"""Calls everything of `gradwright.distributed` on as many processes as run this."""

from __future__ import annotations

import math

import pytest

import gradwright as torch
from gradwright import distributed as dist
from gradwright.distributed import ReduceOp

assert dist.is_available()
assert dist.is_mpi_available()
assert not dist.is_initialized()
with pytest.raises(ValueError, match="init_process_group"):
    dist.get_rank()
dist.init_process_group("mpi")
assert dist.is_initialized()
assert dist.get_backend() == "mpi"
RANK, SIZE = dist.get_rank(), dist.get_world_size()
LAST = SIZE - 1

for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.complex64):
    for op, expected in {
        ReduceOp.SUM: sum(range(1, SIZE + 1)),
        ReduceOp.PRODUCT: math.factorial(SIZE),
        **({} if dtype == torch.int64 else {ReduceOp.AVG: (SIZE + 1) / 2}),
        **({} if dtype.is_complex else {ReduceOp.MAX: SIZE, ReduceOp.MIN: 1}),
    }.items():
        x = torch.full((2, 2), RANK + 1, dtype=dtype)
        version = x._version
        assert dist.all_reduce(x, op) is None
        assert x.tolist() == [[expected] * 2] * 2, (dtype, op, x)
        assert x._version > version
        y = torch.full((2,), RANK + 1, dtype=dtype)
        work = dist.all_reduce(y, op, async_op=True)
        assert work is not None
        work.wait()
        assert work.is_completed()
        assert y.tolist() == [expected] * 2
        y = torch.full((2,), RANK + 1, dtype=dtype)
        dist.reduce(y, LAST, op)
        assert y.tolist() == [expected if RANK == LAST else RANK + 1] * 2
        out = torch.zeros(2, dtype=dtype)
        dist.reduce_scatter(out, [torch.full((2,), RANK + 1, dtype=dtype)] * SIZE, op)
        assert out.tolist() == [expected] * 2
bits = torch.tensor([1 << RANK])
dist.all_reduce(bits, ReduceOp.BOR)
assert bits.item() == (1 << SIZE) - 1
loss = torch.tensor(float(RANK))
dist.all_reduce(loss, ReduceOp.AVG)
assert loss.item() == LAST / 2
weight = torch.ones(3, requires_grad=True)  # a leaf: graphs do not notice
dist.all_reduce(weight)
assert weight.tolist() == [SIZE] * 3
x = torch.arange(3) + RANK
dist.broadcast(x, LAST)
assert x.tolist() == [LAST, LAST + 1, LAST + 2]
x = torch.ones(2, 3).t() * RANK  # not contiguous
rows = [torch.empty(3, 2) for _ in range(SIZE)]
dist.all_gather(rows, x)
assert [row[0, 0].item() for row in rows] == list(range(SIZE))
table = torch.empty(SIZE * 2)
dist.all_gather_into_tensor(table, torch.full((2,), float(RANK)))
assert table.tolist() == [float(rank) for rank in range(SIZE) for _ in range(2)]
rows = [torch.empty(2) for _ in range(SIZE)]
dist.gather(torch.full((2,), float(RANK)), rows if RANK == 0 else None)
if RANK == 0:
    assert [row[0].item() for row in rows] == list(range(SIZE))
x = torch.empty(2)
dist.scatter(x, [torch.full((2,), rank + 5.0) for rank in range(SIZE)] if RANK == LAST else None, src=LAST)
assert x.tolist() == [RANK + 5.0] * 2
out = torch.empty(2)
dist.reduce_scatter_tensor(out, torch.arange(2.0 * SIZE))
assert out.tolist() == [2.0 * RANK * SIZE, (2.0 * RANK + 1) * SIZE]
outs = [torch.empty(1) for _ in range(SIZE)]
dist.all_to_all(outs, [torch.tensor([10.0 * RANK + rank]) for rank in range(SIZE)])
assert [each.item() for each in outs] == [10.0 * rank + RANK for rank in range(SIZE)]
single = torch.empty(SIZE)
dist.all_to_all_single(single, torch.tensor([10.0 * RANK + rank for rank in range(SIZE)]))
assert single.tolist() == [10.0 * rank + RANK for rank in range(SIZE)]
if SIZE > 1:
    if RANK == 0:
        dist.send(torch.arange(3.0), 1)
        work = dist.irecv(back := torch.empty(3), 1, tag=4)
        assert work is not None
        work.wait()
        assert back.tolist() == [0.0, 2.0, 4.0]
    elif RANK == 1:
        x = torch.empty(3)
        assert dist.recv(x, 0) == 0
        work = dist.isend(x * 2, 0, tag=4)
        assert work is not None
        work.wait()
some = dist.new_group([LAST, 0])
if RANK in (0, LAST):
    x = torch.ones(1)
    dist.all_reduce(x, group=some)
    assert x.item() == len({0, LAST})
    assert dist.get_process_group_ranks(some) == sorted({0, LAST})
    assert dist.get_global_rank(some, dist.get_group_rank(some, LAST)) == LAST
else:
    assert some is dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_rank(some) == -1
    x = torch.ones(1)
    dist.all_reduce(x, group=some)
    assert x.item() == 1
dist.barrier()
if SIZE > 1:
    with pytest.raises(RuntimeError, match=r"parameter 0 of process \d is not 'weight"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2 + RANK))
dist.destroy_process_group()
assert not dist.is_initialized()
if RANK == 0:
    print(f"all calls hold on {SIZE} processes")
