"""How a value depends on what comes in, a gradient or the tangents: the abstract values of the linearity check."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TypeAlias


class Degree(enum.Enum):
    """How a value depends on what comes in."""

    ZERO = "zero"  # zero for every input
    CONSTANT = "constant"  # it does not depend on it
    LINEAR = "linear"  # it is a linear map of it (over the real numbers: conjugation is linear)
    NONLINEAR = "nonlinear"  # it depends on it in another way; affine maps count here
    UNKNOWN = "unknown"  # it may depend on it, and nothing is known of how
    # What `holomorphy` tells apart instead of LINEAR, of complex numbers; it may also not depend on it.
    HOLOMORPHIC = "holomorphic"
    ANTIHOLOMORPHIC = "antiholomorphic"  # a holomorphic function of its conjugate

    __hash__ = object.__hash__  # there is one of each, and many are put into sets


# A tuple has a degree for each of its items, so that one item may depend on what comes in and another one not.
Value: TypeAlias = "Degree | tuple[Value, ...]"


def flat(value: Value) -> Degree:
    """The degree of a value as a whole."""
    return value if isinstance(value, Degree) else either(*map(flat, value))


def either(*degrees: Degree) -> Degree:
    """The degree of a value that is one of several, or holds them all.  Nothing at all is ZERO."""
    present = set(degrees) - {Degree.ZERO}
    if len(present) == 1:
        return present.pop()
    if not present:
        return Degree.ZERO
    if Degree.NONLINEAR in present:
        return Degree.NONLINEAR
    if Degree.UNKNOWN in present:
        return Degree.UNKNOWN
    if present in ({Degree.HOLOMORPHIC, Degree.CONSTANT}, {Degree.ANTIHOLOMORPHIC, Degree.CONSTANT}):
        return (present - {Degree.CONSTANT}).pop()
    if present <= {Degree.HOLOMORPHIC, Degree.ANTIHOLOMORPHIC, Degree.CONSTANT}:
        return Degree.UNKNOWN  # one or the other
    return Degree.NONLINEAR  # constant and linear: affine


def either_value(left: Value, right: Value) -> Value:
    """As `either`, item by item where both are tuples of one length."""
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return tuple(either_value(one, other) for one, other in zip(left, right, strict=True))
    return either(flat(left), flat(right))


def opaque(degrees: Iterable[Degree]) -> Degree:
    """The degree of a function of which nothing is known, of arguments of these degrees."""
    present = set(degrees)
    if Degree.NONLINEAR in present:
        return Degree.NONLINEAR
    if present <= {Degree.CONSTANT, Degree.ZERO}:
        return Degree.CONSTANT
    return Degree.UNKNOWN


def varies(degree: Degree) -> bool:
    """Whether a value may depend on what comes in."""
    return degree is not Degree.ZERO and degree is not Degree.CONSTANT


_CONJUGATES = {
    Degree.HOLOMORPHIC: Degree.ANTIHOLOMORPHIC,
    Degree.ANTIHOLOMORPHIC: Degree.HOLOMORPHIC,
}


def conjugated(degree: Degree) -> Degree:
    """The degree of the complex conjugate of a value."""
    return _CONJUGATES.get(degree, degree)
