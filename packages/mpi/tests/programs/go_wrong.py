"""Goes wrong in one of many ways, on several processes: none may be left waiting."""

from __future__ import annotations

import os
import signal
import sys
import time

from mpi4py import MPI

import gradwright as torch
import gradwright_mpi as mpi

RANK, SIZE = mpi.group_of("world").rank, mpi.group_of("world").size
x = torch.ones(3, requires_grad=True)
way = sys.argv[1]
mpi.barrier()
if way == "raise":
    if RANK == 1:
        raise ZeroDivisionError("rank 1 can not go on")
    mpi.allreduce(x)
elif way == "raise while others compute":
    if RANK == 1:
        raise ZeroDivisionError("rank 1 can not go on")
    time.sleep(60)
elif way == "exit":
    if RANK == 1:
        sys.exit(3)
    mpi.allreduce(x)
elif way == "exit while others compute":
    if RANK == 1:
        sys.exit(3)
    time.sleep(60)
elif way == "exit at once":
    if RANK == 1:
        os._exit(3)
    mpi.allreduce(x)
elif way == "killed":
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    mpi.allreduce(x)
elif way == "call left out":
    if RANK != 1:
        mpi.allreduce(x)
elif way == "operators":
    if RANK == 1:
        mpi.allgather(x)
    else:
        mpi.allreduce(x)
elif way == "order":
    if RANK == 1:
        mpi.allgather(x)
        mpi.allreduce(x)
    else:
        mpi.allreduce(x)
        mpi.allgather(x)
elif way == "shapes":
    mpi.allreduce(torch.ones(3 + RANK))
elif way == "dtypes":
    mpi.allreduce(x if RANK == 1 else x.double())
elif way == "roots":
    mpi.broadcast_from(x, RANK)
elif way == "groups":
    one, two = (mpi.register(MPI.COMM_WORLD, name) for name in ("one", "two"))
    for group in (one, two) if RANK == 0 else (two, one):
        mpi.allreduce(x, group=group.name)
elif way == "round":  # 0 waits for 1, 1 for 2, and 2 for 0, each in another group
    pairs = [(rank, (rank + 1) % SIZE) for rank in range(SIZE)]
    groups = {}
    for pair in pairs:
        comm = MPI.COMM_WORLD.Split(0 if RANK in pair else MPI.UNDEFINED, RANK)
        if RANK in pair:
            groups[pair] = mpi.register(comm, str(pair))
    mpi.allreduce(x, group=groups[pairs[RANK]].name)
    mpi.allreduce(x, group=groups[pairs[RANK - 1]].name)
elif way == "messages":
    mpi.sendrecv(x, x.detach(), -1, (RANK - 1) % SIZE)
elif way == "message of another shape":
    mpi.sendrecv(torch.ones(2), torch.ones(2 if RANK != 1 else 4), (RANK + 1) % SIZE, (RANK - 1) % SIZE)
elif way == "derivative left out":
    y = mpi.allreduce(x)
    (x if RANK == 1 else y).sum().backward()
elif way == "another derivative":
    y = mpi.allreduce(x)
    z = mpi.allgather(x)
    (z if RANK == 1 else y).sum().backward()
elif way.startswith("training"):
    torch.distributed.init_process_group("mpi")
    layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
    layers.forward = lambda x, some: sum(layer(x).sum() for layer in some)
    model = torch.nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.00001)
    for step in range(100):
        left_out = way == "training: left out" and RANK == 1 and step == 50
        loss = model(x, list(layers)[1:] if left_out else list(layers))
        if step == 50 and RANK == 1 and way == "training: killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if step == 50 and RANK == 1 and way == "training: raises":
            layers[1].weight.register_hook(lambda grad: 1 / 0)
        loss.backward()
elif way == "hang":
    if RANK == 1:
        time.sleep(60)
    mpi.allreduce(x)
else:
    raise ValueError(way)
print("got away with it")
