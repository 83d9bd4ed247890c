"""Where formulas stand in the YAML: generated code has it in a comment above each."""

from __future__ import annotations

import linecache
import os
import re
import sys
from types import FunctionType
from typing import Any

_FORMULA = re.compile(r"\s*# (\S+\.yaml:\d+  .+)")


def formula_places(class_name: str, module: str, error: BaseException) -> list[str]:
    """`derivatives.yaml:32  self: grad * other.conj()` for the formula of a Node in which an error was raised.

    For all formulas of the Node, where the traceback does not lead through one: the native core has no frames.
    """
    package = sys.modules.get(module.rpartition(".")[0])
    folder = next(iter(getattr(package, "__path__", ())), None)
    if folder is None:
        return []
    file = os.path.join(folder, f"{module.rpartition('.')[2]}.py")
    lines = linecache.getlines(file)
    start = next((i for i, line in enumerate(lines) if line.startswith(f"class {class_name}(")), len(lines))
    return _places(file, lines, start, error)


def tangent_places(function: Any, error: BaseException) -> list[str]:
    """The same for the formula of a tangent; `function` is what computes the tangents of an operator."""
    if not isinstance(function, FunctionType):
        return []
    code = function.__code__
    return _places(code.co_filename, linecache.getlines(code.co_filename), code.co_firstlineno - 1, error)


def _places(file: str, lines: list[str], start: int, error: BaseException) -> list[str]:
    """Of the formulas in the definition that begins at line `start`, counted from 0, that which the error is from."""
    end = next((i for i in range(start + 1, len(lines)) if lines[i][:1] not in (" ", "\n", "", ")")), len(lines))
    formulas = {i: match[1] for i in range(start, end) if (match := _FORMULA.match(lines[i])) is not None}
    raised = _line_in(file, error)
    before = [i for i in formulas if raised is not None and i < raised]
    return [formulas[max(before)]] if before else list(dict.fromkeys(formulas.values()))


def _line_in(file: str, error: BaseException) -> int | None:
    """The number of the line of a file that the traceback leads through."""
    trace = error.__traceback__
    while trace is not None:
        if os.path.realpath(trace.tb_frame.f_code.co_filename) == os.path.realpath(file):
            return trace.tb_lineno
        trace = trace.tb_next
    return None
