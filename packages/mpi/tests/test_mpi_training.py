"""Training on several processes is training on one: within rounding, and to the last bit where sums are in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_mpi import start

# Sums of float32 in another order: five steps of a small network keep losses and parameters this close.
ROUNDING = 2e-6


def train(processes: int, way: str, **settings: str) -> dict[str, list[float]]:
    ended = start(processes, "train_together.py", way, **settings)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    result: dict[str, list[float]] = json.loads(ended.stdout)
    return result


@pytest.fixture(scope="module")
def alone() -> dict[str, list[float]]:
    return train(1, "one")


def close(mine: dict[str, list[float]], expected: dict[str, list[float]]) -> None:
    for key in ("losses", "parameters"):
        assert mine[key] == pytest.approx(expected[key], rel=0, abs=ROUNDING), key


@pytest.mark.parametrize(
    ("processes", "way", "settings"),
    [
        (1, "together", {}),
        (2, "together", {}),
        (3, "together", {}),
        (2, "together", {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
        (2, "accumulated", {}),
        (2, "together", {"GRADWRIGHT_NATIVE": "0"}),
    ],
)
def test_losses_are_those_of_the_whole_batch(
    processes: int, way: str, settings: dict[str, str], alone: dict[str, Any]
) -> None:
    close(train(processes, way, **settings), alone)


@pytest.mark.parametrize("processes", [2, 3, pytest.param(4, marks=pytest.mark.night)])
def test_sums_in_order_have_the_bits_of_one_process(processes: int) -> None:
    expected = train(1, f"one in parts {processes}")
    assert train(processes, "together", GRADWRIGHT_MPI_ORDERED="1") == expected


def test_parameters_that_a_process_does_not_use() -> None:
    close(train(2, "unused"), train(1, "one unused"))


def test_sums_begin_while_backward_still_runs() -> None:
    ended = start(2, "overlap.py")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    order = json.loads(ended.stdout)
    # From the last layer to the first: its sum begins before the gradients of those below it are known.
    assert order == [step for layer in (3, 2, 1, 0) for step in (f"gradient {layer}", f"sum {layer}")]


@pytest.mark.parametrize(
    ("processes", "ordered"),
    [
        (1, "0"),
        (2, "1"),
        (3, "0"),
        (3, "1"),
        *(pytest.param(*each, marks=pytest.mark.night) for each in ((1, "1"), (2, "0"))),
    ],
)
def test_collectives_in_the_names_of_pytorch(processes: int, ordered: str) -> None:
    ended = start(processes, "call_collectives.py", GRADWRIGHT_MPI_ORDERED=ordered)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"all calls hold on {processes} processes" in ended.stdout


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_sharded_optimizers_are_one_optimizer(processes: int) -> None:
    ended = start(processes, "shard_optimizer.py")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"hold on {processes} processes" in ended.stdout


def test_any_number_of_processes_reads_a_checkpoint(tmp_path: Path) -> None:
    file = str(tmp_path / "checkpoint.pt")
    for processes, words in ((3, ["write", file]), (1, ["read", file]), (2, ["read", file])):
        ended = start(processes, "shard_optimizer.py", *words)
        assert ended.returncode == 0, ended.stdout + ended.stderr
