"""What a package's C++ says that nothing takes up: kernels of names or of operands that its operators do not have.

A kernel in C++ stands for the one in Python of the same name; one that stands for none is never called, and what it was
written for runs in Python without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from codegen.codes import Code
from codegen.paths import Paths
from codegen.plan.plan import Plan
from codegen.python_source import PythonFunction
from codegen.source import Diagnostics, SourceFile, Span
from codegen.targets.cpp.headers import KERNELS, NativeKernels, functions_in, inside
from codegen.words import did_you_mean

_STRUCT = re.compile(r"^struct (\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:inline )?Ref (\w+)\(", re.MULTILINE)
_SHAPE = "a struct has 'static T apply(T x, ...)', a function 'Ref {name}(PyObject* x, ...)', in 'gradwright::kernels'"


def check_own_kernels(plan: Plan, paths: Paths, diagnostics: Diagnostics, findings: Diagnostics) -> None:
    """Kernels of a package in C++ have the operands of those in Python; that one stands for none is a finding."""
    kernels = {
        kernel.name: kernel
        for operator in plan.operators
        for _, kernel in operator.compute.implementations
        if not kernel.module.startswith("runtime.")
    }
    files = {path: SourceFile(paths.shown(path), path.read_text(encoding="utf-8")) for path in paths.own_kernels}
    whole = "\n".join(file.text for file in files.values())
    for path, file in files.items():
        for name, span, counts in _written(path, file):
            kernel = kernels.get(name)
            if kernel is None:
                if counts and len(re.findall(rf"\b{name}\b", whole)) == 1:
                    findings.error(
                        Code.NO_FUNCTION, span,
                        f"no operator of the package has a kernel '{name}': this is never called",
                        did_you_mean(name, kernels) or "it has the name of the kernel in Python",
                    )  # fmt: skip
            elif _operands(kernel) not in counts:
                _misfit(name, span, counts, kernel, diagnostics)


def place_of(name: str, paths: tuple[Path, ...], shown: Mapping[Path, str]) -> Span | None:
    """Where C++ has the kernel of this name."""
    for path in paths:
        file = SourceFile(shown[path], path.read_text(encoding="utf-8"))
        for written, span, counts in _written(path, file):
            if written == name and counts:
                return span
    return None


def _written(path: Path, file: SourceFile) -> Iterator[tuple[str, Span, frozenset[int]]]:
    """What may be meant for kernels, with its place, and how many operands it has as one; none if it is none."""
    body = inside(file.text, KERNELS)
    if path.suffix != ".cpp":
        functors = NativeKernels.read(path).functors
        inner = set(_STRUCT.findall(body))
        for found in _STRUCT.finditer(file.text):
            count = functors.get(found[1]) if found[1] in inner else None
            yield found[1], Span(file, *found.span(1)), frozenset(() if count is None else (count,))
    functions = functions_in(body)
    for found in _FUNCTION.finditer(file.text):
        yield found[1], Span(file, *found.span(1)), functions.get(found[1], frozenset())


def _operands(kernel: PythonFunction) -> int | None:
    return kernel.arity if kernel.parameters is None else len(kernel.parameters)


def _misfit(name: str, span: Span, counts: frozenset[int], kernel: PythonFunction, diagnostics: Diagnostics) -> None:
    wanted = f"{name}({', '.join(parameter.name for parameter in kernel.parameters or ())})"
    if counts:
        has = " or ".join(map(str, sorted(counts)))
        message = f"'{name}' has {has} operand{'' if has == '1' else 's'}, and '{wanted}' in Python {_operands(kernel)}"
    else:
        message = f"'{name}' has the name of a kernel, and is none"
    diagnostics.error(
        Code.KERNEL_PARAMETERS, span, message,
        _SHAPE.format(name=name), ((kernel.span, f"'{name}' is defined here"),),
    )  # fmt: skip
