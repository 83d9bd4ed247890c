"""Operators without their forward formulas, for a while."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator

from runtime.call.dispatch import Operator


@functools.cache
def _with_formulas(modules: tuple[str, ...]) -> tuple[Operator, ...]:
    found = [vars(sys.modules[name]).values() for name in modules]
    return tuple(o for values in found for o in values if isinstance(o, Operator) and o.jvp is not None)


@contextlib.contextmanager
def without_forward_formulas() -> Iterator[None]:
    """Where this is open, tangents come from backward formulas alone."""
    names = tuple(name for name in sys.modules if name.endswith(".operators"))
    removed = [(each, each.jvp) for each in _with_formulas(names)]
    for operator, _ in removed:
        operator.jvp = None
    try:
        yield
    finally:
        for operator, jvp in removed:
            operator.jvp = jvp
