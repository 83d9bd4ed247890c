"""In words: why a guard of the fast path does not hold for the arguments of a call.

The guards are data of the generator (`generated/guards.py`); here are the words for each kind of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from runtime.base import modes
from runtime.base.describe import describe

__all__ = ["Guards", "failed"]

Guards: TypeAlias = tuple[tuple[str, ...], ...]  # of one operator: the kind of each, and its arguments

# What the core tells instead of the number of a guard.
_NONE = -1
_REPLACED = -2


def failed(number: int, guards: Guards, values: Mapping[str, Any]) -> str | None:
    """Why the guard of this number does not hold for these arguments; None where all of them hold."""
    if number == _NONE:
        return None
    if number == _REPLACED:
        return "a kernel was registered for it"
    kind, *names = guards[number]
    return WORDS[kind](*[(name, values.get(name)) for name in names])


_Argument = tuple[str, Any]  # an argument's name and value


def _dtype_name(value: Any) -> str:
    return str(getattr(value, "dtype", type(value).__name__)).rpartition(".")[2]


def _not_plain(argument: _Argument) -> str:
    name, value = argument
    if not modes.plain:
        return "a mode or a handler is open"
    return f"{name} is {describe(value)}, not a plain Tensor"


def _not_all_plain(argument: _Argument) -> str:
    name, value = argument
    if type(value) in (list, tuple):
        other = next((item for item in value if type(item) not in modes.plain), None)
        return _not_plain((f"an element of {name}", other))
    return f"{name} is neither a list nor a tuple"


def _not_all_plain_or_none(argument: _Argument) -> str:
    name, value = argument
    return _not_all_plain(
        (name, [item for item in value if item is not None] if type(value) in (list, tuple) else value)
    )


def _not_a_number(argument: _Argument) -> str:
    return f"{argument[0]} is {describe(argument[1])}, neither int nor float"


def _no_loops(argument: _Argument) -> str:
    return f"{argument[0]} is {_dtype_name(argument[1])}, which has no loops or needs promotion"


def _no_number(tensor: _Argument, number: _Argument) -> str:
    return f"{_dtype_name(tensor[1])} of {tensor[0]} has no loops beside {number[0]}, which is {describe(number[1])}"


def _other_dtype(first: _Argument, second: _Argument) -> str:
    return f"{first[0]} is {_dtype_name(first[1])} and {second[0]} {_dtype_name(second[1])}: promotion"


def _not_taken(argument: _Argument) -> str:
    return f"{argument[0]} is {_dtype_name(argument[1])}, which is refused or computed in Python"


# By `codegen.plan.steps.GuardKind`.
WORDS: Mapping[str, Callable[..., str]] = {
    "plain": _not_plain,
    "plain_or_none": _not_plain,
    "all_plain": _not_all_plain,
    "all_plain_or_none": _not_all_plain_or_none,
    "no_mode": lambda: "a mode or a handler is open",
    "absent": lambda given: f"{given[0]} is given",
    "tuple": lambda given: f"{given[0]} is no tuple",
    "sequence_or_none": lambda given: f"{given[0]} is no list or tuple",
    "dtype": lambda given: f"{given[0]} is no gradwright.dtype",
    "dtype_or_none": lambda given: f"{given[0]} is no gradwright.dtype",
    "integer": lambda given: f"{given[0]} is no int",
    "flag": lambda given: f"{given[0]} is no bool",
    "flag_or_none": lambda given: f"{given[0]} is no bool",
    "number": _not_a_number,
    "number_or_none": _not_a_number,
    "no_call_handlers": lambda: "this thread has handlers of operator calls",
    "float_dtype": _no_loops,
    "inexact_dtype": _no_loops,
    "number_dtype": _no_loops,
    "with_number": _no_number,
    "not_half": lambda given: f"{given[0]} is {_dtype_name(given[1])}, which is computed in float32",
    "same_dtype": _other_dtype,
    "same_dtype_or_none": _other_dtype,
    "taken": _not_taken,
    "taken_or_none": _not_taken,
}
