"""Targets: each prints plans in one language.  Adding one is adding a line here, a module and a folder of templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from codegen.paths import Paths
from codegen.plan.plan import Plan
from codegen.targets.python import target as python


def _cpp(plan: Plan, paths: Paths) -> Iterable[tuple[str, str]]:
    from codegen.targets.cpp import target as cpp  # here, because a run for Python alone need not load it

    return cpp.emit(plan, paths)


TARGETS: Mapping[str, Callable[[Plan, Paths], Iterable[tuple[str, str]]]] = {
    "python": lambda plan, paths: python.emit(plan, paths.templates),
    "cpp": _cpp,
}
