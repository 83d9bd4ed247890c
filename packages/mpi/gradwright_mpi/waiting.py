"""Waiting for other processes, which ends: with what was waited for, or with an error that says who is where.

While a process waits it looks for what others say. One that has ended says so, and how far it came; one that has waited
for `PATIENCE` says what for. From that a process sees that it waits for one that has ended, or that several wait for
each other, and raises. An exception that nobody handles ends all processes.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from mpi4py import MPI

from gradwright_mpi.groups import WORLD, Group, group_of, groups

__all__ = ["Awaited", "MachineError", "barrier", "begin", "end_all", "place", "wait"]

# A rank of the world, a group and a kind of call, and which of these calls of that rank is waited for.
Awaited = tuple[int, str, str, int]

PATIENCE = 1.0  # seconds until a process tells the others what it waits for
_LONGEST = 1 << 14  # bytes of a message


class MachineError(RuntimeError):
    """Processes do not do the same: their calls differ, wait for each other, or for one that has ended."""


def _timeout() -> float:
    return float(os.environ.get("GRADWRIGHT_MPI_TIMEOUT", "1800"))


_HERE = str(Path(__file__).parent)


def place() -> str:
    """Where the program is: the innermost line that is not of Gradwright, as `train.py:10`."""
    import gradwright

    inner = {_HERE, str(Path(gradwright.__file__).parent)}
    for name in ("runtime", "generated"):  # beside it in a checkout
        module = sys.modules.get(name)
        if module is not None and module.__file__ is not None:
            inner.add(str(Path(module.__file__).parent))
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<") and not any(file.startswith(folder + os.sep) for folder in inner):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "its end"


class _Others:
    """What the other processes of the world have said, and what this one says to them."""

    def __init__(self) -> None:
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank = self.comm.Get_rank()
        self.size = self.comm.Get_size()
        self.said: dict[int, dict[str, Any]] = {}
        self._sent: list[tuple[MPI.Request, bytes]] = []

    def listen(self) -> None:
        while self.comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG):
            status = MPI.Status()
            buffer = bytearray(_LONGEST)
            self.comm.Recv(buffer, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            self.said[status.Get_source()] = json.loads(buffer[: status.Get_count(MPI.BYTE)])

    def tell(self, **what: Any) -> None:
        what["begun"] = {name: dict(group.begun) for name, group in groups.items()}
        message = json.dumps(what).encode()[:_LONGEST]
        self._sent = [(request, kept) for request, kept in self._sent if not request.Test()]
        self._sent += [(self.comm.Isend(message, rank), message) for rank in range(self.size) if rank != self.rank]

    def behind(self, awaited: Sequence[Awaited]) -> list[int]:
        """Those of whom it is known that they have not begun the call that is waited for."""
        late = []
        for rank, group, key, number in awaited:
            if rank == self.rank:
                begun = groups[group].begun[key] if group in groups else 0
            elif rank in self.said:
                begun = self.said[rank]["begun"].get(group, {}).get(key, 0)
            else:
                continue
            if begun < number:
                late.append(rank)
        return late

    def look(self, what: str, awaited: Sequence[Awaited]) -> None:
        """Raise where this process waits for nothing.

        Raises:
            MachineError: for one that has ended, or several processes wait for each other.
        """
        for rank in self.behind(awaited):
            if self.said[rank]["ended"]:
                raise MachineError(f"rank {self.rank} waits for rank {rank} in {what}, but rank {rank} has ended")
        path = self._way_back(awaited, [])
        if path:
            waits = [f"rank {self.rank} is in {what}"]
            waits += [f"rank {rank} is in {self.said[rank]['what']}" for rank in path]
            raise MachineError("these wait for each other: " + "; ".join(waits))

    def _way_back(self, awaited: Sequence[Awaited], path: list[int]) -> list[int]:
        for rank in self.behind(awaited):
            if rank == self.rank:
                return path
            if rank not in path and not self.said[rank]["ended"]:
                further = self._way_back([tuple(each) for each in self.said[rank]["awaited"]], [*path, rank])
                if further:
                    return further
        return []


_others = _Others()


def wait(
    request: MPI.Request | list[MPI.Request],
    group: Group,
    name: str,
    *,
    peers: Sequence[int] | None = None,
    tag: int = 0,
    shown: str = "",
    begun: Sequence[Awaited] | None = None,
) -> None:
    """Wait for a call that was begun.

    Args:
        request: what MPI gave for it, or several.
        group: of the call.
        name: what messages call it.
        peers: of a message the ranks that it comes from and goes to, -1 for nobody; None for a call of all.
        tag: of a message.
        shown: what messages add to the name.
        begun: what `begin` gave for a call that was counted before.

    Raises:
        MachineError: what is waited for will not come, or has not come within GRADWRIGHT_MPI_TIMEOUT seconds (1800).
    """
    awaited = begin(group, peers, tag) if begun is None else begun
    requests = request if isinstance(request, list) else [request]
    if MPI.Request.Testall(requests) or (group.size == 1 and _finish(requests)):
        return
    start = time.monotonic()
    told = False
    turns = 0
    while not MPI.Request.Testall(requests):
        turns += 1
        if turns < 64:
            continue
        passed = time.monotonic() - start
        # Processes may be more than cores: whoever waits leaves them to others.
        time.sleep(0 if passed < 0.0005 else 0.00005 if passed < 0.05 else 0.001)
        if turns % 64 and passed < 0.05:
            continue
        _others.listen()
        if passed > PATIENCE and not told:
            told = True
            what = _shown(name, group, shown)
            _others.tell(ended=False, what=what, awaited=awaited)
        if _others.said:
            _others.look(_shown(name, group, shown), awaited)
        if passed > _timeout():
            known = [f"rank {rank} was in {said['what']}" for rank, said in sorted(_others.said.items())]
            raise MachineError("; ".join([f"{_shown(name, group, shown)} took longer than {_timeout():g} s", *known]))


def begin(group: Group, peers: Sequence[int] | None = None, tag: int = 0) -> list[Awaited]:
    """Count a call, and say which ranks of the world it waits for, and for which call of theirs."""
    if peers is None:
        group.begun["all"] += 1
        return [(rank, group.name, "all", group.begun["all"]) for rank in group.members if rank != _others.rank]
    awaited = []
    source, dest = peers
    for peer, mine, theirs in ((source, "received {}<{}", "sent {}>{}"), (dest, "sent {}>{}", "received {}<{}")):
        if peer < 0 or peer == group.rank:
            continue
        key = f"{mine.format(group.rank, peer)} tag {tag}"
        group.begun[key] += 1
        awaited.append(
            (group.members[peer], group.name, f"{theirs.format(peer, group.rank)} tag {tag}", group.begun[key])
        )
    return awaited


def _finish(requests: list[MPI.Request]) -> bool:
    MPI.Request.Waitall(requests)
    return True


def _shown(name: str, group: Group, shown: str) -> str:
    return f"{name}{shown} of group '{group.name}' at {place()}"


def barrier(group: str = WORLD) -> None:
    """Return when all ranks of a group have called this."""
    of = group_of(group)
    wait(of.comm.Ibarrier(), of, "barrier")


def end_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End all processes, because of an exception that nobody handles here."""
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stdout.flush()
    sys.stderr.write(f"{text}rank {_others.rank} of {_others.size} ends all: {kind.__name__}: {error}\n")
    sys.stderr.flush()
    time.sleep(0.2)  # mpiexec hands on what it has read, and ends
    code = error.code if isinstance(error, SystemExit) else 130 if isinstance(error, KeyboardInterrupt) else 1
    MPI.COMM_WORLD.Abort(code if isinstance(code, int) else 1)


def _end() -> None:
    """Tell the others that this process has ended, and wait for them, as MPI would, but with an eye on errors."""
    if MPI.Is_finalized():
        return
    _others.tell(ended=True, what="its program is over")
    while len([1 for said in _others.said.values() if said["ended"]]) < _others.size - 1:
        _others.listen()
        time.sleep(0.001)


if _others.size > 1:
    sys.excepthook = end_all
    atexit.register(_end)
