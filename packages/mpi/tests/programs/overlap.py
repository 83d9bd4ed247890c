"""Prints the order of what happens in a backward pass: gradients of layers, and the beginning of their sums."""

from __future__ import annotations

import json

import gradwright as torch
from gradwright import distributed, nn

distributed.init_process_group("mpi")
layers = nn.Sequential(*[nn.Linear(4, 4, bias=False) for _ in range(4)])
model = nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.00001)
group = model.process_group
begin = group.all_reduce
order = []
for number, layer in enumerate(layers):
    layer.weight.register_hook(lambda grad, number=number: order.append(f"gradient {number}"))


def recording(array, op, overlaps=False):
    assert overlaps
    order.append(f"sum {len(layers) - 1 - sum(each.startswith('sum') for each in order)}")
    return begin(array, op, overlaps)


group.all_reduce = recording
model(torch.randn(2, 4)).sum().backward()
if distributed.get_rank() == 0:
    print(json.dumps(order))
