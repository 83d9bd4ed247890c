"""Training by several processes, measured: `mpiexec -n 2 python -m bench.data_parallel`; alone it is one process.

It prints a line of JSON on the first process, seconds that are the least of all steps:

- `step`: of the network on a batch of which each process has its part
- with `--parts` also `step without sums`, where gradients are not exchanged, `forward`, what of it comes before the
  backward pass, `sums alone`, the exchange where nothing else is done (0 for one process), and `allreduce` of a Tensor,
  by its bytes
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import bench  # the number of threads, before libraries load
import gradwright as torch
from gradwright import distributed, nn

INPUTS, OUTPUTS = 256, 10
SIZES = (8, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24)


def least(work: Callable[[], Any], times: int) -> float:
    """The least seconds that all processes take together."""
    taken = []
    for _ in range(times + 1):
        distributed.barrier()
        started = time.perf_counter()
        work()
        distributed.barrier()
        taken.append(time.perf_counter() - started)
    return min(taken[1:])  # the first one allocates


def training(width: int, batch: int, steps: int, parts: bool) -> dict[str, float]:
    """Seconds of a step of a network of three layers, and of its parts where they are asked for."""
    rank, size = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(INPUTS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, OUTPUTS)
    )
    model: Any = nn.parallel.DistributedDataParallel(network, bucket_cap_mb=1) if size > 1 else network
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    x = torch.randn(batch, INPUTS).chunk(size)[rank].contiguous()
    y = (torch.arange(batch) % OUTPUTS).chunk(size)[rank].contiguous()

    def forward() -> Any:
        return nn.functional.cross_entropy(model(x), y)

    def step() -> None:
        optimizer.zero_grad()
        forward().backward()
        optimizer.step()

    found = {"parameters": sum(each.numel() for each in network.parameters()), "step": least(step, steps)}
    if not parts:
        return found
    with model.no_sync() if size > 1 else contextlib.nullcontext():
        found["step without sums"] = least(step, steps) if size > 1 else found["step"]
        with torch.no_grad():
            found["forward"] = least(forward, steps)
    flats = [each.detach().clone() for each in reversed(list(network.parameters()))]

    def sums() -> None:
        for work in [distributed.all_reduce(each, async_op=True) for each in flats]:
            assert work is not None
            work.wait()

    found["sums alone"] = least(sums, steps) if size > 1 else 0.0
    return found


def allreduce(size: int, times: int) -> float:
    """Seconds of the sum of a Tensor of so many bytes."""
    tensor = torch.zeros(size // 4)
    return least(lambda: distributed.all_reduce(tensor), times)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.data_parallel", description=__doc__)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--parts", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(bench.THREADS)
    distributed.init_process_group("mpi")
    found: dict[str, Any] = {"processes": distributed.get_world_size()}
    found.update(training(options.width, options.batch, options.steps, options.parts))
    if options.parts:
        found["allreduce"] = {size: allreduce(size, options.steps) for size in SIZES}
    if distributed.get_rank() == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
