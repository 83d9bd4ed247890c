"""What a backend has to do, and the table of backends by their names."""

from __future__ import annotations

import enum
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

__all__ = ["Array", "Backend", "Pending", "ProcessGroup", "ReduceOp", "is_available", "is_mpi_available"]

Array = np.ndarray[Any, Any]


class ReduceOp(enum.Enum):
    """How elements of several processes become one."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


class Pending(Protocol):
    """A call that was begun."""

    def wait(self) -> Array | None:
        """Wait for its end, and return what came; None where this process gets nothing."""

    def is_completed(self) -> bool:
        """Whether it has ended; calling this lets it go on."""


class ProcessGroup(Protocol):
    """Processes that work together, as a backend has them. What it is handed are contiguous arrays.

    `root`, `dest` and `source` are ranks in the group. A call returns at once; what waits is what it returns.
    `overlaps` says that the program goes on meanwhile.
    """

    ranks: Sequence[int]  # its members, by their ranks among all processes

    def rank(self) -> int: ...
    def size(self) -> int: ...
    def all_reduce(self, array: Array, op: ReduceOp, overlaps: bool = False) -> Pending: ...
    def reduce(self, array: Array, op: ReduceOp, root: int, overlaps: bool = False) -> Pending: ...
    def broadcast(self, array: Array, root: int, overlaps: bool = False) -> Pending: ...
    def all_gather(self, array: Array, overlaps: bool = False) -> Pending: ...
    def gather(self, array: Array, root: int, overlaps: bool = False) -> Pending: ...
    def scatter(self, rows: Array | None, like: Array, root: int, overlaps: bool = False) -> Pending: ...
    def reduce_scatter(self, rows: Array, op: ReduceOp, overlaps: bool = False) -> Pending: ...
    def all_to_all(self, rows: Array, overlaps: bool = False) -> Pending: ...
    def send(self, array: Array, dest: int, tag: int) -> Pending: ...
    def receive(self, like: Array, source: int, tag: int) -> Pending: ...
    def barrier(self, overlaps: bool = False) -> Pending: ...


class Backend(str):
    """The name of a backend, and the table of them.

    A backend is a function of the ranks that are to be in a group, None for all, which all processes call in the same
    order. It returns the group, or None to a process that is not in it.
    """

    MPI: ClassVar[str] = "mpi"
    UNDEFINED: ClassVar[str] = "undefined"
    _makers: ClassVar[dict[str, Callable[[Sequence[int] | None], ProcessGroup | None]]] = {}

    @classmethod
    def register_backend(cls, name: str, func: Callable[[Sequence[int] | None], ProcessGroup | None]) -> None:
        """Add a backend."""
        cls._makers[name.lower()] = func

    @classmethod
    def maker(cls, name: str) -> Callable[[Sequence[int] | None], ProcessGroup | None]:
        """The function of a backend.

        Raises:
            RuntimeError: there is no such backend, or its package is not installed.
        """
        if name not in cls._makers and name in _PACKAGES and is_available():
            importlib.import_module(_PACKAGES[name])  # registers it
        if name not in cls._makers:
            names = ", ".join(sorted({*cls._makers, *_PACKAGES}))
            needs = f": pip install {_PACKAGES[name].replace('_', '-')}[mpich]" if name in _PACKAGES else ""
            raise RuntimeError(f"There is no backend '{name}', of {names}{needs}")
        return cls._makers[name]


_PACKAGES = {"mpi": "gradwright_mpi"}


def is_available() -> bool:
    """Whether processes can work together: there is a backend, or gradwright-mpi is installed."""
    return bool(Backend._makers) or is_mpi_available()


def is_mpi_available() -> bool:
    """Whether gradwright-mpi and mpi4py are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("gradwright_mpi", "mpi4py"))
