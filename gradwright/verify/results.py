"""What a proof comes to: a cell of the table of operators by properties."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from codegen.inputs import OUTPUT_VARIABLE
from codegen.module_names import GENERATED

if TYPE_CHECKING:
    from gradwright.verify.points import Point


class Refuted(Exception):
    """The property does not hold at a sample.

    Attributes:
        message: what is wrong.
        argument: the argument or the result whose formula is to blame, where that is known.
        cause: a guess at what is wrong with the formula.
        point: where it was looked at, if that was in several samples at once.
    """

    def __init__(
        self, message: str, argument: str | None = None, cause: str | None = None, point: Point | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.argument = argument
        self.cause = cause
        self.point = point


class Undecided(Exception):
    """The property could not be looked at in a sample, though the operator may have it."""


class Inapplicable(Exception):
    """The sample has not what the property is about, such as a second result.

    Nor has an operator with a derivative that is `not_implemented` what is about that one.
    """


class Status(Enum):
    """What is known of a cell. Only the first one is a pass."""

    PROVEN = "proven"
    REFUTED = "refuted"
    CONVENTION = "convention"  # the formulas are meant to be others than the derivatives
    SKIPPED = "skipped"
    NONE = "none"  # the operator has not what the property is about


@dataclass(frozen=True, slots=True)
class Failure:
    """One sample in which a property does not hold."""

    number: int  # of the sample, from 1
    sample: str
    dtype: str
    message: str
    argument: str | None = None
    cause: str | None = None
    elements: int = 0  # of all Tensors of the sample


@dataclass(slots=True)
class Cell:
    """One operator and one property."""

    operator: str
    name: str  # of the property
    package: str = GENERATED
    target: str | None = None  # the framework whose operator it is
    checked: int = 0
    failures: list[Failure] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    by_convention: bool = False
    seconds: float = 0.0

    @property
    def status(self) -> Status:
        if self.failures:
            return Status.REFUTED
        if self.by_convention:
            return Status.CONVENTION
        if self.reasons and not self.checked:
            return Status.SKIPPED
        return Status.PROVEN if self.checked else Status.NONE

    def as_json(self) -> dict[str, Any]:
        """The cell as it stands in `--json`."""
        found: dict[str, Any] = {
            "operator": self.operator,
            "property": self.name,
            "status": self.status.value,
            "samples": self.checked,
            "seconds": round(self.seconds, 4),
        }
        if self.reasons:
            found["reasons"] = self.reasons
        if self.failures:
            found["failures"] = [
                {
                    "number": each.number,
                    "sample": each.sample,
                    "dtype": each.dtype,
                    "message": each.message,
                    "argument": each.argument,
                    "cause": each.cause,
                    "elements": each.elements,
                    "again": again(self, each),
                }
                for each in self.failures
            ]
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Any], package: str = GENERATED, target: str | None = None) -> Cell:
        """The cell that `as_json` has written."""
        failures = [
            Failure(**{key: value for key, value in each.items() if key != "again"})
            for each in found.get("failures", ())
        ]
        return cls(
            found["operator"], found["property"], package, target, found["samples"], failures,
            found.get("reasons", []), found["status"] == Status.CONVENTION.value, found["seconds"],
        )  # fmt: skip


def again(cell: Cell, failure: Failure) -> str:
    """A line of Python that shows a failure."""
    words = [cell.operator, cell.name, failure.sample, failure.dtype]
    if cell.package != GENERATED:
        words.append(cell.package)
    if cell.target is not None:
        words.append(cell.target)
    elsewhere = os.environ.get(OUTPUT_VARIABLE)
    loaded = f"import os; os.environ[{OUTPUT_VARIABLE!r}] = {elsewhere!r}; " if elsewhere else ""
    return f"{loaded}from gradwright.verify import check; check({', '.join(map(repr, words))})"
