"""The module that gives operators kernels for a dispatch key of a package."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment

from codegen.bind.backends import Backend
from codegen.paths import Paths
from codegen.plan.plan import Plan
from codegen.python_source import PythonFunction


def module_of(backend: Backend) -> str:
    """The name of the generated module."""
    return f"backend_{backend.key.lower()}"


def emit(plan: Plan, paths: Paths, env: Environment) -> Iterator[tuple[str, str]]:
    """A module for each backend."""
    for backend in plan.backends:
        functions = (*backend.kernels.values(), *backend.generic.values())
        modules = sorted({backend.arrays, *(function.module for function in functions)})
        yield (
            f"{module_of(backend)}.py",
            env.get_template("backend.py.j2").render(
                backend=backend,
                imports=[f"import {module} as {_alias(module)}" for module in modules],
                arrays=_alias(backend.arrays),
                kernels=[(name, _call(function)) for name, function in sorted(backend.kernels.items())],
                generic=[(name, _call(function)) for name, function in sorted(backend.generic.items())],
                package=paths.package,
            ),
        )


def _alias(module: str) -> str:
    return f"_{module.replace('.', '_')}"


def _call(function: PythonFunction) -> str:
    return f"{_alias(function.module)}.{function.name}"
