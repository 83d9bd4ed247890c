"""Adds an operator: an entry in each YAML file, with samples, and a kernel that is still to be written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from codegen.codes import Code
from codegen.commands.chosen import add_files, chosen_paths
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.process import ERRORS, OK
from codegen.input_files import read_operators
from codegen.paths import PartKind, Paths
from codegen.schema.names import python
from codegen.schema.parser import parse_schema
from codegen.schema.types import Argument, FunctionSchema, ListType, OptionalType, SchemaKind, base_type
from codegen.source import Diagnostics, ParseError, SourceFile, Span
from codegen.writing import quoted, replace_texts, text_of

_MODULE = '''"""{about}"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
'''
_ANNOTATIONS = {
    "Tensor": "Array", "int": "int", "SymInt": "int", "float": "float", "Scalar": "float", "bool": "bool", "str": "str",
}  # fmt: skip
# What stands in a sample for an argument without a default.
_SAMPLES = {
    "Tensor": "T(3, 4)", "int": "1", "SymInt": "1", "float": "0.5", "Scalar": "0.5", "bool": "True", "str": '"mean"',
}  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("schema", metavar="SCHEMA", help="its signature, such as 'mish2(Tensor self) -> Tensor'")
    add_files(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    paths = chosen_paths(arguments, parser)
    return ERRORS if paths is None else add_operator(arguments.schema, paths)


def add_operator(schema_text: str, paths: Paths) -> int:
    """Add an operator to the two YAML files, and a kernel that is still to be written.

    What is written generates at once; a call and a gradient say what is missing.

    Args:
        schema_text: its signature, as in native_functions.yaml.
        paths: of the project.

    Returns:
        The exit status: 0, or 1 with errors on standard error, and nothing written.
    """
    diagnostics = Diagnostics()
    source = SourceFile("<schema>", schema_text)
    try:
        schema = parse_schema(schema_text)
    except ParseError as error:
        diagnostics.error(Code.SIGNATURE, Span(source, error.start, error.end), error.message, error.hint)
        print_diagnostics(diagnostics, sys.stderr)
        return ERRORS
    functions, _ = read_operators(paths.native_functions, paths.derivatives, paths, diagnostics, tags=paths.tags)
    taken = schema.name in [function.name for function in functions or ()]
    if paths.base is not None:
        base, _ = read_operators(*paths.base, paths, diagnostics)
        taken = taken or schema.name.base in [function.name.base for function in base or ()]
    problem = _problem(schema, taken)
    if problem is not None:
        diagnostics.error(
            Code.DUPLICATE_ENTRY if taken else Code.VARIANT, Span(source, 0, len(str(schema.name))), *problem
        )
    if diagnostics:
        print_diagnostics(diagnostics, sys.stderr)
        return ERRORS
    kernel = _kernel_file(schema, paths)
    about = _MODULE.format(about=f"Kernels: {kernel.stem.replace('_', ' ')}.")
    sample = _sample(schema)
    entry = [f"- func: {schema}", "  dispatch:", f"    CPU: {schema.name.python_name}"]
    entry += [] if paths.samples else ["  samples:", sample]
    replace_texts(
        {
            kernel: _appended(kernel, _kernel(schema), about),
            paths.native_functions: _appended(paths.native_functions, "\n".join(entry) + "\n"),
            **{file: _appended(file, f"- {schema.name}:\n{sample}\n") for file in paths.samples},
            paths.derivatives: _appended(paths.derivatives, "\n".join(_formulas(schema)) + "\n"),
        }
    )
    changed = ", ".join(
        paths.shown(path) for path in (paths.native_functions, paths.derivatives, *paths.samples, kernel)
    )
    print(f"{schema.name}: added to {changed}")
    return OK


def _problem(schema: FunctionSchema, taken: bool) -> tuple[str, str] | None:
    """Why such an operator can not be added, and what to do instead."""
    if taken:
        return f"there is an operator '{schema.name}' already", "choose another name, or another overload"
    if schema.kind is not SchemaKind.FUNCTIONAL:
        return f"'{schema.name}' writes to its arguments", "write the functional operator, and 'autogen' in its entry"
    return None


def _kernel_file(schema: FunctionSchema, paths: Paths) -> Path:
    """Where its kernel goes: the module of kernels, or one of its own in their folder."""
    part = paths.functions(PartKind.KERNELS)[0]
    if paths.base is not None and not any(kind is PartKind.KERNELS for kind, _ in paths.own):
        return paths.native_functions.parent / "kernels.py"
    return part.path if part.path.suffix == ".py" else part.path / f"{schema.name.python_name}.py"


def _appended(path: Path, text: str, beginning: str = "") -> str:
    before = text_of(path)
    blank = "\n\n" if path.suffix == ".py" else "\n"
    return f"{(beginning if before is None else before).rstrip()}\n{blank}{text}"


def _kernel(schema: FunctionSchema) -> str:
    parameters = [
        f"{python(argument.name)}: {_annotation(argument)}"
        for argument in schema.arguments
        if not argument.is_placement
    ]
    count = len(schema.returns)
    result = "Array" if count == 1 else f"tuple[{', '.join(['Array'] * count)}]"
    name = schema.name.python_name
    return (
        f"def {name}({', '.join(parameters)}) -> {result}:\n"
        f'    raise NotImplementedError("write the kernel of {schema.name}")\n'
    )


def _annotation(argument: Argument) -> str:
    known = _ANNOTATIONS.get(str(base_type(argument.type)), "Any")
    if isinstance(argument.type, OptionalType):
        inner = argument.type.elem
        return f"{'list[' + known + ']' if isinstance(inner, ListType) else known} | None"
    return f"list[{known}]" if isinstance(argument.type, ListType) else known


def _sample(schema: FunctionSchema) -> str:
    """The line of a call, in a list of samples."""
    sample = ", ".join(_samples(schema))
    # What begins with a mark of YAML is quoted.
    return f"  - {sample if sample[:1].isalnum() else quoted(sample)}"


def _samples(schema: FunctionSchema) -> Iterator[str]:
    for argument in schema.arguments:
        if argument.default is None:
            value = _SAMPLES.get(str(base_type(argument.type)), "None")
            value = f"[{value}, {value}]" if isinstance(argument.type, ListType) else value
            keyword = argument in schema.kwarg_only
            yield f"{argument.name}={value}" if keyword else value


def _formulas(schema: FunctionSchema) -> Iterator[str]:
    yield f"- name: {schema}"
    for argument in schema.arguments:
        if str(base_type(argument.type)) == "Tensor":
            yield f'  {argument.name}: not_implemented("{schema.name}, the gradient of {argument.name}")'
