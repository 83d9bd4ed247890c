"""Processes that `mpiexec` has started with one command: each does a part of the work, and the first one reports."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What launchers tell a process: its rank, how many there are, and how many of them are on its machine.
_VARIABLES = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),  # MPICH and its kin
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
)
# How the names of all variables begin by which a launcher and its processes find each other.
_PREFIXES = ("PMI_", "PMIX_", "MPI_LOCAL", "OMPI_", "PRTE_", "HYDI_")


@dataclass(frozen=True)
class Ranks:
    """This process among those of its command. MPI begins where they first exchange something; they may fork before.

    Attributes:
        rank: from 0.
        size: how many there are; 1 without a launcher.
        here: how many of them are on this machine.
    """

    rank: int = 0
    size: int = 1
    here: int = 1

    def share(self, value: Any) -> Any:
        """The value of the first process."""
        return self._world().bcast(value) if self.size > 1 else value

    def collect(self, value: Any) -> Sequence[Any] | None:
        """The values of all, in their order, on the first process; None on the others."""
        collected: Sequence[Any] | None = self._world().gather(value) if self.size > 1 else [value]
        return collected

    @staticmethod
    def _world() -> Any:
        from mpi4py import MPI

        return MPI.COMM_WORLD


def ranks() -> Ranks:
    """This process among those that a launcher has started.

    Raises:
        SystemExit: there are several, and no mpi4py by which they could exchange anything.
    """
    for names in _VARIABLES:
        if int(os.environ.get(names[1], "1")) > 1:
            if importlib.util.find_spec("mpi4py") is None:
                raise SystemExit("error: several processes need mpi4py: pip install mpi4py mpich")
            rank, size = (int(os.environ[name]) for name in names[:2])
            return Ranks(rank, size, int(os.environ.get(names[2], size)))
    return Ranks()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a process that a launcher knows nothing of: MPI in it is one process."""
    return {name: value for name, value in environment.items() if not name.startswith(_PREFIXES)}
