"""Compares sharded optimizers with one optimizer of all parameters, on as many processes as run this.

`shard_optimizer.py write FILE` ends with a checkpoint half-way through a training, `shard_optimizer.py read FILE` goes
on from there, on any number of processes, and compares with a training that was not interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest

import gradwright as torch
from gradwright import Tensor, distributed, nn
from gradwright.distributed.optim import ZeroRedundancyOptimizer
from gradwright.optim import SGD, Adam, AdamW, Optimizer

STEPS = 6
distributed.init_process_group("mpi")
RANK, SIZE = distributed.get_rank(), distributed.get_world_size()
Make = Callable[[nn.Module, Callable[..., Optimizer]], Optimizer]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3))
    layers[2].double()  # parameters of two dtypes
    return layers


def loss_of(layers: nn.Sequential, step: int) -> Tensor:
    """The same on all processes: it is about what they do with gradients."""
    x = torch.randn(10, 4, generator=torch.Generator().manual_seed(step))
    first, act, second, act_too, last = layers
    return last(act_too(second(act(first(x)).double())).float()).square().mean()


def one_group(layers: nn.Module, make: Callable[..., Optimizer]) -> Optimizer:
    return make(layers.parameters(), lr=0.1)


def groups(layers: nn.Module, make: Callable[..., Optimizer]) -> Optimizer:
    weights = [each for each in layers.parameters() if each.ndim == 2]
    biases = [each for each in layers.parameters() if each.ndim == 1]
    optimizer = make([{"params": weights, "weight_decay": 0.1}], lr=0.1)
    optimizer.add_param_group({"params": biases, "lr": 0.3})
    return optimizer


def named(layers: nn.Module, make: Callable[..., Optimizer]) -> Optimizer:
    return make(layers.named_parameters(), lr=0.1, momentum=0.9)


CASES: Sequence[tuple[type[Optimizer], Make]] = [(Adam, one_group), (AdamW, groups), (SGD, named), (SGD, one_group)]


def sharded(kind: type[Optimizer]) -> Callable[..., Optimizer]:
    return lambda parameters, **options: ZeroRedundancyOptimizer(parameters, kind, **options)


def train(layers: nn.Sequential, optimizer: Optimizer, steps: Sequence[int]) -> None:
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    for step in steps:

        def closure(step: int = step) -> Tensor:
            optimizer.zero_grad()
            loss = loss_of(layers, step)
            loss.backward()
            return loss

        if step % 2:
            assert optimizer.step(closure) is not None
        else:
            closure()
            optimizer.step()
        schedule.step()


def equal(mine: Any, expected: Any) -> bool:
    if isinstance(expected, Tensor):
        return isinstance(mine, Tensor) and mine.dtype == expected.dtype and torch.equal(mine, expected)
    if isinstance(expected, dict):
        return list(mine) == list(expected) and all(equal(mine[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(mine) == len(expected) and all(map(equal, mine, expected))
    return bool(mine == expected)


def compare(kind: type[Optimizer], make: Make) -> None:
    layers, alone = network(), network()
    optimizer, expected = make(layers, sharded(kind)), make(alone, kind)
    assert isinstance(optimizer, ZeroRedundancyOptimizer)
    assert [list(group) for group in optimizer.param_groups] == [list(group) for group in expected.param_groups]
    train(layers, optimizer, range(STEPS))
    train(alone, expected, range(STEPS))
    for mine, one in zip(layers.parameters(), alone.parameters(), strict=True):
        assert torch.equal(mine, one), (kind, make)
    # Each process has a part of the state, and all have the whole of it.
    held = torch.tensor([len(optimizer.optim.state)])
    distributed.all_reduce(held)
    assert held.item() == len(expected.state)
    assert SIZE == 1 or len(optimizer.optim.state) < max(1, len(expected.state))
    with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
        optimizer.state_dict()
    optimizer.consolidate_state_dict(to=SIZE - 1)
    if RANK == SIZE - 1:
        whole = optimizer.state_dict()
        assert sorted(whole) == sorted(expected.state_dict())
        assert equal(whole["state"], expected.state_dict()["state"]), (kind, make)
        for mine, one in zip(whole["param_groups"], expected.state_dict()["param_groups"], strict=True):
            assert mine == one
    else:
        with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
            optimizer.state_dict()
    # What one optimizer has saved goes on sharded.
    layers.load_state_dict(alone.state_dict())
    optimizer.load_state_dict(deepcopy(expected.state_dict()))  # which has the memory of the other one
    train(layers, optimizer, range(STEPS, STEPS + 2))
    train(alone, expected, range(STEPS, STEPS + 2))
    for mine, one in zip(layers.parameters(), alone.parameters(), strict=True):
        assert torch.equal(mine, one), (kind, make)


def few_parameters() -> None:
    """Fewer than processes."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = ZeroRedundancyOptimizer([weight], Adam, lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()
    assert weight.tolist() != [1.0, 1.0]
    everywhere = [torch.empty(2) for _ in range(SIZE)]
    distributed.all_gather(everywhere, weight.detach())
    assert all(torch.equal(each, weight) for each in everywhere)
    optimizer.consolidate_state_dict()
    if RANK == 0:
        assert len(optimizer.state_dict()["state"]) == 1


def write(file: str) -> None:
    layers = network()
    optimizer = groups(layers, sharded(Adam))
    train(layers, optimizer, range(STEPS))
    assert isinstance(optimizer, ZeroRedundancyOptimizer)
    optimizer.consolidate_state_dict()
    if RANK == 0:
        torch.save({"layers": layers.state_dict(), "optimizer": optimizer.state_dict()}, file)


def read(file: str) -> None:
    saved = torch.load(file)
    layers, alone = network(), network()
    layers.load_state_dict(saved["layers"])
    optimizer, expected = groups(layers, sharded(Adam)), groups(alone, Adam)
    optimizer.load_state_dict(saved["optimizer"])
    train(alone, expected, range(STEPS))
    train(layers, optimizer, range(STEPS, 2 * STEPS))
    train(alone, expected, range(STEPS, 2 * STEPS))
    for mine, one in zip(layers.parameters(), alone.parameters(), strict=True):
        assert torch.equal(mine, one)


if __name__ == "__main__":
    if sys.argv[1:]:
        {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
    else:
        for kind, make in CASES:
            compare(kind, make)
        few_parameters()
    distributed.barrier()
    if RANK == 0:
        print(f"sharded optimizers hold on {SIZE} processes")
