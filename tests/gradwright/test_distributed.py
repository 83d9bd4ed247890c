"""Groups of processes and what is made of them, on a backend that needs no other process: all do the same.

What several processes compute is tested by the package that brings a backend, `packages/mpi`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from gradwright import distributed, nn
from gradwright.distributed import ReduceOp, backends
from gradwright.distributed.optim import ZeroRedundancyOptimizer
from gradwright.utils.data import DistributedSampler

SIZE = 3


class Done:
    def __init__(self, array: Any) -> None:
        self.array = array

    def wait(self) -> Any:
        return self.array

    def is_completed(self) -> bool:
        return True


class Alike:
    """A group of processes that all have what this one has."""

    def __init__(self, ranks: Sequence[int]) -> None:
        self.ranks = ranks
        self.calls: list[tuple[str, int]] = []

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return len(self.ranks)

    def all_reduce(self, array: Any, op: ReduceOp, overlaps: bool = False) -> Done:
        self.calls.append(("all_reduce", array.size))
        return Done(array * self.size() if op is ReduceOp.SUM else array.copy())

    def reduce(self, array: Any, op: ReduceOp, root: int, overlaps: bool = False) -> Done:
        return Done(array * self.size() if root == 0 else None)

    def broadcast(self, array: Any, root: int, overlaps: bool = False) -> Done:
        self.calls.append(("broadcast", array.size))
        return Done(array.copy())

    def all_gather(self, array: Any, overlaps: bool = False) -> Done:
        return Done(np.stack([array] * self.size()))

    def gather(self, array: Any, root: int, overlaps: bool = False) -> Done:
        return Done(np.stack([array] * self.size()) if root == 0 else None)

    def scatter(self, rows: Any, like: Any, root: int, overlaps: bool = False) -> Done:
        return Done(rows[0])

    def reduce_scatter(self, rows: Any, op: ReduceOp, overlaps: bool = False) -> Done:
        return Done(rows[0] * self.size())

    def all_to_all(self, rows: Any, overlaps: bool = False) -> Done:
        return Done(np.stack([rows[0]] * self.size()))

    def send(self, array: Any, dest: int, tag: int) -> Done:
        return Done(None)

    def receive(self, like: Any, source: int, tag: int) -> Done:
        return Done(np.full_like(like, source))

    def barrier(self, overlaps: bool = False) -> Done:
        return Done(None)


@pytest.fixture
def world() -> Iterator[Alike]:
    distributed.Backend.register_backend(
        "alike", lambda ranks: None if ranks is not None and 0 not in ranks else Alike(ranks or range(SIZE))
    )
    distributed.init_process_group("alike")
    group = distributed.group.WORLD
    assert isinstance(group, Alike)
    yield group
    distributed.destroy_process_group()
    del distributed.Backend._makers["alike"]


def test_without_a_group() -> None:
    assert not distributed.is_initialized()
    assert distributed.get_pg_count() == 0
    for call in (distributed.get_rank, distributed.barrier, distributed.get_backend):
        with pytest.raises(ValueError, match="init_process_group"):
            call()
    with pytest.raises(ValueError, match="init_process_group"):
        distributed.all_reduce(torch.ones(1))
    with pytest.raises(ValueError, match="init_process_group"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="no backend 'nccl', of mpi"):
        distributed.init_process_group("nccl")
    with pytest.raises(NotImplementedError, match="send Tensors"):
        distributed.all_gather_object([], 1)  # type: ignore[attr-defined]


def test_the_error_names_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "is_mpi_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"pip install gradwright-mpi\[mpich\]"):
        distributed.init_process_group()


def test_groups(world: Alike) -> None:
    assert distributed.is_available()
    assert distributed.is_initialized()
    assert (distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()) == (0, SIZE, "alike")
    with pytest.raises(ValueError, match="twice"):
        distributed.init_process_group("alike")
    some = distributed.new_group([2, 0])
    assert distributed.get_process_group_ranks(some) == [0, 2]
    assert distributed.get_group_rank(some, 2) == 1
    assert distributed.get_global_rank(some, 1) == 2
    with pytest.raises(ValueError, match="not part"):
        distributed.get_group_rank(some, 1)
    other = distributed.new_group([1, 2])
    assert other is distributed.GroupMember.NON_GROUP_MEMBER
    assert distributed.get_rank(other) == -1
    assert distributed.all_reduce(torch.ones(1), group=other) is None
    assert distributed.get_pg_count() == 2
    distributed.destroy_process_group(some)
    assert distributed.get_pg_count() == 1


def test_collectives_write_to_tensors(world: Alike) -> None:
    x = torch.ones(2, 3).t()
    version = x._version
    assert distributed.all_reduce(x) is None
    assert x.tolist() == [[SIZE, SIZE]] * 3
    assert x._version == version + 1
    weight = torch.ones(2, requires_grad=True)
    work = distributed.all_reduce(weight, async_op=True)
    assert work is not None
    assert weight.tolist() == [1, 1]
    assert work.wait()
    assert work.is_completed()
    assert weight.tolist() == [SIZE, SIZE]
    half = torch.ones(2, dtype=torch.bfloat16)
    distributed.broadcast(half, 0)
    assert half.tolist() == [1, 1]
    rows = [torch.zeros(2) for _ in range(SIZE)]
    distributed.all_gather(rows, torch.ones(2))
    assert [row.tolist() for row in rows] == [[1, 1]] * SIZE
    distributed.gather(torch.zeros(2), rows)
    assert [row.tolist() for row in rows] == [[0, 0]] * SIZE
    with pytest.raises(ValueError, match="a list of 3"):
        distributed.gather(torch.zeros(2))
    with pytest.raises(ValueError, match="multiple of 3"):
        distributed.reduce_scatter_tensor(torch.zeros(2), torch.zeros(4))
    distributed.monitored_barrier()
    x = torch.zeros(2)
    assert distributed.recv(x, 2) == 2
    assert x.tolist() == [2, 2]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 2))


def test_gradients_of_the_whole_batch_in_buckets(world: Alike) -> None:
    module, alone = network(), network()
    model = nn.parallel.DistributedDataParallel(module, bucket_cap_mb=0.0001)
    x = torch.randn(5, 4)
    world.calls.clear()
    model(x).sum().backward()
    alone(x).sum().backward()
    for mine, expected in zip(module.parameters(), alone.parameters(), strict=True):
        assert mine.grad is not None
        assert torch.equal(mine.grad, expected.grad)
    # Buffers, a call for each dtype; then gradients from the last layer to the first.
    assert world.calls[:2] == [("broadcast", 16), ("broadcast", 1)]
    assert [size for name, size in world.calls if name == "all_reduce"] == [2 + 16 + 8 + 8, 8 + 32]
    assert list(model.state_dict()) == [f"module.{name}" for name in module.state_dict()]


def test_no_sync_adds_up(world: Alike) -> None:
    module, alone = network(), network()
    model = nn.parallel.DistributedDataParallel(module)
    x = torch.randn(5, 4)
    with model.no_sync():
        world.calls.clear()
        model(x).sum().backward()
        assert world.calls == []
    model(x).square().sum().backward()
    alone(x).sum().backward()
    alone(x).square().sum().backward()
    for mine, expected in zip(module.parameters(), alone.parameters(), strict=True):
        assert torch.equal(mine.grad, expected.grad)


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> dict[str, list[torch.Tensor]]:
        return {"results": [self.left(x)]}


def test_unused_parameters(world: Alike) -> None:
    module = Halves()
    model = nn.parallel.DistributedDataParallel(module, find_unused_parameters=True)
    for _ in range(2):
        module.zero_grad()
        model(torch.ones(1, 2))["results"][0].sum().backward()
        assert module.left.weight.grad is not None
        assert module.right.weight.grad is None  # no process uses it
    strict = nn.parallel.DistributedDataParallel(Halves())
    strict(torch.ones(1, 2))  # a call whose result is not used is no mistake
    strict(torch.ones(1, 2))["results"][0].sum().backward()
    with pytest.raises(RuntimeError, match=r"finished reduction .* right.weight, right.bias"):
        strict(torch.ones(1, 2))


def test_a_module_without_parameters(world: Alike) -> None:
    with pytest.raises(RuntimeError, match="not needed"):
        nn.parallel.DistributedDataParallel(nn.Tanh())


def test_a_sampler_knows_the_group(world: Alike) -> None:
    sampler = DistributedSampler(list(range(6)), shuffle=False)
    assert list(sampler) == [0, 3]


def test_a_sharded_optimizer_has_a_part_of_the_state(world: Alike) -> None:
    sizes = (5, 9, 2, 4, 7)  # assigned from the largest: 9, 7 + 2, 5 + 4
    parameters = [torch.ones(size, requires_grad=True) for size in sizes]
    optimizer = ZeroRedundancyOptimizer(parameters[:3], torch.optim.Adam, lr=0.5)
    optimizer.add_param_group({"params": parameters[3:], "lr": 0.25})
    assert [[len(each) for each in group["params"]] for group in optimizer.param_groups] == [[5, 9, 2], [4, 7]]
    assert [[len(each) for each in group["params"]] for group in optimizer.optim.param_groups] == [[9], []]
    assert optimizer.param_groups[1]["betas"] == (0.9, 0.999)  # of the class that was named
    optimizer.param_groups[0]["lr"] = 0.125  # as schedules do
    world.calls.clear()
    for parameter in parameters:
        parameter.sum().backward()
    optimizer.step()
    assert parameters[1].tolist() == pytest.approx([1 - 0.125] * 9)
    assert [size for _, size in world.calls] == [36, 4 * (5 + 4), 4 * (2 + 7)]
    assert list(optimizer.optim.state) == [parameters[1]]
    assert not optimizer.state
    with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
        optimizer.state_dict()


def test_errors_of_sharded_optimizers(world: Alike) -> None:
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="overlap_with_ddp"):
        ZeroRedundancyOptimizer([weight], torch.optim.SGD, overlap_with_ddp=True, lr=1.0)
    with pytest.raises(ValueError, match="LBFGS computes with all parameters at once"):
        ZeroRedundancyOptimizer([weight], torch.optim.LBFGS)
    with pytest.raises(ValueError, match="empty parameter list"):
        ZeroRedundancyOptimizer([], torch.optim.SGD, lr=1.0)
    with pytest.raises(RuntimeError, match="not in the group"):
        ZeroRedundancyOptimizer([weight], torch.optim.SGD, distributed.new_group([1, 2]), lr=1.0)
    optimizer = ZeroRedundancyOptimizer([weight], torch.optim.SGD, lr=1.0)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
