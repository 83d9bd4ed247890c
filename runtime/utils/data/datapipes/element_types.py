"""Types of the elements of pipes: what a class declares, which is a part of which, and which a value is of."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Any, TypeVar, get_args, get_origin


def element_type(pipe: type[Any], base: type[Any]) -> Any:
    """What the elements of a class of pipes are: `int` of a class that derives from `IterDataPipe[int]`; else Any.

    Args:
        pipe: the class.
        base: the class of all pipes of its kind.
    """
    for each in pipe.__mro__:
        for declared in vars(each).get("__orig_bases__", ()):
            origin = get_origin(declared)
            if isinstance(origin, type) and issubclass(origin, base) and not isinstance(get_args(declared)[0], TypeVar):
                return get_args(declared)[0]
    return Any


def name_of(type_: Any) -> str:
    """A type as messages have it."""
    return type_.__name__ if isinstance(type_, type) and not get_args(type_) else str(type_)


def _variants(type_: Any) -> Sequence[Any] | None:
    """What a union or a variable stands for; None of other types, and nothing of a variable that may be anything."""
    if isinstance(type_, TypeVar):
        return type_.__constraints__ if type_.__bound__ is None else (type_.__bound__,)
    return get_args(type_) if get_origin(type_) in (typing.Union, types.UnionType) else None


def is_subtype(one: Any, other: Any) -> bool:
    """Whether each value of a type is one of another: the classes are the same, and what is in brackets fits."""
    if other is Any or one == other:
        return True
    several = _variants(other)
    if several is not None:
        if not several or Any in several:
            return True
        if one is not Any and _variants(one) is None:
            return any(is_subtype(one, each) for each in several)
    if one is Any:
        return False
    mine = _variants(one)
    if mine is not None:
        return bool(mine) and all(is_subtype(each, other) for each in mine)
    if (get_origin(one) or one) is not (get_origin(other) or other):
        return False
    wanted, given = get_args(other), get_args(one)
    if not wanted:
        return True
    return len(given) == len(wanted) and all(map(is_subtype, given, wanted))


def is_instance(value: Any, type_: Any) -> bool:
    """Whether a value is of a type: its class is that of the type itself, and none below it."""
    several = _variants(type_)
    if several is not None:
        return not several or any(is_instance(value, each) for each in several)
    if type_ is Any:
        return True
    if type_ is None or type_ is type(None):
        return value is None
    if type(value) is not (get_origin(type_) or type_):
        return False
    parts = get_args(type_)
    if not parts:
        return True
    if isinstance(value, tuple):
        if len(parts) == 2 and parts[1] is ...:
            return all(is_instance(each, parts[0]) for each in value)
        return len(value) == len(parts) and all(map(is_instance, value, parts))
    if isinstance(value, (list, set)):
        return all(is_instance(each, parts[0]) for each in value)
    if isinstance(value, dict):
        return all(is_instance(key, parts[0]) and is_instance(each, parts[1]) for key, each in value.items())
    return True
