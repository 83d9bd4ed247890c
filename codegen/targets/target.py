"""What a target is: a package of this folder whose module `target` has these names.

Adding one is adding that package, a folder of templates and a word in `TARGETS` of `codegen/words.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from codegen.paths import Paths
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.source import Diagnostics


class TargetError(Exception):
    """What a target can not print, where that is an error: in operators of a package, and in those asked for by name.

    Attributes:
        diagnostics: each with its place.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__("; ".join(item.message for item in diagnostics.items))
        self.diagnostics = diagnostics


class Target(Protocol):
    """Prints plans in one language; it decides nothing."""

    @property
    def name(self) -> str:
        """What `--target` calls it, and its folder of templates."""

    def emit(self, plan: Plan, paths: Paths) -> Iterable[tuple[str, str]]:
        """The files: path below the output folder of the target, and text.

        Raises:
            TargetError: it lacks what formulas of a package call.
        """

    def explain(self, operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
        """What it makes of one operator, as `explain` shows it.

        Raises:
            TargetError: it lacks what the operator's formulas call.
        """
