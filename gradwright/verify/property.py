"""What a property is: what is proven of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gradwright.verify.points import HALVES, Point
from runtime.load.operator_info import OperatorInfo

REAL, COMPLEX = "float64", "complex128"
BOTH = (REAL, COMPLEX)
EVERY = (*HALVES, "float32", REAL, "complex64", COMPLEX)


@dataclass(frozen=True, slots=True)
class Property:
    """What is proven of an operator.

    `check` takes a sample and raises where the property does not hold, or can not be looked at; `check_all` takes all
    of them at once. `dtypes` are those that samples are made in. With `of_values` it compares formulas with what the
    operator computes, or with second derivatives as functions have them: the same in either order. `target` is the
    framework whose operators are looked at, in the place of the runtime's. `points` makes where it is looked
    at, in the place of the samples.
    """

    name: str
    title: str
    check: Callable[[Point], None] | None
    dtypes: tuple[str, ...]
    of_derivatives: bool = True
    check_all: Callable[[Sequence[Point]], int] | None = None
    of_values: bool = False
    target: str | None = None
    points: Callable[[OperatorInfo], Iterator[Point]] | None = None

    def applies_to(self, info: OperatorInfo) -> bool:
        """Whether an operator could have it."""
        return not self.of_derivatives or info.differentiable or info.composite
