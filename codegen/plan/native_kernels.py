"""Kernels in C++, of the native core and of a package: which there are, and where each is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from codegen.paths import BASE, OPERATORS
from codegen.plan.elementwise import MODULE
from codegen.plan.loops import Form, KernelLoop, KernelLoops
from codegen.plan.operator import OperatorPlan
from codegen.python_source import PythonFunction
from codegen.read.kernel_table import COMPOSITES, HELPERS, KERNELS, WRITERS, Fact, cpp_file, read_rows
from codegen.source import Diagnostics
from codegen.words import PromotionKind

Functions = Mapping[str, int]  # names, with the number of arguments they take


class Takes(Enum):
    """The element types that the loops of a function of NumPy are used for."""

    ALL = "all"
    NUMBERS = "numbers, and no bools"
    INEXACT = "floating point numbers and complex ones"


@dataclass(frozen=True, slots=True)
class NumpyFunction:
    """A function of NumPy whose own loops are the kernel of this name; `is_own` says whether it is one of a package."""

    name: str
    ufunc: str
    operands: int
    takes: Takes
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class NativeKernels:
    """What the table of kernels in C++ has: functors with their numbers of operands, and functions.

    `headers` says by namespace and name which file declares it; a function that stands in no header is declared by
    those that call it, so a kernel can be a file of its own.
    """

    functors: Mapping[str, int] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    writers: Functions = field(default_factory=dict)  # those that write in place
    composites: Functions = field(default_factory=dict)  # operators that are made of others
    helpers: Functions = field(default_factory=dict)  # functions that formulas call
    headers: Mapping[tuple[str, str], str] = field(default_factory=dict, compare=False)
    facts: Mapping[str, frozenset[Fact]] = field(default_factory=dict)  # of the functors that are written by hand
    numpy: Mapping[str, NumpyFunction] = field(default_factory=dict)  # functors of NumPy's, which the generator writes
    expressions: Mapping[str, KernelLoops] = field(default_factory=dict)  # those of expressions over elements

    def says(self, name: str, *facts: Fact) -> bool:
        """Whether the row of a functor says one of these facts."""
        return not self.facts.get(name, frozenset()).isdisjoint(facts)

    def form(self, name: str) -> Form:
        """What a functor computes at once."""
        if self.says(name, Fact.ELEMENTS):
            return Form.ELEMENT
        return Form.CHOICE if self.says(name, Fact.CHOICE) else Form.BLOCK

    def is_ufunc(self, name: str) -> bool:
        """Whether a functor is a function of NumPy."""
        return name in self.numpy or self.says(name, Fact.UFUNC, Fact.UFUNC_COMPLEX)

    def with_numpy(self, uses: Iterable[tuple[OperatorPlan, PythonFunction]], is_own: bool = False) -> NativeKernels:
        """The same with a functor for each kernel that is a function of NumPy, and has none that is written by hand.

        Args:
            uses: operators and their kernels.
            is_own: whether they are those of a package.
        """
        numpy: dict[str, NumpyFunction] = {}
        for operator, kernel in uses:
            if not kernel.alias or kernel.name in self.functors or kernel.arity is None:
                continue
            takes = Takes.ALL
            if operator.compute.promotion is not None:
                takes = _AFTER_PROMOTION.get(operator.compute.promotion.kind, takes)
            function = NumpyFunction(kernel.name, kernel.alias, kernel.arity, takes, is_own)
            if numpy.setdefault(kernel.name, function).takes is not takes:
                numpy[kernel.name] = replace(function, takes=Takes.INEXACT)
        return replace(self, functors={**self.functors, **{n: f.operands for n, f in numpy.items()}}, numpy=numpy)

    def with_expressions(self, loops: Mapping[str, KernelLoops]) -> NativeKernels:
        """The same with the loops of kernels that are expressions over elements."""
        functors = {name: len(each.parameters) for name, each in loops.items() if isinstance(each, KernelLoop)}
        return replace(self, functors={**self.functors, **functors}, expressions={**self.expressions, **loops})

    @classmethod
    def read(cls, *paths: Path, folder: str = "") -> NativeKernels:
        """Of headers and sources that may be missing: a missing one has no native kernels. Headers are
        included below `folder`.
        """
        functors: dict[str, int] = {}
        functions: dict[str, dict[str, int]] = {name: {} for name in (KERNELS, WRITERS, COMPOSITES, HELPERS)}
        facts: dict[str, frozenset[Fact]] = {}
        headers: dict[tuple[str, str], str] = {}
        for path in paths:
            for row in read_rows(cpp_file(path, path.name), Diagnostics()):
                if row.is_functor:
                    functors[row.name], facts[row.name] = row.operands, frozenset(row.facts)
                else:
                    functions[row.namespace][row.name] = row.operands
                if path.suffix != ".cpp":
                    headers[row.namespace, row.name] = folder + path.name
        return cls(
            functors, functions[KERNELS], functions[WRITERS], functions[COMPOSITES], functions[HELPERS], headers, facts
        )


# What kernels are called with after the dtypes of arguments were brought together; a loop takes them as they are.
_AFTER_PROMOTION = {PromotionKind.INT_TO_FLOAT: Takes.INEXACT, PromotionKind.BOOL_TO_INT: Takes.NUMBERS}

NO_KERNELS = NativeKernels()


@dataclass(frozen=True, slots=True)
class Native:
    """The kernels of the core, and those of a package: a function of Python means the one of its own side."""

    core: NativeKernels
    own: NativeKernels = NO_KERNELS

    def with_numpy(self, operators: Iterable[OperatorPlan]) -> Native:
        """The same with the kernels of operators that are functions of NumPy."""
        uses = [(operator, kernel) for operator in operators for _, kernel in operator.compute.implementations]
        core = [use for use in uses if self.of(use[1].module) is self.core]
        own = [use for use in uses if self.of(use[1].module) is self.own]
        return Native(self.core.with_numpy(core), self.own.with_numpy(own, is_own=True))

    def of(self, module: str) -> NativeKernels:
        """Those that may stand for functions of a module of Python."""
        return self.core if module.startswith("runtime.") or module == f"{BASE}.{MODULE}" else self.own

    def helpers(self, module: str) -> NativeKernels:
        """The same of a module of helpers, of which the core has some."""
        if module.startswith("runtime.") and not module.startswith(f"{OPERATORS}.helpers."):
            return NO_KERNELS
        return self.of(module)
