"""The properties of operators in a framework, in the order in which they are looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from codegen.words import FRAMEWORKS
from gradwright.verify.frameworks import properties
from gradwright.verify.frameworks.properties import framework_of
from gradwright.verify.points import Point
from gradwright.verify.property import BOTH, COMPLEX, EVERY, REAL, Property

_KERNELS = (*EVERY, "int64", "bool")
# Name, title, function, dtypes, and whether it is about derivatives.
_EVERYWHERE: tuple[tuple[str, str, Callable[[Any, Point], None], tuple[str, ...], bool], ...] = (
    ("returns", "values, shapes and dtypes of results", properties.returns, _KERNELS, False),
    ("gradient", "gradients", properties.gradient, (REAL,), True),
    ("gradient_complex", "the same of complex numbers", properties.gradient, (COMPLEX,), True),
    ("forward", "tangents", properties.forward, (REAL,), True),
    ("forward_complex", "the same of complex numbers", properties.forward, (COMPLEX,), True),
    ("second", "second derivatives", properties.second, (REAL,), True),
    ("second_complex", "the same of complex numbers", properties.second, (COMPLEX,), True),
    ("modes", "second derivatives by every pair of modes", properties.modes, BOTH, True),
    ("undefined", "output gradients that are left out", properties.undefined, BOTH, True),
    ("needed", "gradients of one input alone", properties.needed, BOTH, True),
    ("dtypes", "dtype and shape of gradients", properties.dtypes, EVERY, True),
    ("batching", "a batch against a loop", properties.batches, BOTH, True),
    ("compiled", "compiled, the same", properties.compiled, BOTH, True),
)
_OF_TORCH: tuple[tuple[str, str, Callable[[Any, Point], None], tuple[str, ...], bool], ...] = (
    ("inplace", "the variant in place", properties.inplace, BOTH, True),
    ("out", "the variant with out=", properties.out, BOTH, False),
    ("registered", "PyTorch's opcheck", properties.registered, (REAL,), False),
)


@cache
def properties_of(target: str) -> tuple[Property, ...]:
    """The properties that operators have to have in a framework."""
    assert target in FRAMEWORKS
    rows = (*_EVERYWHERE, *(_OF_TORCH if target == "torch" else ()))
    return tuple(
        Property(name, title, _checking(check, target), dtypes, of_derivatives, target=target)
        for name, title, check, dtypes, of_derivatives in rows
    )


def _checking(check: Callable[[Any, Point], None], target: str) -> Callable[[Point], None]:
    return lambda point: check(framework_of(target, point.info.package), point)
