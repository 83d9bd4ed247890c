"""Collectives of MPI as differentiable operators: `gradwright_mpi.allreduce(x)`, in programs that `mpiexec` starts."""

from gradwright_mpi.groups import Group, group_of, groups, register
from gradwright_mpi.waiting import MachineError, barrier

from gradwright_mpi.process_group import MpiProcessGroup  # isort: skip  # registers the backend "mpi"
from gradwright_mpi._generated import *  # noqa: F403  # isort: skip
from gradwright_mpi._generated import __all__ as _operators  # isort: skip

__all__ = ["Group", "MachineError", "MpiProcessGroup", "barrier", "group_of", "groups", "register", *_operators]
