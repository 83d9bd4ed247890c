"""The variables of one function, with the degrees that they have while it is gone through."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from codegen.python_source import PythonModule
from codegen.rules.linear.calls import Cause, Operators, Trace, Why
from codegen.rules.linear.degree import Degree, Value, either, flat


class Scope(ABC):
    """The variables of one function.

    Args:
        module: where the function stands.
        modules: all modules whose functions can be followed, by name.
        operators: what is known of the operators.
        trace: takes the place where something stops being linear, if that is asked for.
    """

    def __init__(
        self, module: PythonModule, modules: Mapping[str, PythonModule], operators: Operators, trace: Trace | None
    ) -> None:
        self.module = module
        self.modules = modules
        self.operators = operators
        self.trace = trace
        self.variables: dict[str, Value] = {}
        self.annotations: dict[str, ast.expr | None] = {}  # of the parameters

    @abstractmethod
    def follow(self, module: PythonModule, name: str, values: Mapping[str, Value]) -> Value:
        """The degree of a call of another function."""

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """The degree of an expression."""

    def blame(self, node: ast.expr, why: str | Why) -> None:
        if self.trace is not None and self.trace.first is None:
            self.trace.first = Cause(self.module.span(node), Why(why) if isinstance(why, str) else why)

    def decided(self, node: ast.expr, values: Sequence[Degree]) -> Degree:
        """A truth value."""
        if self.operators.complex_alone:
            return Degree.CONSTANT
        if Degree.LINEAR in values or Degree.NONLINEAR in values:
            self.blame(node, "a truth value is not linear in it")
            return Degree.NONLINEAR
        return Degree.UNKNOWN if Degree.UNKNOWN in values else Degree.CONSTANT

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.variables[name] = value
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                starred = any(isinstance(item, ast.Starred) for item in elts)
                matching = isinstance(value, tuple) and len(value) == len(elts) and not starred
                for place, item in enumerate(elts):
                    part = value[place] if matching and isinstance(value, tuple) else flat(value)
                    self.assign(item.value if isinstance(item, ast.Starred) else item, part)
            case ast.Subscript(value=ast.Name(id=name)):
                self.grow(name, flat(value))

    def grow(self, name: str, value: Degree) -> None:
        """What a container holds has something added."""
        self.variables[name] = either(flat(self.variables.get(name, Degree.ZERO)), value)
