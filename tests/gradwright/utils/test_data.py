"""Data sets, samplers and loaders: what comes, in which order, and from which process."""

from __future__ import annotations

import os
import random
from collections import namedtuple
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright.utils import data
from gradwright.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset


class Squares(Dataset[int]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __getitem__(self, index: int) -> int:
        return index * index

    def __len__(self) -> int:
        return self.size


class Failing(Squares):
    def __getitem__(self, index: int) -> int:
        if index == 5:
            raise KeyError("no such sample")
        return index


class Dying(Squares):
    def __getitem__(self, index: int) -> int:
        if index == 5:
            os._exit(3)
        return index


class Slow(Squares):
    def __getitem__(self, index: int) -> int:
        import time

        time.sleep(60)
        return index


class Facts(Squares):
    """What a worker knows, and its random numbers."""

    def __getitem__(self, index: int) -> Any:
        info = data.get_worker_info()
        number = -1 if info is None else info.id
        seed = 0 if info is None else info.seed
        return number, seed, gradwright.rand(()).item(), random.random(), np.random.rand()


class Part(IterableDataset[int]):
    """A stream of which each worker gives its part."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, self.size, step))

    def __len__(self) -> int:
        return self.size


def numbers(batches: Any) -> list[Any]:
    return [batch.tolist() for batch in batches]


def flat(lists: Any) -> list[Any]:
    return list(chain.from_iterable(lists))


def begin(number: int) -> None:
    os.environ["GRADWRIGHT_TEST_WORKER"] = str(number)


def fail(number: int) -> None:
    raise RuntimeError(f"worker {number} does not start")


def environment(samples: list[int]) -> Any:
    return samples, os.environ.get("GRADWRIGHT_TEST_WORKER"), os.getpid(), gradwright.get_num_threads()


# -- in this process


def test_batches() -> None:
    x, y = gradwright.arange(10).reshape(5, 2), gradwright.arange(5)
    dataset = TensorDataset(x, y)
    assert len(DataLoader(dataset, 2)) == 3
    assert [(a.tolist(), b.tolist()) for a, b in DataLoader(dataset, 2)][1:] == [
        ([[4, 5], [6, 7]], [2, 3]),
        ([[8, 9]], [4]),
    ]
    assert len(DataLoader(dataset, 2, drop_last=True)) == len(list(DataLoader(dataset, 2, drop_last=True))) == 2
    assert list(DataLoader(Squares(3), None)) == [0, 1, 4]
    assert numbers(DataLoader(Squares(6), batch_sampler=[[5, 0], [1]])) == [[25, 0], [1]]
    assert numbers(DataLoader(Squares(6), 2, sampler=[3, 1, 2])) == [[9, 1], [4]]
    assert list(DataLoader(Squares(4), 3, collate_fn=sum)) == [5, 9]


def test_shuffled_batches_have_every_sample_once_and_follow_the_seed() -> None:
    def order(seed: int) -> list[list[int]]:
        loader = DataLoader(Squares(50), 7, shuffle=True, generator=gradwright.Generator().manual_seed(seed))
        return [flat(numbers(loader)), flat(numbers(loader))]

    first, second = order(3)
    assert first != second
    assert sorted(first) == sorted(second) == [number**2 for number in range(50)]
    assert order(3) == [first, second]
    assert order(4) != [first, second]
    gradwright.manual_seed(0)
    one = numbers(DataLoader(Squares(50), 7, shuffle=True))
    gradwright.manual_seed(0)
    assert numbers(DataLoader(Squares(50), 7, shuffle=True)) == one


def test_streams() -> None:
    assert numbers(DataLoader(Part(5), 2)) == [[0, 1], [2, 3], [4]]
    assert numbers(DataLoader(Part(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Part(3), None)) == [0, 1, 2]
    assert len(DataLoader(Part(5), 2)) == 3
    chained = Part(2) + Part(3)
    assert isinstance(chained, data.ChainDataset)
    assert len(chained) == 5
    assert numbers(DataLoader(chained, 4)) == [[0, 1, 0, 1], [2]]
    loader = DataLoader(Part(3), None)
    assert len(loader) == 3
    loader.dataset.size = 4
    with pytest.warns(UserWarning, match="was reported to be 3"):
        assert list(loader) == [0, 1, 2, 3]


def test_data_sets_of_data_sets() -> None:
    both = Squares(3) + Squares(2)
    assert [both[index] for index in range(5)] == [0, 1, 4, 0, 1]
    assert both[-1] == 1
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-6]
    with pytest.raises(IndexError):
        data.ConcatDataset([Squares(3)])[3]
    assert data.Subset(Squares(9), [8, 2])[0] == 64
    assert data.Subset(data.Subset(Squares(9), [8, 2]), [1]).__getitems__([0]) == [4]
    rows = data.StackDataset(Squares(3), TensorDataset(gradwright.arange(3)))
    assert rows[2] == (4, (gradwright.tensor(2),))
    named = data.StackDataset(a=Squares(3), b=data.Subset(Squares(9), [8, 2, 1]))
    assert named.__getitems__([1, 2]) == [{"a": 1, "b": 4}, {"a": 4, "b": 1}]
    assert next(iter(DataLoader(named, 3)))["b"].tolist() == [64, 4, 1]


def test_parts_by_chance() -> None:
    parts = data.random_split(Squares(10), [7, 3], gradwright.Generator().manual_seed(1))
    again = data.random_split(Squares(10), [7, 3], gradwright.Generator().manual_seed(1))
    assert [part.indices for part in parts] == [part.indices for part in again]
    assert sorted(flat(part.indices for part in parts)) == list(range(10))
    assert [len(part) for part in data.random_split(Squares(10), [0.25, 0.25, 0.5])] == [3, 2, 5]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(Squares(1), [0.5, 0.5])


def test_samplers() -> None:
    generator = gradwright.Generator().manual_seed(0)
    assert sorted(data.RandomSampler(range(9), generator=generator)) == list(range(9))
    more = list(data.RandomSampler(range(4), num_samples=10, generator=generator))
    assert sorted(more[:4]) == sorted(more[4:8]) == [0, 1, 2, 3]
    assert len(more) == 10
    again = list(data.RandomSampler(range(4), True, 3000, generator=generator))
    assert len(again) == 3000
    assert min(again.count(number) for number in range(4)) > 600
    assert sorted(data.SubsetRandomSampler([7, 5, 3], generator)) == [3, 5, 7]
    heavy = list(data.WeightedRandomSampler([0.0, 3.0, 1.0], 2000, generator=generator))
    assert heavy.count(0) == 0
    assert 1350 < heavy.count(1) < 1650
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    shares = [list(data.DistributedSampler(range(10), 3, rank)) for rank in range(3)]
    assert [len(share) for share in shares] == [4, 4, 4]
    assert set(flat(shares)) == set(range(10))
    one = data.DistributedSampler(range(10), 3, 0)
    one.set_epoch(1)
    assert list(one) != shares[0]
    assert list(data.DistributedSampler(range(10), 3, 1, shuffle=False, drop_last=True)) == [1, 4, 7]


Pair = namedtuple("Pair", "x y")


def test_batches_keep_their_kinds() -> None:
    samples = [{"a": gradwright.ones(2), "b": (1, 2.5, "t"), "c": Pair(np.float32(1), [True])} for _ in range(3)]
    batch = data.default_collate(samples)
    assert batch["a"].shape == (3, 2)
    assert [value.dtype if isinstance(value, gradwright.Tensor) else value for value in batch["b"]] == [
        gradwright.int64, gradwright.float64, ("t", "t", "t"),
    ]  # fmt: skip
    assert isinstance(batch["c"], Pair)
    assert batch["c"].x.dtype is gradwright.float32
    assert batch["c"].y[0].tolist() == [True] * 3
    with pytest.raises(TypeError, match="must contain tensors"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1], [1, 2]])
    converted = data.default_convert({"a": np.ones(2), "b": (np.int32(3), "t"), "c": np.array(["x"])})
    assert converted["a"].dtype is gradwright.float64
    assert converted["b"][0].dtype is gradwright.int32
    assert isinstance(converted["c"], np.ndarray)


def test_what_is_fixed_stays() -> None:
    loader = DataLoader(Squares(3))
    with pytest.raises(ValueError, match="should not be set"):
        loader.batch_size = 3
    loader.num_workers = 0


# -- in workers


@pytest.mark.parametrize("context", [None, "spawn"])
def test_workers_give_the_same_batches(context: str | None) -> None:
    loader = DataLoader(Squares(23), 4, num_workers=2, multiprocessing_context=context)
    assert numbers(loader) == numbers(DataLoader(Squares(23), 4))
    assert len(loader) == 6


def test_workers_take_turns_and_have_seeds() -> None:
    def facts(seed: int) -> Any:
        generator = gradwright.Generator().manual_seed(seed)
        return list(DataLoader(Facts(6), None, num_workers=2, generator=generator))

    found = facts(0)
    assert [number for number, *_ in found] == [0, 1] * 3
    assert found[1][1] == found[0][1] + 1
    assert len({tuple(rest) for _, _, *rest in found}) == 6
    assert found == facts(0)
    assert found != facts(1)
    assert data.get_worker_info() is None


def test_workers_are_other_processes_and_begin_with_a_function() -> None:
    loader = DataLoader(Squares(4), 1, num_workers=2, worker_init_fn=begin, collate_fn=environment)
    found = list(loader)
    assert [samples for samples, *_ in found] == [[0], [1], [4], [9]]
    assert [number for _, number, *_ in found] == ["0", "1", "0", "1"]
    assert len({process for *_, process, _ in found} | {os.getpid()}) == 3
    assert {threads for *_, threads in found} == {1}


def test_streams_of_workers() -> None:
    assert numbers(DataLoader(Part(7), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    assert sorted(flat(numbers(DataLoader(Part(1), 2, num_workers=2)))) == [0]
    assert sorted(flat(numbers(DataLoader(Part(30), 2, num_workers=2, in_order=False)))) == list(range(30))


def test_persistent_workers_stay() -> None:
    loader = DataLoader(Squares(6), 2, num_workers=2, persistent_workers=True, collate_fn=environment)
    first, second = list(loader), list(loader)
    assert [samples for samples, *_ in first] == [samples for samples, *_ in second]
    assert {process for *_, process, _ in first} == {process for *_, process, _ in second}
    half = iter(loader)
    next(half)
    assert [samples for samples, *_ in loader] == [samples for samples, *_ in first]
    stream = DataLoader(Part(5), None, num_workers=2, persistent_workers=True)
    assert list(stream) == list(stream) == [0, 1, 2, 3, 4]


def test_errors_of_workers_come_here() -> None:
    with pytest.raises(KeyError, match=r"Caught KeyError in DataLoader worker process 1\.\nOriginal Traceback"):
        list(DataLoader(Failing(9), 1, num_workers=2))
    with pytest.raises(RuntimeError, match="worker 0 does not start"):
        list(DataLoader(Squares(9), 1, num_workers=1, worker_init_fn=fail))
    loader = iter(DataLoader(Failing(7), None, num_workers=1))
    found = []
    while len(found) < 7:
        try:
            found.append(next(loader))
        except KeyError:
            found.append(None)
    assert found == [0, 1, 2, 3, 4, None, 6]


def test_workers_that_die_or_hang_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradwright.utils.data.dataloader.CHECK_EVERY", 0.5)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(Dying(9), 1, num_workers=2))
    with pytest.raises(RuntimeError, match="timed out after"):
        list(DataLoader(Slow(3), 1, num_workers=1, timeout=0.3))


def test_a_model_learns_from_a_loader() -> None:
    gradwright.manual_seed(0)
    x = gradwright.randn(64, 2)
    y = x @ gradwright.tensor([[2.0], [-1.0]]) + 0.5
    model = gradwright.nn.Linear(2, 1)
    optimizer = gradwright.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        for inputs, target in DataLoader(TensorDataset(x, y), 16, shuffle=True):
            optimizer.zero_grad()
            gradwright.nn.functional.mse_loss(model(inputs), target).backward()
            optimizer.step()
    assert model.weight.tolist() == [[pytest.approx(2, abs=0.01), pytest.approx(-1, abs=0.01)]]
