"""What the entries of operators in C++ have in common, and those of operators that are traced through."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.names import cpp, python
from codegen.plan.operator import OperatorPlan
from codegen.targets.cpp.text import Statements, wrapped
from codegen.targets.environment import quoted

# What has to hold for Tensors among the arguments, by type.
PLAIN_TESTS = {
    "Tensor": "is_plain",
    "Tensor?": "is_plain_or_none",
    "Tensor[]": "all_plain",
    "Tensor?[]": "all_plain_or_none",
}


def limit_tests(limited: Sequence[str], kinds: Sequence[str], optional: Sequence[str]) -> list[str]:
    """What asks whether Tensors have element types of these kinds."""
    mask = " | ".join(f"k{kind.title()}" for kind in kinds)
    return [f"is_taken{'_or_none' * (name in optional)}({cpp(name)}, {mask})" for name in limited]


@dataclass(frozen=True, slots=True)
class EntryView:
    """What the template of an entry prints."""

    function: str  # its name in Python
    symbol: str  # and in C++
    schema: str
    declaration: tuple[str, ...]
    head: tuple[str, ...]
    body: tuple[str, ...]
    unpack: tuple[str, ...]  # of `why`: the parameters that tests look at
    tests: tuple[tuple[str, str], ...]  # what has to hold, and the same as a string literal
    parameters: tuple[str, ...]  # the array of their names
    count: int
    positional: int


class Entry(ABC):
    """Writes one entry: `function` is the name of the Python function that it falls back on."""

    def __init__(self, operator: OperatorPlan, function: str) -> None:
        self.operator = operator
        self.function = function
        self.out = Statements()
        self.tests: Sequence[str] = ()  # of the arguments: what has to hold
        self.arguments = [cpp(parameter.name) for parameter in operator.parameters]

    @abstractmethod
    def lines(self) -> list[str]:
        """The body."""

    def view(self, schema: str) -> EntryView:
        """What the template prints."""
        parameters, function, body = self.operator.parameters, self.function, self.lines()
        head = [f"PyObject* {name}" for name in self.arguments]
        tested = [
            f"PyObject* {name} = given[{index}];"
            for index, name in enumerate(self.arguments)
            if any(re.search(rf"\b{name}\b", test) for test in self.tests)
        ]
        names = [quoted(python(parameter.name)) for parameter in parameters]
        return EntryView(
            function,
            cpp(function),
            schema,
            tuple(wrapped(f"Ref {cpp(function)}(", head, ");")),
            tuple(wrapped(f"Ref {cpp(function)}(", head, ") {")),
            tuple(body),
            tuple(tested),
            tuple((test, quoted(test)) for test in self.tests),
            tuple(wrapped(f"const char* const {function}_parameters[] = {{", names, "};")),
            len(parameters),
            sum(not parameter.keyword_only for parameter in parameters),
        )

    def _require(self, tests: Sequence[str]) -> None:
        """Leave calls to Python for which one of the tests does not hold."""
        self.tests = tests
        open_ = [f"!entries::{cpp(self.function)}.replaced"]
        if self.function != self.operator.function:  # its kernel computes what a variant writes
            open_.append(f"!(entries::{cpp(self.operator.function)}.replaced & kByKernel)")
        self.out.lines += wrapped("  if (!(", [*open_, *tests], ")) {", " &&")
        with self.out.block():
            self._return_fall_back()

    def _return_fall_back(self) -> None:
        self.out.call("return fall_back", [f"entries::{cpp(self.function)}", *self.arguments], ";")


class CompositeEntry(Entry):
    """Writes the entry of an operator that is traced through, by a function in C++."""

    def lines(self) -> list[str]:
        types = [str(parameter.type) for parameter in self.operator.parameters]
        tests = [f"{PLAIN_TESTS[t]}({name})" for name, t in zip(self.arguments, types, strict=True) if t in PLAIN_TESTS]
        dtypes = self.operator.source.dtypes
        if dtypes is not None:
            tensors = {p.name: str(p.type) for p in self.operator.parameters if str(p.type) in ("Tensor", "Tensor?")}
            limited = [name for name in tensors if dtypes.arguments is None or name in dtypes.arguments]
            tests += limit_tests(limited, dtypes.kinds, [name for name in limited if tensors[name] == "Tensor?"])
        if self.operator.in_float32:
            given = zip(self.arguments, types, strict=True)
            tests += [f"is_not_half({name})" for name, type in given if type == "Tensor"]
        self._require(tests)
        self.out.assign("Ref out", f"composites::{self.operator.implementation.name}(", self.arguments, ");")
        self.out.add("if (out) return of_operators(std::move(out));")
        self.out.add("forget_error();")
        self._return_fall_back()
        return self.out.lines
