"""Typed trees compared by what they say, wherever they stand in a text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, get_args

from codegen.formula.typed import Literal, Typed, TypedExpr

# What gives the fields of a part but its place; each kind of part has several.
_SAID: Mapping[type[Typed], Callable[[Typed], tuple[object, ...]]] = {
    kind: attrgetter(*(field.name for field in fields(kind) if field.name not in ("start", "end")))
    for kind in get_args(TypedExpr)
}


def structure(part: TypedExpr) -> Hashable:
    """What is equal for two expressions that say the same."""
    return _structure(part)


def _structure(part: Any) -> Hashable:
    if isinstance(part, tuple):
        return tuple([_structure(item) for item in part])
    if isinstance(part, Literal):
        return type(part.value).__name__, repr(part.value)
    if isinstance(part, Typed):
        kind = type(part)
        return (kind.__name__, *[_structure(value) for value in _SAID[kind](part)])
    assert part.__hash__ is not None
    return part  # type: ignore[no-any-return]
