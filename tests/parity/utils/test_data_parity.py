"""Data sets, samplers and loaders against PyTorch: one body, run with both modules; random orders are their own."""

from __future__ import annotations

from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from support.two_modules import assert_same, attempt, compare, warned

Library = Any
Pair = namedtuple("Pair", "x y")


def kinds(library: Library) -> dict[str, Any]:
    """Names for expressions: the package, and data sets of one's own."""
    D = library.utils.data

    class Squares(D.Dataset):  # type: ignore[misc,name-defined]
        def __init__(self, size: int = 7) -> None:
            self.size = size

        def __getitem__(self, index: int) -> int:
            if not 0 <= index < self.size:
                raise IndexError(index)
            return index * index

        def __len__(self) -> int:
            return self.size

    class Batched(Squares):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [-self[index] for index in indices]

    class Stream(D.IterableDataset):  # type: ignore[misc,name-defined]
        def __init__(self, size: int = 5) -> None:
            self.size = size

        def __iter__(self) -> Any:
            info = D.get_worker_info()
            start, step = (0, 1) if info is None else (info.id, info.num_workers)
            return iter(range(start, self.size, step))

        def __len__(self) -> int:
            return self.size

    class Half(D.Subset):  # type: ignore[misc,name-defined]
        def __getitem__(self, index: Any) -> Any:
            return 1

    class OnlyIndex(D.Dataset):  # type: ignore[misc,name-defined]
        def __getitem__(self, index: Any) -> Any:
            return index

    rows = D.TensorDataset(library.arange(10).reshape(5, 2), library.arange(5) * 0.5)
    return {
        "D": D, "L": D.DataLoader, "torch": library, "np": np, "rows": rows, "Squares": Squares, "Batched": Batched,
        "Stream": Stream, "Half": Half, "OnlyIndex": OnlyIndex, "Pair": Pair, "OrderedDict": OrderedDict,
        "UserDict": UserDict, "squares": Squares(),
    }  # fmt: skip


EXPRESSIONS = """
rows[1], rows[[0, 2]], rows[1:3], len(rows), rows[-1]
D.TensorDataset(torch.ones(2), torch.ones(3))
D.Dataset()[0]
len(squares + Squares(2)), [(squares + Squares(2))[i] for i in (0, 6, 7, 8, -1, -9)], (squares + rows).cumulative_sizes
(squares + Squares(2))[9]
(squares + Squares(2))[-10]
D.ConcatDataset([])
D.ConcatDataset([squares, Stream()])
list(Stream(2) + Stream(3)), len(Stream(2) + Stream(3)), type(Stream() + Stream()).__name__
list(D.ChainDataset([squares]))
len(D.ChainDataset([squares]))
D.Subset(squares, [3, 1])[0], D.Subset(squares, [3, 1]).__getitems__([1, 0]), len(D.Subset(squares, [3, 1]))
D.Subset(rows, [3, 1])[[0, 1]], D.Subset(Batched(), [3, 1]).__getitems__([0])
D.StackDataset(squares, Batched())[2], D.StackDataset(squares, Batched()).__getitems__([1, 2])
D.StackDataset(a=squares, b=Batched())[2], D.StackDataset(a=squares, b=Batched()).__getitems__([1, 2])
D.StackDataset(squares, Squares(2))
D.StackDataset()
[len(part) for part in D.random_split(squares, [3, 4])], [len(part) for part in D.random_split(squares, [0.5, 0.5])]
[len(part) for part in D.random_split(squares, [0.3, 0.3, 0.4])], sorted(D.random_split(squares, [7])[0].indices)
D.random_split(squares, [3, 3])
D.random_split(squares, [0.5, 0.4])
D.random_split(squares, [1.5, -0.5])
[len(part) for part in D.random_split(Squares(1), [0.5, 0.5])]
list(D.SequentialSampler(squares)), len(D.SequentialSampler(squares))
len(D.RandomSampler(squares)), len(list(D.RandomSampler(squares, num_samples=20))), D.RandomSampler(squares).num_samples
sorted(D.RandomSampler(squares)), len(list(D.RandomSampler(squares, True, 100)))
D.RandomSampler(squares, replacement=1)
D.RandomSampler(squares, num_samples=0)
D.RandomSampler([])
D.RandomSampler(squares, num_samples=1.5)
len(D.SubsetRandomSampler([3, 1])), sorted(D.SubsetRandomSampler([3, 1]))
list(D.WeightedRandomSampler([0, 1, 0], 3)), sorted(D.WeightedRandomSampler([2.0, 1.0], 2, False))
D.WeightedRandomSampler([1, 2], 1).weights, len(D.WeightedRandomSampler([1, 2], 5))
D.WeightedRandomSampler([1, 2], True)
D.WeightedRandomSampler([1, 2], 0)
D.WeightedRandomSampler([1, 2], 2, 1)
D.WeightedRandomSampler([[1, 2]], 2)
list(D.WeightedRandomSampler([1, 2], 3, False))
[(list(s), len(s)) for s in (D.BatchSampler(range(7), 3, False), D.BatchSampler(range(7), 3, True))]
[(list(s), len(s)) for s in (D.BatchSampler(range(6), 3, False), D.BatchSampler(range(6), 3, True))]
D.BatchSampler(range(3), 0, False)
D.BatchSampler(range(3), True, False)
D.BatchSampler(range(3), 2, 1)
[list(D.DistributedSampler(range(10), 3, r, shuffle=False)) for r in range(3)]
[list(D.DistributedSampler(range(10), 3, r, shuffle=False, drop_last=True)) for r in range(3)]
[list(D.DistributedSampler(range(2), 5, r, shuffle=False)) for r in range(5)], len(D.DistributedSampler(range(2), 5, 1))
sorted(sum((list(D.DistributedSampler(range(9), 3, r)) for r in range(3)), []))
D.DistributedSampler(range(3), 2, 2)
D.default_collate([1, 2]), D.default_collate([1.5, 2]), D.default_collate([True, False]), D.default_collate(["a", "b"])
D.default_collate([torch.ones(2), torch.zeros(2)]), D.default_collate([np.ones(2), np.zeros(2)])
D.default_collate([np.float32(1), np.float32(2)]), D.default_collate([np.int8(1), np.int8(2)])
D.default_collate([b"a"])
D.default_collate([(1, 2.0), (3, 4.0)]), D.default_collate([[1, "a"], [3, "b"]]), D.default_collate([Pair(1, 2.0)] * 2)
D.default_collate([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}]), D.default_collate([OrderedDict(a=1), OrderedDict(a=2)])
type(D.default_collate([OrderedDict(a=1)])).__name__, type(D.default_collate([UserDict(a=1)])).__name__
D.default_collate([torch.tensor(3)]), D.default_collate([np.array(3.0), np.array(4.0)])
D.default_collate([range(2)] * 2)
D.default_collate([object()])
D.default_collate([None])
D.default_collate([np.array(["a"])])
D.default_collate([[1], [1, 2]])
D.default_collate([torch.ones(2), torch.ones(3)])
D.default_collate([{"a": 1}, {"b": 1}])
D.default_convert([np.ones(2), 1, "a", (np.int16(3), None)]), D.default_convert(np.float32(2))
D.default_convert((1, 2))
D.default_convert({"a": np.ones(1)}), D.default_convert(Pair(np.ones(1), 2)), D.default_convert(b"x")
D.default_convert(3)
list(L(squares)), len(L(squares)), list(L(squares, 3)), len(L(squares, 3)), list(L(squares, 3, drop_last=True))
list(L(squares, None)), list(L(rows, 2)), list(L(rows, None)), len(L(squares, None))
list(L(Batched(), 4)), list(L(D.Subset(Batched(), [2, 1]), 2)), list(L(squares, 2, collate_fn=sum))
list(L(squares, batch_sampler=[[1, 2], [3]])), len(L(squares, batch_sampler=[[1, 2], [3]]))
list(L(squares, sampler=[2]))
list(L(squares, sampler=[2, 3, 4], batch_size=2)), L(squares, batch_sampler=[[1]]).batch_size
list(L(rows, sampler=D.BatchSampler(D.SequentialSampler(rows), 2, False), batch_size=None))
list(L(Stream(), 2)), list(L(Stream(), 2, drop_last=True)), list(L(Stream(), None)), len(L(Stream(), 2))
list(L(range(3))), len(L(Stream(), 2, drop_last=True)), L(Stream()).batch_size, L(squares, 5).drop_last
list(L([3, 4, 5], 2))
len(L(OnlyIndex()))
sorted(x.item() for x in L(squares, shuffle=True)), type(L(squares, shuffle=True).sampler).__name__
list(L(squares, 2, pin_memory=True))
L(squares, num_workers=-1)
L(squares, timeout=-1)
L(squares, prefetch_factor=2)
L(squares, num_workers=1, prefetch_factor=-1)
L(squares, persistent_workers=True)
L(Stream(), shuffle=True)
L(Stream(), sampler=[1])
L(Stream(), batch_sampler=[[1]])
L(squares, shuffle=True, sampler=[1])
L(squares, batch_sampler=[[1]], batch_size=2)
L(squares, batch_sampler=[[1]], shuffle=True)
L(squares, None, drop_last=True)
L(squares, multiprocessing_context="fork")
L(squares, num_workers=1, multiprocessing_context="other")
L(squares, num_workers=1, multiprocessing_context=3)
setattr(L(squares), "batch_size", 3)
setattr(L(squares), "sampler", 3)
L(squares, 0)
L([])[0]
D.get_worker_info()
list(L(squares, 2, num_workers=2)), list(L(rows, 2, num_workers=1)), list(L(Stream(7), 2, num_workers=2))
list(L(squares, None, num_workers=2, prefetch_factor=1)), list(L(squares, 3, num_workers=2, persistent_workers=True))
"""

# The classes of errors alone are compared.
CLASSES = [
    "Half(squares, [1])",
    "D.StackDataset(squares, a=squares)",
    "list(D.Sampler())",
    "list(L(squares, timeout=1))",
]


def outcome(library: Library, expression: str) -> Any:
    return warned(lambda: eval(expression, kinds(library)))


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expression(expression: str) -> None:
    import torch

    ours, theirs = outcome(gradwright, expression), outcome(torch, expression)
    assert_same(ours, theirs)


@pytest.mark.parametrize("expression", CLASSES)
def test_class_of_error(expression: str) -> None:
    compare(lambda library: attempt(lambda: eval(expression, kinds(library)), message=False))


def length_of_streams(library: Library) -> Any:
    names = kinds(library)
    loader = names["L"](names["Stream"](3), None)
    length = len(loader)
    loader.dataset.size = 5
    return length, warned(lambda: list(loader))


def errors_in_workers(library: Library) -> Any:
    names = kinds(library)

    def fail(number: int) -> None:
        raise ValueError("not here")

    return (
        attempt(lambda: list(names["L"](names["squares"], sampler=[0, 99], num_workers=1)), message=False),
        attempt(lambda: list(names["L"](names["squares"], num_workers=1, worker_init_fn=fail)), message=False),
    )


def workers_know_themselves(library: Library) -> Any:
    D = library.utils.data

    class Facts(D.Dataset):  # type: ignore[misc,name-defined]
        def __getitem__(self, index: int) -> Any:
            info = D.get_worker_info()
            return info.id, info.num_workers, info.dataset is self, library.initial_seed() == info.seed

        def __len__(self) -> int:
            return 5

    found = list(D.DataLoader(Facts(), None, num_workers=2))
    return found, list(D.DataLoader(Facts(), 2, num_workers=2, collate_fn=list))


BODIES = [length_of_streams, errors_in_workers, workers_know_themselves]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_body(body: Callable[[Library], Any]) -> None:
    compare(body)
