"""Trains a small network on as many processes as run this, in several ways, and prints losses and parameters.

`train_together.py WAY` prints a line of JSON on the first process. `one` is one process on whole batches, and
`one in parts N` one process that adds up the gradients of the N parts in their order.
"""

from __future__ import annotations

import json
import sys

import gradwright as torch
from gradwright import Tensor, distributed, nn
from gradwright.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH, STEPS = 24, 5
way = sys.argv[1]
alone = way.startswith("one")
if not alone:
    distributed.init_process_group("mpi")
rank, size = (0, 1) if alone else (distributed.get_rank(), distributed.get_world_size())


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 16)
        self.second = nn.Linear(16, 8)
        self.third = nn.Linear(8, 3)
        self.side = nn.Linear(8, 3)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor, side: bool = False) -> Tensor:
        self.seen += 1
        h = self.second(self.first(x).tanh()).tanh()
        return self.third(h) + (self.side(h) if side else 0)


def data(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(BATCH, 4, generator=generator)
    return x, (x @ torch.arange(12.0).reshape(4, 3)).argmax(1)


torch.manual_seed(rank)  # only the parameters of the first process count
module = Network()
if "unused" not in way:
    module.side.requires_grad_(False)
if alone:
    model = module
elif way == "unused":
    model = nn.parallel.DistributedDataParallel(module, find_unused_parameters=True, bucket_cap_mb=0.0005)
else:
    model = nn.parallel.DistributedDataParallel(module, bucket_cap_mb=0.0005)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
losses = []
for step in range(STEPS):
    x, y = data(step)
    optimizer.zero_grad()
    if way.startswith("one in parts"):
        parts = int(way.split()[-1])
        loss = torch.zeros(())
        for xs, ys in zip(x.chunk(parts), y.chunk(parts), strict=True):
            one = nn.functional.cross_entropy(model(xs), ys)
            one.backward()
            loss = loss + one.detach()
        loss = loss / parts
        for parameter in module.parameters():
            if parameter.grad is not None:
                parameter.grad /= parts
    elif way == "accumulated":  # each process has its part in two halves, and sends with the second one
        xs, ys = x.chunk(size)[rank], y.chunk(size)[rank]
        with model.no_sync():
            first = nn.functional.cross_entropy(model(xs[::2]), ys[::2])
            (first / 2).backward()
        second = nn.functional.cross_entropy(model(xs[1::2]), ys[1::2])
        (second / 2).backward()
        loss = ((first + second) / 2).detach()
    elif way in ("unused", "one unused"):
        xs, ys = (x, y) if alone else (x.chunk(size)[rank], y.chunk(size)[rank])
        if alone:
            # What the first of two processes does, and the second.
            (xa, xb), (ya, yb) = x.chunk(2), y.chunk(2)
            losses_ = nn.functional.cross_entropy(model(xa, True), ya), nn.functional.cross_entropy(model(xb), yb)
            loss = (losses_[0] + losses_[1]) / 2
        else:
            loss = nn.functional.cross_entropy(model(xs, rank == 0), ys)
        loss.backward()
        loss = loss.detach()
    else:
        loss = nn.functional.cross_entropy(model(x.chunk(size)[rank]), y.chunk(size)[rank])
        loss.backward()
        loss = loss.detach()
    if not alone:
        distributed.all_reduce(loss, distributed.ReduceOp.AVG)
    losses.append(loss.item())
    optimizer.step()
flat = torch.cat([parameter.detach().reshape(-1) for parameter in module.parameters()])
if not alone:
    everywhere = [torch.empty_like(flat) for _ in range(size)]
    distributed.all_gather(everywhere, flat)
    assert all(torch.equal(each, flat) for each in everywhere), "the processes have other parameters"
    seen = torch.tensor([float(rank)])
    module.seen.copy_(seen)
    model(data(0)[0])  # sends the buffers
    assert module.seen.item() == 1.0
    sampler = DistributedSampler(TensorDataset(*data(0)), shuffle=False)
    loader = DataLoader(sampler.dataset, batch_size=BATCH // size, sampler=sampler)
    (x, _), *none = list(loader)
    assert torch.equal(x, data(0)[0][rank::size])
    assert not none
if rank == 0:
    print(json.dumps({"losses": losses, "parameters": flat.tolist()}))
