"""Data pipes by themselves, and in loaders."""

from __future__ import annotations

from typing import Any

import pytest

import runtime as torch
from runtime.utils.data import DataLoader
from runtime.utils.data.datapipes.iter import IterableWrapper
from runtime.utils.data.datapipes.map import SequenceWrapper


def _is_even(x: int) -> bool:
    return x % 2 == 0


def _square(x: int) -> int:
    return x * x


def _rest(x: int) -> int:
    return x % 2


def test_streams() -> None:
    pipe = IterableWrapper(range(6)).map(_square).filter(_is_even).batch(2)
    assert [list(batch) for batch in pipe] == [[0, 4], [16]]
    assert list(pipe.unbatch().zip(IterableWrapper("abc"))) == [(0, "a"), (4, "b"), (16, "c")]
    one, two = IterableWrapper(range(5)).fork(2)
    assert list(zip(one, two, strict=True)) == [(i, i) for i in range(5)]
    even, odd = IterableWrapper(range(5)).demux(2, _rest)
    assert (list(even), list(odd)) == ([0, 2, 4], [1, 3])


def test_sequences() -> None:
    pipe = SequenceWrapper([1, 2, 3]).map(_square).concat(SequenceWrapper([7]))
    assert [pipe[i] for i in range(len(pipe))] == [1, 4, 9, 7]
    torch.manual_seed(0)
    assert sorted(pipe.shuffle()) == [1, 4, 7, 9]


def test_each_order_is_another_and_follows_from_the_seed() -> None:
    pipe = IterableWrapper(range(30)).shuffle()
    torch.manual_seed(0)
    first, second = list(pipe), list(pipe)
    torch.manual_seed(0)
    assert [list(pipe), list(pipe)] == [first, second]
    assert first != second


def test_workers_share_a_stream() -> None:
    pipe = IterableWrapper(range(8)).sharding_filter().map(_square)
    found = [each.tolist() for each in DataLoader(pipe, batch_size=2, num_workers=2, multiprocessing_context="fork")]
    assert sorted(each for batch in found for each in batch) == [i * i for i in range(8)]


def test_a_second_iterator_ends_the_first() -> None:
    pipe: Any = IterableWrapper([1, 2])
    first = iter(pipe)
    assert next(first) == 1
    assert list(pipe) == [1, 2]
    with pytest.raises(RuntimeError, match="invalidated"):
        next(first)
