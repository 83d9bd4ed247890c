"""Errors of operator calls as the caller sees them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from codegen.inputs import OUTPUT_VARIABLE, input_files, manifest_text
from runtime.base.errors import translated
from runtime.base.tensor import Tensor
from runtime.call import registered
from runtime.call.facts import BUILT_IN, tensors_at

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def explained(operator: Operator, error: Exception, values: Sequence[Any]) -> Exception:
    """`error` as the caller should see it: the class PyTorch raises, with the schema and what was given."""
    if operator.traced is not None:  # what a composite function made of wrong arguments is not what is wrong
        try:
            operator.signature.bind(values[: operator.signature.positional], operator.by_name(values))
        except (TypeError, ValueError) as misfit:
            return misfit
    if getattr(error, "__notes__", None):
        return error
    tensors = tensors_at(values, range(len(values)))
    if type(error) is ValueError and "broadcast" in str(error):
        error = RuntimeError(_broadcast_error(tensors) or str(error))
    else:
        kinds = ", ".join(sorted({str(tensor.dtype) for tensor in tensors}))
        error = translated(error, operator.name, kinds)
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in zip(operator.names, values, strict=False))
    place = declared_at(operator)
    declared = f", {place}" if place is not None else ""
    error.add_note(f"in {operator.schema}{declared}\ngiven {arguments}")
    return error


def declared_at(operator: Operator) -> str | None:
    """`mylib/native_functions.yaml:87`, where the operator is declared; None where that file is not there."""
    package = registered.packages.get(operator.namespace)
    return None if package is None else _declarations(package).get(str(operator.schema).partition("(")[0])


def yaml_of(package: str) -> str:
    """The native_functions.yaml that a generated package was made from.

    Raises:
        OSError: it has no manifest.
        KeyError: its manifest does not say.
    """
    if package == registered.packages[BUILT_IN] and not os.environ.get(OUTPUT_VARIABLE):
        return input_files()[0]
    folder = os.path.dirname(sys.modules[package].__file__ or "")
    said = _YAML.search(manifest_text(folder))
    if said is None:
        raise KeyError("yaml")
    return os.path.normpath(os.path.join(folder, said[1]))


# Not by the modules for YAML and JSON: errors are raised in programs that need neither.
_YAML = re.compile(r'"yaml": \[\s*"([^"]+)"')
_DECLARED = re.compile(r"""(?:- func:|  -)\s*["']?([\w.]+)\(""")


@cache
def _declarations(package: str) -> Mapping[str, str]:
    """The places of operators by their names, in the YAML that a package was generated from."""
    try:
        file = yaml_of(package)
        with open(file, encoding="utf-8") as lines:
            found = list(_declared(lines))
    except (OSError, KeyError):
        return {}
    return {name: f"{_shown(file, package)}:{number}" for name, number in found}


def _declared(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The operators of a file with the numbers of their lines: one behind `func`, or a list of them below."""
    is_listed = False
    for number, line in enumerate(lines, 1):
        is_listed = line.startswith("- func:") or (is_listed and line.startswith("  - "))
        match = _DECLARED.match(line) if is_listed else None
        if match is not None:
            yield match[1], number


def _shown(file: str, package: str) -> str:
    """A file as messages name it: one of a package from the folder that the package lies in."""
    folder = os.path.dirname(sys.modules[package].__file__ or "")
    below = os.path.relpath(file, os.path.join(folder, *[os.pardir] * (package.count(".") + 1)))
    is_below = package != registered.packages[BUILT_IN] and not below.startswith(os.pardir)
    return below.replace(os.sep, "/") if is_below else os.path.basename(file)


def _short(value: object) -> str:
    if isinstance(value, Tensor):
        return f"Tensor{list(value._array.shape)} of {value.dtype}"
    if isinstance(value, list):
        return f"[{', '.join(_short(item) for item in value)}]"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _broadcast_error(tensors: Sequence[Tensor]) -> str | None:
    shapes = [tensor._array.shape for tensor in tensors]
    for i, left in enumerate(shapes):
        for right in shapes[i + 1 :]:
            for offset in range(1, min(len(left), len(right)) + 1):
                a, b = left[-offset], right[-offset]
                if a != b and 1 not in (a, b):
                    return (
                        f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                        f"{max(len(left), len(right)) - offset}"
                    )
    return None
