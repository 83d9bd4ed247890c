"""What generated C++ needs: of Python, by names that it gives them, and of other C++."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from codegen.paths import BASE
from codegen.plan.loops import KernelLoop, Step
from codegen.plan.names import module_alias
from codegen.plan.native_kernels import Native, NativeKernels, NumpyFunction
from codegen.read.kernel_table import KERNELS
from codegen.targets.cpp.names import cpp, numpy_functor
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
    written: dict[str, KernelLoop] = field(default_factory=dict)  # functors of expressions, by their C++ names
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
            self.numpy[numpy_functor(functor)] = functor
            return f"{namespace}::{numpy_functor(functor)}"
        elif namespace == KERNELS and isinstance(loop := kernels.expressions.get(name), KernelLoop):
            return self._functor(kernels, loop)
        else:
            self.declared[namespace, name] = count
        return f"{namespace}::{name}"

    def part(self, kernels: Native, step: Step) -> str:
        """The functor of a step, for the table of a formula."""
        definition = Needs(self.package)
        count = len(step.operands)
        functor = f"struct {definition.native(kernels.of(step.kernel.module), KERNELS, step.kernel.name, count)}"
        self.parts[functor] = definition
        return functor

    def loop(self, kernels: NativeKernels, loop: KernelLoop) -> str:
        """The functor of a loop, with that of complex numbers if it has one, for the templates that call its loops."""
        definition = Needs(self.package)
        name = definition._functor(kernels, loop)
        if loop.of_complex is None:
            self.loops[f"struct {name}"] = definition
            return name
        definition._functor(kernels, loop.of_complex)
        both = cpp(f"{loop.of_complex.name.removesuffix('_complex')}_with_complex")
        definition.written[both] = loop  # it sorts behind the two that it is made of
        self.loops[f"{KERNELS}::{both}"] = definition
        return f"{KERNELS}::{both}"

    def _functor(self, kernels: NativeKernels, loop: KernelLoop) -> str:
        if loop.is_by_hand:
            return self.native(kernels, KERNELS, loop.name, len(loop.parameters))
        for step in loop.loop.steps:
            self.native(kernels, KERNELS, step.kernel.name, 0)
        self.written.setdefault(cpp(loop.name), loop)
        return f"{KERNELS}::{cpp(loop.name)}"

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
