"""Whatever goes wrong on one process ends all of them within 10 seconds, and says what it was, by doing it."""

from __future__ import annotations

import re
import time

import pytest
from support_mpi import start

CALLS_DIFFER = r"ranks 0, 2: allreduce of float32\[3\] at .*go_wrong.py:\d+; rank 1: allgather of .*go_wrong.py:\d+"
# What is said, by what goes wrong; `go_wrong.py:` stands for a place in that program.
SAID: dict[str, list[str]] = {
    "raise": [r"ZeroDivisionError: rank 1 can not go on", r"rank 1 of 3 ends all"],
    "raise while others compute": [r"rank 1 of 3 ends all: ZeroDivisionError: rank 1 can not go on"],
    "exit": [r"rank \d waits for rank 1 in allreduce of float32\[3\].*go_wrong.py:\d+, but rank 1 has ended"],
    "exit at once": [],  # mpiexec ends with its status
    "killed": [r"signal 9|KILLED BY SIGNAL: 9|Killed"],
    "call left out": [r"rank \d waits for rank 1 in allreduce .*go_wrong.py:\d+, but rank 1 has ended"],
    "operators": [CALLS_DIFFER],
    "order": [CALLS_DIFFER],
    "shapes": [r"rank 0: allreduce of float32\[3\] at .*; rank 1: allreduce of float32\[4\] at .*go_wrong.py:\d+"],
    "dtypes": [r"ranks 0, 2: allreduce of float64\[3\] at .*; rank 1: allreduce of float32\[3\] at .*go_wrong.py:\d+"],
    "roots": [r"rank 0: broadcast_from rank 0 of .*; rank 1: broadcast_from rank 1 of"],
    "groups": [r"these wait for each other: rank \d is in allreduce .*'(one|two)' at .*go_wrong.py:\d+; rank \d is in"],
    "round": [r"these wait for each other: rank (\d) is in .*; rank (\d) is in .*; rank (\d) is in allreduce"],
    "messages": [r"these wait for each other: rank \d is in sendrecv of float32\[3\] .*; rank \d is in sendrecv"],
    "message of another shape": [r"rank 1 expects float32\[4\] at .*:\d+, rank 0 sends float32\[2\] at .*:\d+"],
    "derivative left out": [r"rank \d waits for rank 1 in allreduce .*go_wrong.py:\d+, but rank 1 has ended"],
    "another derivative": [r"rank 1: reduce_scatter of .*go_wrong.py:\d+", r"ranks 0, 2: allreduce of"],
    "training: left out": [r"rank 1 of 3 ends all: RuntimeError: Expected to have finished .* came for 0.weight"],
    "training: killed": [r"signal 9|KILLED BY SIGNAL: 9|Killed"],
    "training: raises": [r"rank 1 of 3 ends all: ZeroDivisionError"],
    "hang": [r"allreduce of float32\[3\] of group 'world' at .*go_wrong.py:\d+ took longer than 2 s"],
}  # fmt: skip


def test_an_exit_ends_all_at_once_where_the_package_runs_the_program() -> None:
    began = time.monotonic()
    ended = start(3, "go_wrong.py", "exit while others compute", timeout=40, through=("-m", "gradwright_mpi"))
    assert re.search(r"rank 1 of 3 ends all: SystemExit: 3", ended.stderr), ended.stderr
    assert ended.returncode == 3
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("way", SAID)
def test_all_end_and_say_why(way: str) -> None:
    began = time.monotonic()
    ended = start(3, "go_wrong.py", way, timeout=40, GRADWRIGHT_MPI_TIMEOUT="2" if way == "hang" else "30")
    took = time.monotonic() - began
    said = ended.stdout + ended.stderr
    assert ended.returncode != 0, said
    for expected in SAID[way]:
        assert re.search(expected, said), said
    assert took < 10, (took, said)  # the start of Python included
