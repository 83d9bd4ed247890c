"""Optimizers whose state is shared out against PyTorch's: parts, options and what is saved, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed.optim

import gradwright
import gradwright.distributed.optim
from gradwright import distributed
from support.two_modules import assert_same

SIZES = (5, 9, 2, 4, 7, 9)


class Alone:
    """The group of one process."""

    ranks = (0,)

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1

    def broadcast(self, array: Any, root: int, overlaps: bool = False) -> Any:
        return Done(array.copy())

    def all_gather(self, array: Any, overlaps: bool = False) -> Any:
        return Done(array[np.newaxis])

    def gather(self, array: Any, root: int, overlaps: bool = False) -> Any:
        return Done(array[np.newaxis])


class Done:
    def __init__(self, array: Any) -> None:
        self.wait = lambda: array


@pytest.fixture(autouse=True)
def world(tmp_path: Path) -> Iterator[None]:
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    distributed.Backend.register_backend("alone", lambda ranks: Alone())  # type: ignore[arg-type,return-value]
    distributed.init_process_group("alone")
    yield
    distributed.destroy_process_group()
    del distributed.Backend._makers["alone"]
    torch.distributed.destroy_process_group()


def made(library: Any) -> tuple[Any, list[Any]]:
    parameters = [library.ones(size, requires_grad=True) for size in SIZES]
    groups = [{"params": parameters[:3], "lr": 0.25}, {"params": parameters[3:5], "weight_decay": 0.1}]
    optimizer = library.distributed.optim.ZeroRedundancyOptimizer(groups, library.optim.Adam, lr=0.5)
    optimizer.add_param_group({"params": parameters[5:], "betas": (0.5, 0.5)})
    return optimizer, parameters


def test_state_and_options() -> None:
    results = []
    for library in (gradwright, torch):
        optimizer, parameters = made(library)
        for _ in range(2):
            optimizer.zero_grad()
            for number, parameter in enumerate(parameters[:4]):
                (parameter * (number + 1)).sum().backward()
            optimizer.step()
        optimizer.consolidate_state_dict()
        saved = optimizer.state_dict()
        other, _ = made(library)
        other.load_state_dict(saved)
        other.consolidate_state_dict()
        results.append((saved, other.state_dict(), [list(group) for group in optimizer.param_groups], parameters))
    assert_same(*results)


def test_parameters_are_assigned_to_the_same_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, _ = made(torch)
    theirs.world_size = 4
    theirs._clear_cache()
    expected = [[[len(each) for each in group["params"]] for group in part] for part in theirs._partition_parameters()]
    for rank in range(4):
        monkeypatch.setattr(Alone, "size", lambda self: 4)
        monkeypatch.setattr(Alone, "rank", lambda self, rank=rank: rank)
        ours, _ = made(gradwright)
        mine = [[len(each) for each in group["params"]] for group in ours.optim.param_groups]
        assert [sorted(part) for part in mine] == [sorted(part) for part in expected[rank]]


def test_what_is_not_consolidated() -> None:
    messages = []
    for library in (gradwright, torch):
        optimizer, _ = made(library)
        with pytest.raises(RuntimeError) as error:
            optimizer.state_dict()
        messages.append(str(error.value))
    assert messages[0].split() == messages[1].split()
