"""The project's own YAML, analyzed: it takes seconds, so a process does it once for all of its tests."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator, Mapping

from codegen.paths import project_paths
from codegen.pipeline import Result, analyze, emit, for_target
from codegen.plan.native import NativePlan
from codegen.plan.plan import Plan
from codegen.words import CPP


@contextlib.contextmanager
def no_garbage() -> Iterator[None]:
    """As a command does it: the trees of a whole YAML have no cycles, and the collector would look at them for long."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@functools.cache
def own_analysis() -> Result:
    """What the pipeline knows before it emits anything. Tests read it, and change nothing."""
    with no_garbage():
        return analyze(project_paths())


@functools.cache
def own_plan() -> Plan:
    """The plan of all operators, with what is native."""
    plan = own_analysis().plan
    assert plan is not None
    return for_target(plan, project_paths(), CPP)


def own_native() -> NativePlan:
    """What is native of them."""
    native = own_plan().native
    assert native is not None
    return native


@functools.cache
def own_cpp() -> Mapping[str, str]:
    """The text of each file of C++ that is made of it."""
    plan = own_analysis().plan
    assert plan is not None
    return emit(project_paths(), plan, "cpp")
