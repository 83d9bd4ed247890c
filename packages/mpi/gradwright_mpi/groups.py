"""Communicators by their names: what operators are told, so that formulas and graphs hold a word."""

from __future__ import annotations

import os
from collections import Counter

from mpi4py import MPI

__all__ = ["Group", "group_of", "groups", "register"]

WORLD = "world"


class Group:
    """A communicator of MPI, in private copies, so that nothing that the program sends itself is mistaken for ours.

    Attributes:
        name: by which operators know it.
        rank, size: of this process in it, and how many there are.
        members: the ranks of its processes in the world.
        ordered: whether sums are added in the order of the ranks, so that they have the same bits wherever they are
            computed: each rank gets all terms then. Otherwise MPI chooses.
        begun: how many calls of each kind this process has begun; the n-th call of one process is for the n-th of
            another.
    """

    def __init__(self, comm: MPI.Intracomm, name: str, ordered: bool) -> None:
        self.comm = comm.Dup()
        self.agreements = comm.Dup()
        self.name = name
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self.ordered = ordered
        self.members: tuple[int, ...] = tuple(
            MPI.Group.Translate_ranks(comm.Get_group(), None, MPI.COMM_WORLD.Get_group())
        )
        self.begun: Counter[str] = Counter()
        self._greatest_tag: int = comm.Get_attr(MPI.TAG_UB)
        self._backwards: MPI.Intracomm | None = None

    @property
    def backwards(self) -> MPI.Intracomm:
        """The ranks from the last to the first. The first use is a call of all of them."""
        if self._backwards is None:
            backwards = self.comm.Split(0, -self.rank)
            assert isinstance(backwards, MPI.Intracomm)
            self._backwards = backwards
        return self._backwards

    def check_message(self, dest: int, source: int, tag: int) -> None:
        """Look at what a rank tells MPI about a message that it sends and one that it receives, in one call.

        Raises:
            RuntimeError: a rank is not of the group and not -1, or the tag is none; or it sends to itself what it does
                not receive, and would wait for ever.
        """
        for name, rank in (("dest", dest), ("source", source)):
            if not -1 <= rank < self.size:
                raise RuntimeError(
                    f"sendrecv: {name} is {rank}, and group '{self.name}' has ranks 0 to {self.size - 1}, or -1"
                )
        if not 0 <= tag <= self._greatest_tag:
            raise RuntimeError(f"sendrecv: tag is {tag}, and tags are 0 to {self._greatest_tag}")
        if (dest == self.rank) != (source == self.rank):
            raise RuntimeError(f"sendrecv: dest is {dest} and source {source}: rank {self.rank} would wait for itself")

    def __repr__(self) -> str:
        return f"Group({self.name!r}, rank {self.rank} of {self.size}{', ordered' if self.ordered else ''})"


groups: dict[str, Group] = {}


def register(comm: MPI.Intracomm, name: str | None = None, *, ordered: bool | None = None) -> Group:
    """Make operators know a communicator. All its processes call this, in the same order.

    Args:
        comm: the communicator, whose processes are of the world; copies of it are used.
        name: what operators are told; by default the ranks in the world that it has.
        ordered: whether sums are added in the order of the ranks; by default as GRADWRIGHT_MPI_ORDERED says.

    Returns:
        The group; its `name` is the argument `group` of operators.

    Raises:
        ValueError: there is such a name, or this process is not in the communicator.
    """
    if comm == MPI.COMM_NULL:
        raise ValueError("this process is not in the communicator")
    group = Group(comm, name or "", os.environ.get("GRADWRIGHT_MPI_ORDERED", "") == "1" if ordered is None else ordered)
    if not group.name:
        ranks = ", ".join(map(str, group.members))
        number = sum(each.members == group.members for each in groups.values() if each.name != WORLD)
        group.name = f"ranks {ranks}" + (f" #{number + 1}" if number else "")
    if group.name in groups:
        raise ValueError(f"there is a group '{group.name}' already")
    groups[group.name] = group
    return group


def group_of(name: str) -> Group:
    """The group of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in groups:
        raise ValueError(f"there is no group '{name}': gradwright_mpi.register makes one of a communicator")
    return groups[name]


register(MPI.COMM_WORLD, WORLD)
