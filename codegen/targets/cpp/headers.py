"""Kernels of the native core, and of a package's own, as the generator reads them: which functions and functors there
are, and where each is declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from codegen.formula.typed import FLOAT, INT, SCALAR, TypedExpr
from codegen.paths import BASE, OPERATORS
from codegen.plan.elementwise import MODULE
from codegen.plan.operator import OperatorPlan
from codegen.python_source import PythonFunction
from codegen.targets.cpp.names import cpp
from codegen.words import PromotionKind

Functions = Mapping[str, frozenset[int]]  # names, with the numbers of arguments they take

# What an operand of a loop may be besides a Tensor.
NUMBERS = frozenset((INT, FLOAT, SCALAR))

KERNELS, WRITERS, COMPOSITES, HELPERS = "kernels", "writers", "composites", "helpers"


def functions_in(text: str, result: str = "Ref") -> Functions:
    """The functions on Python objects that C++ declares or defines."""
    functions: dict[str, set[int]] = {}
    for name, parameters in re.findall(rf"^(?:inline )?{result} (\w+)\(([^)]*)\)", text, re.MULTILINE):
        functions.setdefault(name, set()).add(parameters.count("PyObject*"))
    return {name: frozenset(arities) for name, arities in functions.items()}


def inside(text: str, namespace: str) -> str:
    """What C++ has in a namespace below `gradwright`, which may be opened several times, and nobody else can call."""
    parts = re.split(rf"^namespace (?:gradwright::)?{namespace} {{\n", text, flags=re.MULTILINE)[1:]
    end = re.compile(rf"^}} *// namespace (?:gradwright::)?{namespace}$", re.MULTILINE)
    return "\n".join(_UNNAMED.sub("", end.split(part, maxsplit=1)[0]) for part in parts)


_UNNAMED = re.compile(r"^namespace \{\n.*?^\} *// namespace$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class NumpyFunction:
    """A function of NumPy whose own loops are the kernel: the name of its functor, its name in NumPy, its operands, the
    element types it takes.
    """

    name: str
    ufunc: str
    operands: int
    takes: str


class FunctorKind(Enum):
    """What a functor has for single elements."""

    APPLY = "apply"  # a function of elements
    CHOOSE = "choose"  # one that takes or gives bools, which are numbers between two functions
    LOOP = ""  # nothing: loops over arrays alone


@dataclass(frozen=True, slots=True)
class WrittenFunctor:
    """A functor that the generator writes: its name, its lines, and the functors of others that it uses.

    One without lines is the functor of that name, which is written by hand. Its operands are `parameters` of the
    operator, of which the first `tensors` are Tensors, and the others numbers. For complex numbers `of_complex` has
    another one of the same operands, where that is needed and C++ has it.
    """

    name: str
    lines: tuple[str, ...]
    uses: tuple[str, ...]
    parameters: tuple[str, ...]
    tensors: int
    of_complex: WrittenFunctor | None = None


@dataclass(frozen=True, slots=True)
class WrittenChoice:
    """Two functors, between which a number chooses; None where C++ has none."""

    test: TypedExpr
    then: Written | None
    orelse: Written | None


Written = WrittenFunctor | WrittenChoice


@dataclass(frozen=True, slots=True)
class NativeKernels:
    """What there is in C++, read from its text: functors with their numbers of operands, and functions.

    `headers` says by namespace and name which file declares it; a function that stands in no header is declared by
    those that call it, so a kernel can be a file of its own.
    """

    functors: Mapping[str, int]
    functions: Functions
    writers: Functions = field(default_factory=dict)  # those that write in place
    composites: Functions = field(default_factory=dict)  # operators that are made of others
    helpers: Functions = field(default_factory=dict)  # functions that formulas call
    headers: Mapping[tuple[str, str], str] = field(default_factory=dict, compare=False)
    numpy: Mapping[str, NumpyFunction] = field(default_factory=dict)  # functors of NumPy's, which the generator writes
    kinds: Mapping[str, FunctorKind] = field(default_factory=dict)  # of the functors that are written by hand
    ufuncs: frozenset[str] = frozenset()  # those of them that are functions of NumPy
    vectors: frozenset[str] = frozenset()  # those that hand on how vectors.hpp computes
    for_float: frozenset[str] = frozenset()  # those that are exact enough for float alone
    for_bools: frozenset[str] = frozenset()  # those that give bools
    for_complex: frozenset[str] = frozenset()  # those that are right for complex numbers, too
    numpy_complex: frozenset[str] = frozenset()  # those for which NumPy has loops of complex numbers
    written: Mapping[str, Written] = field(default_factory=dict)  # those of expressions over elements

    def with_numpy(self, uses: Iterable[tuple[OperatorPlan, PythonFunction]], suffix: str = "") -> NativeKernels:
        """The same with a functor for each kernel that is a function of NumPy, and has none that is written by hand.

        Args:
            uses: operators and their kernels.
            suffix: what the names of these functors end with.
        """
        numpy: dict[str, NumpyFunction] = {}
        for operator, kernel in uses:
            if not kernel.alias or kernel.name in self.functors or kernel.arity is None:
                continue
            takes = "kAll"
            if operator.compute.promotion is not None:
                takes = _AFTER_PROMOTION.get(operator.compute.promotion.kind, takes)
            name = f"{cpp(kernel.name)}{suffix}"
            if numpy.setdefault(kernel.name, NumpyFunction(name, kernel.alias, kernel.arity, takes)).takes != takes:
                numpy[kernel.name] = NumpyFunction(name, kernel.alias, kernel.arity, "kFloatsAndComplex")
        return replace(self, functors={**self.functors, **{n: f.operands for n, f in numpy.items()}}, numpy=numpy)

    def with_written(self, written: Mapping[str, Written]) -> NativeKernels:
        """The same with functors that the generator writes, by the names of kernels."""
        functors = {name: len(each.parameters) for name, each in written.items() if isinstance(each, WrittenFunctor)}
        return replace(self, functors={**self.functors, **functors}, written={**self.written, **written})

    @classmethod
    def read(cls, *paths: Path, folder: str = "") -> NativeKernels:
        """Of headers and sources that may be missing: a missing one has no native kernels. Headers are
        included below `folder`.
        """
        found: dict[str, dict[str, frozenset[int]]] = {name: {} for name in (KERNELS, WRITERS, COMPOSITES, HELPERS)}
        functors: dict[str, int] = {}
        kinds: dict[str, FunctorKind] = {}
        marks: dict[str, set[str]] = {mark: set() for mark in _MARKS}
        headers: dict[tuple[str, str], str] = {}
        for path in sorted(paths, key=lambda path: path.suffix == ".cpp"):
            text = _text(path)
            for namespace, functions in found.items():
                body = inside(text, namespace)
                if namespace == KERNELS and path.suffix != ".cpp":
                    for name, base, members in _FUNCTOR.findall(body):
                        operands = functors.get(base) if base else _operands(members)
                        if operands is not None:
                            functors[name] = operands
                            kinds[name] = kinds[base] if base else _kind(members)
                            for mark, named in marks.items():
                                if mark in members or base in named:
                                    named.add(name)
                            headers[namespace, name] = folder + path.name
                for name, arities in functions_in(body, "bool" if namespace == WRITERS else "Ref").items():
                    functions[name] = arities | functions.get(name, frozenset())
                    if path.suffix != ".cpp":
                        headers[namespace, name] = folder + path.name
        return cls(
            functors, found[KERNELS], found[WRITERS], found[COMPOSITES], found[HELPERS], headers,
            kinds=kinds, ufuncs=frozenset(marks[_UFUNC]), vectors=frozenset(marks[_VECTORS]),
            for_float=frozenset(marks[_FOR_FLOAT]), for_bools=frozenset(marks[_FOR_BOOLS]),
            for_complex=frozenset(marks[_FOR_COMPLEX]), numpy_complex=frozenset(marks[_NUMPY_COMPLEX]),
        )  # fmt: skip


# What kernels are called with after the dtypes of arguments were brought together; a loop takes them as they are.
_AFTER_PROMOTION = {PromotionKind.INT_TO_FLOAT: "kFloatsAndComplex", PromotionKind.BOOL_TO_INT: "kNumbers"}

NO_KERNELS = NativeKernels({}, {})


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
        return Native(self.core.with_numpy(core), self.own.with_numpy(own, "own"))

    def of(self, module: str) -> NativeKernels:
        """Those that may stand for functions of a module of Python."""
        return self.core if module.startswith("runtime.") or module == f"{BASE}.{MODULE}" else self.own

    def helpers(self, module: str) -> NativeKernels:
        """The same of a module of helpers, of which the core has some."""
        if module.startswith("runtime.") and not module.startswith(f"{OPERATORS}.helpers."):
            return NO_KERNELS
        return self.of(module)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError:
        return ""


_FUNCTOR = re.compile(r"^struct (\w+)(?: : (\w+))? \{(?:\};|\n(.*?)^\};)", re.MULTILINE | re.DOTALL)


_UFUNC, _VECTORS = "Ufunc ufunc{", "class A = Baseline"
_FOR_FLOAT, _FOR_BOOLS = "only_float = true", "kGivesBool = true"
_FOR_COMPLEX, _NUMPY_COMPLEX = "for_complex = true", "takes::kFloatsAndComplex"
_MARKS = (_UFUNC, _VECTORS, _FOR_FLOAT, _FOR_BOOLS, _FOR_COMPLEX, _NUMPY_COMPLEX)


def _kind(body: str) -> FunctorKind:
    return next(kind for kind in FunctorKind if not kind.value or f" T {kind.value}(" in body)


def _operands(body: str) -> int | None:
    """How many operands a functor has: the parameters of its function, without result and size for one of blocks."""
    function = re.search(r"static (?:T apply|GRADWRIGHT_INLINE void (block))\(([^)]*)\)", body)
    if function is not None:
        return function[2].count(",") + (-1 if function[1] else 1)
    said = re.search(r'Ufunc ufunc\{"\w+", (\d)|constexpr int operands = (\d)', body)
    return int(said[1] or said[2]) if said is not None else None
