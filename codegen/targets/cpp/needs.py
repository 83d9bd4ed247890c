"""What generated C++ needs: of Python, by names that it gives them, and of other C++."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from codegen.plan.names import module_alias
from codegen.targets.cpp.headers import KERNELS, NativeKernels, NumpyFunction
from codegen.targets.cpp.names import cpp
from codegen.targets.literals import literal


@dataclass
class Needs:
    """What one generated file needs of Python: callables by their place, and constants by their text; and of C++: the
    entries that it calls, headers, and functions and functors that stand in none.
    """

    names: dict[str, tuple[str, str]] = field(default_factory=dict)  # C++ name: module, attribute
    recorders: dict[str, str] = field(default_factory=dict)  # C++ name: function of generated.nodes
    constants: dict[str, str] = field(default_factory=dict)  # C++ name: Python text
    entries: dict[str, int] = field(default_factory=dict)  # by their C++ names: how many arguments they have
    headers: set[str] = field(default_factory=set)
    declared: dict[tuple[str, str], int] = field(default_factory=dict)  # namespace and name: how many arguments
    numpy: dict[str, NumpyFunction] = field(default_factory=dict)  # functors of NumPy's functions, by their C++ names

    def name(self, module: str, *path: str) -> str:
        """A callable: a name of a module, or the attribute that further names lead to."""
        joined = "_".join(path)
        if module.startswith("generated."):
            spelled = cpp(joined)
        else:
            known = {"runtime.graph.recording": "", "math": "math_"}
            prefix = known.get(module, f"{module_alias(module)}_")
            spelled = f"{prefix}{joined}"
        self.names[spelled] = (module, ".".join(path))
        return f"py::{spelled}"

    def recorder(self, function: str) -> str:
        """A function of generated.nodes, which is looked up when it is first called."""
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
            self.numpy[cpp(name)] = kernels.numpy[name]
            return f"{namespace}::{cpp(name)}"
        else:
            self.declared[namespace, name] = count
        return f"{namespace}::{name}"

    def update(self, other: Needs) -> None:
        """Take over what another one needs."""
        self.names |= other.names
        self.entries |= other.entries
        self.headers |= other.headers
        self.declared |= other.declared
        self.numpy |= other.numpy
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
