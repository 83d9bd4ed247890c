"""The operators: in one process by their samples, in several by what one process computes of all inputs."""

from __future__ import annotations

import pytest
from support_mpi import start

import gradwright as torch
import gradwright_mpi as mpi
from gradwright.testing import gradcheck_operator
from gradwright_mpi._generated.registry import OPERATORS

CHECKED = [name for name, info in OPERATORS.items() if info.differentiable or info.composite]


@pytest.mark.parametrize("name", CHECKED)
def test_derivatives_agree_with_finite_differences(name: str) -> None:
    result = gradcheck_operator(OPERATORS[name])
    assert not result.failures, "\n".join(result.failures)
    assert result.first


@pytest.mark.parametrize(
    ("processes", "native"),
    [(1, "1"), (2, "1"), (3, "1"), (2, "0"), *(pytest.param(each, "0", marks=pytest.mark.night) for each in (1, 3))],
)
def test_several_processes_compute_what_one_does(processes: int, native: str) -> None:
    ended = start(processes, "prove_operators.py", GRADWRIGHT_NATIVE=native)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"14 cases hold on {processes} processes" in ended.stdout


def test_names_of_groups() -> None:
    with pytest.raises(ValueError, match="no group 'nowhere'"):
        mpi.allreduce(torch.ones(2), group="nowhere")
    with pytest.raises(ValueError, match="a group 'world' already"):
        mpi.register(mpi.group_of("world").comm, "world")
    with pytest.raises(RuntimeError, match="root is 1"):
        mpi.broadcast_from(torch.ones(2), 1)
    x = torch.ones(2)
    for words, message in {
        (0, -1): "would wait for itself",
        (-1, 0): "would wait for itself",
        (1, 0): "dest is 1",
        (0, -2): "source is -2",
    }.items():
        with pytest.raises(RuntimeError, match=message):
            mpi.sendrecv(x, x, *words)
    with pytest.raises(RuntimeError, match="tag is -1"):
        mpi.sendrecv(x, x, 0, 0, tag=-1)
    with pytest.raises(RuntimeError, match=r"not as it expects|expects float32"):
        mpi.sendrecv(x, torch.ones(3), 0, 0)
    with pytest.raises(ValueError, match="not 'mean'"):
        mpi.allreduce(torch.ones(2), "mean")
    with pytest.raises(RuntimeError, match="2 rows, and group 'world' 1 ranks"):
        mpi.alltoall(torch.ones(2))
