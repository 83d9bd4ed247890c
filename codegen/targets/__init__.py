"""Targets: each prints plans in one language.  Adding one is adding a line here, a module and a folder of templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from codegen.plan import Plan
from codegen.targets import python

TARGETS: Mapping[str, Callable[[Plan, Path], Iterable[tuple[str, str]]]] = {"python": python.emit}
