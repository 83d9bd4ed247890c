"""What generated operators ask of their arguments before they take the fast path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import generic, ndarray

from runtime.base.modes import plain
from runtime.base.tensor import Tensor

real_numbers = frozenset((int, float))
optional_real_numbers = frozenset((int, float, type(None)))


def is_int64_or_none(number: object) -> bool:
    """Whether this is an int that 64 bits hold, or None."""
    return number is None or (type(number) is int and -(1 << 63) <= number < 1 << 63)


def all_plain(tensors: object) -> bool:
    """Whether this is a list of plain Tensors."""
    if type(tensors) is not list and type(tensors) is not tuple:
        return False
    for tensor in tensors:  # noqa: SIM110 (a generator would cost more than the loop)
        if type(tensor) not in plain:
            return False
    return True


def all_plain_or_none(tensors: object) -> bool:
    """Whether this is a list of plain Tensors and None."""
    if type(tensors) is not list and type(tensors) is not tuple:
        return False
    for tensor in tensors:
        if tensor is not None and type(tensor) not in plain:
            return False
    return bool(plain)


def any_edge(tensors: Sequence[Tensor | None]) -> bool:
    """Whether one of the Tensors requires grad."""
    for tensor in tensors:  # noqa: SIM110
        if tensor is not None and tensor._edge is not None:
            return True
    return False


def are_arrays(results: Sequence[object]) -> bool:
    """Whether all results of a kernel are arrays."""
    for result in results:  # noqa: SIM110
        if not isinstance(result, (ndarray, generic)):
            return False
    return True


def are_arrays_or_none(results: Sequence[object]) -> bool:
    """Whether all results of a kernel are arrays, or None because they were not asked for."""
    for result in results:  # noqa: SIM110
        if result is not None and not isinstance(result, (ndarray, generic)):
            return False
    return True


def int_tuple(value: Any, size: int | None) -> Any:
    """A list of ints as kernels take it; other things are left for the general path to convert or to refuse."""
    if type(value) is int:
        if size is None:
            return value
        return (value,) * size if -(2**63) <= value < 2**63 else NotInts(value)
    if isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
        return tuple(value)
    return value if value is None or type(value) is NotInts else NotInts(value)


class NotInts:
    """Takes the place of what is no list of Python ints: every kernel fails on it, and the general path unpacks it."""

    __slots__ = ("given",)

    def __init__(self, given: Any) -> None:
        self.given = given
