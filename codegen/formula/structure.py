"""Typed trees compared by what they say, wherever they stand in a text."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields

from codegen.formula.typed import Literal, Typed, TypedExpr


def structure(part: TypedExpr) -> Hashable:
    """What is equal for two expressions that say the same."""
    return _structure(part)


def _structure(part: object) -> Hashable:
    if isinstance(part, tuple):
        return tuple(_structure(item) for item in part)
    if isinstance(part, Literal):
        return type(part.value).__name__, repr(part.value)
    if isinstance(part, Typed):
        names = [f.name for f in fields(part) if f.name not in ("start", "end")]
        return (type(part).__name__, *(_structure(getattr(part, name)) for name in names))
    assert isinstance(part, Hashable)
    return part
