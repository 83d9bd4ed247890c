"""What is said of calls of operators: their arguments, and why one of them is not linear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from codegen.formula.typed import is_tensor_like
from codegen.rules.linear.degree import Degree, Value, varies
from codegen.schema.types import Type
from codegen.signs import Sign
from codegen.source import Span


class Argument(NamedTuple):
    """What an operator is given.  `tensor`: whether it is a Tensor; None where that is unknown."""

    degree: Degree
    tensor: bool | None = None

    def fits(self, type: Type) -> bool:
        """Whether it may be an argument of a type."""
        if not is_tensor_like(type):
            return self.tensor is False or (self.tensor is None and not varies(self.degree))
        return self.tensor is not False


@dataclass(frozen=True, slots=True)
class Why:
    """Why a value is not linear.

    Of a call, `adding` is the argument that is added to what depends on what comes in, and `index` one that depends on
    it and is declared to have no derivative: integers, most often.
    """

    message: str
    adding: str | None = None
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """Where in Python a value stops being linear, and why."""

    span: Span
    why: Why


Explain: TypeAlias = Callable[[str, "str | None", Sequence[Argument], Mapping[str, Argument]], Why]


class Operators(Protocol):
    """What is asked of the operators that a function calls.

    `complex_alone`: whether the question is of complex numbers. Then a truth value is constant, because it only jumps,
    and whether something is complex is no question.
    """

    complex_alone: bool

    def of_base(
        self, base: str, overload: str | None, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Value:
        """The degree of a call by base name."""

    def has_base(self, base: str) -> bool:
        """Whether there is an operator of this base name."""

    def assumed(self, degrees: Iterable[Degree]) -> Degree:
        """The degree that a recursive function has of arguments of these degrees until it is known."""

    def written(self, sign: Sign | None) -> str | None:
        """The base name of the operator whose calls are written with a sign."""


@dataclass(slots=True)
class Trace:
    """Takes the first place where something stops being linear."""

    explain: Explain
    first: Cause | None = None
    entered: set[tuple[str, str]] = field(default_factory=set)  # the functions that were gone through, by module
