"""GRADWRIGHT_DEBUG=1: what kernels write to and return is checked at every call, for those who write them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from codegen.dispatch_keys import COMPOSITES
from runtime.call.dispatch import Operator
from runtime.load.kernel_rules import place_of, watched


def check_kernels(package: str) -> None:
    """Put a check around each kernel on arrays of a generated package."""
    names = vars(importlib.import_module(f"{package}.operators"))
    known = importlib.import_module(f"{package}.registry").OPERATORS
    for operator in [value for value in names.values() if isinstance(value, Operator)]:
        for key, kernel in operator.built_in.items():
            if key not in COMPOSITES:
                checked = watched(operator, known[operator.name], kernel, _raising(operator, kernel))
                operator.built_in[key] = checked
                if names.get(f"{operator.symbol}_kernel") is kernel:
                    names[f"{operator.symbol}_kernel"] = checked


def _raising(operator: Operator, kernel: Callable[..., Any]) -> Callable[[str], None]:
    def tell(problem: str) -> NoReturn:
        raise RuntimeError(f"{operator.qualified_name}: its kernel {place_of(kernel)} {problem}")

    return tell
