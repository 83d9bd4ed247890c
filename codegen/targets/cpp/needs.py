"""What generated C++ needs: of Python, by names that it gives them, and of other C++."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from codegen.paths import BASE
from codegen.plan.names import module_alias
from codegen.targets.cpp.headers import NativeKernels, NumpyFunction, WrittenFunctor
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.table import KERNELS
from codegen.targets.literals import literal


@dataclass
class Needs:
    """What one generated file needs of Python: callables by their place, and constants by their text; and of C++: the
    entries that it calls, headers, and functions and functors that stand in none.

    The loops of functors are compiled apart from what calls them: `loops` and `parts` name the functors whose loops are
    called from here, and from the tables of formulas, each with what its definition needs.
    """

    package: str = BASE  # of which the file has operators
    names: dict[str, tuple[str, str]] = field(default_factory=dict)  # C++ name: module, attribute
    recorders: dict[str, str] = field(default_factory=dict)  # C++ name: function of the module of Nodes
    constants: dict[str, str] = field(default_factory=dict)  # C++ name: Python text
    entries: dict[str, int] = field(default_factory=dict)  # by their C++ names: how many arguments they have
    headers: set[str] = field(default_factory=set)
    declared: dict[tuple[str, str], int] = field(default_factory=dict)  # namespace and name: how many arguments
    numpy: dict[str, NumpyFunction] = field(default_factory=dict)  # functors of NumPy's functions, by their C++ names
    written: dict[str, Sequence[str]] = field(default_factory=dict)  # the lines of functors of expressions
    loops: dict[str, Needs] = field(default_factory=dict)
    parts: dict[str, Needs] = field(default_factory=dict)

    def name(self, module: str, *path: str) -> str:
        """A callable: a name of a module, or the attribute that further names lead to."""
        known = {"runtime.graph.recording": "", "math": "math_"}
        prefix = known.get(module, f"{module_alias(module)}_")
        return self._name(f"{prefix}{'_'.join(path)}", module, path)

    def operators(self, *path: str, of_base: bool = False) -> str:
        """The same of a module of operators: that of the package, or of the base that it comes beside."""
        return self._name(cpp("_".join(path)), f"{BASE if of_base else self.package}.operators", path)

    def _name(self, spelled: str, module: str, path: Sequence[str]) -> str:
        self.names[spelled] = (module, ".".join(path))
        return f"py::{spelled}"

    def recorder(self, function: str) -> str:
        """A function of the module of Nodes, which is looked up when it is first called."""
        spelled = cpp(function)
        self.recorders[spelled] = function
        return f"py::{spelled}"

    def constant(self, value: object) -> str:
        """A value of Python."""
        text = literal(value)
        if value is None or isinstance(value, bool):
            return f"Py_{text}"
        spelled = f"constant_{_word(value, text)}"
        self.constants[spelled] = text
        return f"py::{spelled}"

    def entry(self, function: str, count: int) -> str:
        """The entry of an operator with that many parameters."""
        self.entries[cpp(function)] = count
        return f"ops::{cpp(function)}"

    def native(self, kernels: NativeKernels, namespace: str, name: str, count: int) -> str:
        """A function or a functor of the native core, or of a package."""
        header = kernels.headers.get((namespace, name))
        if header is not None:
            self.headers.add(header)
        elif namespace == KERNELS and name in kernels.numpy:
            functor = kernels.numpy[name]
            self.numpy[functor.name] = functor
            return f"{namespace}::{functor.name}"
        elif namespace == KERNELS and isinstance(written := kernels.written.get(name), WrittenFunctor):
            return self.written_functor(kernels, written)
        else:
            self.declared[namespace, name] = count
        return f"{namespace}::{name}"

    def loop(self, kernels: NativeKernels, name: str, count: int) -> str:
        """A functor, for the templates that call its loops."""
        definition = Needs(self.package)
        functor = definition.native(kernels, KERNELS, name, count)
        self.loops[f"struct {functor}"] = definition
        return functor

    def part(self, kernels: NativeKernels, name: str, count: int) -> str:
        """A functor, for the table of a formula."""
        definition = Needs(self.package)
        functor = f"struct {definition.native(kernels, KERNELS, name, count)}"
        self.parts[functor] = definition
        return functor

    def written_loop(self, kernels: NativeKernels, functor: WrittenFunctor, with_complex: bool) -> str:
        """A functor that the generator writes, and that of complex numbers, for the templates that call its loops."""
        definition = Needs(self.package)
        if with_complex and functor.of_complex is not None:
            name = definition.with_complex(kernels, functor, functor.of_complex)
            self.loops[name] = definition
        else:
            name = definition.written_functor(kernels, functor)
            self.loops[f"struct {name}"] = definition
        return name

    def written_functor(self, kernels: NativeKernels, functor: WrittenFunctor) -> str:
        """A functor that the generator writes."""
        for used in functor.uses:
            self.native(kernels, KERNELS, used, 0)
        if functor.lines:
            self.written.setdefault(functor.name, functor.lines)
        return f"{KERNELS}::{functor.name}"

    def with_complex(self, kernels: NativeKernels, real: WrittenFunctor, other: WrittenFunctor) -> str:
        """One name for a functor that the generator writes and for that of complex numbers. It sorts behind theirs."""
        self.written_functor(kernels, real)
        self.written_functor(kernels, other)
        name = other.name.removesuffix("complex_") + "with_complex_"
        self.written[name] = [f"using {name} = WithComplex<{real.name}, {other.name}>;"]
        return f"{KERNELS}::{name}"

    def update(self, other: Needs) -> None:
        """Take over what another one needs."""
        self.names |= other.names
        self.entries |= other.entries
        self.headers |= other.headers
        self.declared |= other.declared
        self.numpy |= other.numpy
        self.written |= other.written
        self.loops |= other.loops
        self.parts |= other.parts
        self.recorders |= other.recorders
        self.constants |= other.constants


def _word(value: object, text: str) -> str:
    """A part of an identifier for a value, which is that text in Python; no two values have the same."""
    if isinstance(value, int | float):
        digits = repr(abs(value)).split(".")
        if all(part.isdecimal() for part in digits):
            return f"{'minus_' if text.startswith('-') else ''}{'_point_'.join(digits)}"
    if isinstance(value, str) and value.isascii() and value.isidentifier() and value.strip("_") == value:
        return f"text_{value}"
    letters = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in text)
    return f"{'_'.join(letters.split())}_{zlib.crc32(text.encode()):08x}"
