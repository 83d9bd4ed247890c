"""The performance budget: the most that each kind of work may take, as a ratio to PyTorch eager on one thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.operators import FAMILIES

# What the Python target may take; docs/speed.md has the table.
PYTHON_TARGET = {
    "forward": None,
    "forward and record": 0.6,
    "statements": None,
    "optimizers": None,
    "backward": 0.6,
    "chain": 0.6,
    "fan-in": 0.5,
    "small mlp": 0.8,
    "large mlp": 1.2,
    "small gpt": None,
    "element-wise": 1.1,
    "functions": None,
    "block": 1.2,
    "jacobian": 1.0,
    "written for PyTorch": 1.1,
    "import": 0.15,
    "processes": 0.7,  # of one process; half of it would be all that two cores have
    "codegen": 0.3,
}

# What the large inputs of a family of operators may take with the native core, where it is not 1.5.
LARGE_OPERATORS = {"convolution": 2.0, "linear algebra": 1.3}

# What may be taken where the native core is in use.
NATIVE_TARGET = {
    **PYTHON_TARGET,
    "forward and record": 0.12,
    "statements": 1.0,
    "optimizers": 1.0,
    "backward": 0.12,
    "chain": 0.12,
    "fan-in": 0.1,
    "small mlp": 0.5,
    "large mlp": 1.0,
    "small gpt": 0.9,
    "element-wise": 0.45,
    "functions": 0.8,
    "operators, small": 0.3,
    **{f"operators, large: {family}": LARGE_OPERATORS.get(family, 1.5) for family in FAMILIES},
    "block, fused": 1.0,
    "jacobian": 0.5,
}


def budget_of(library: Any) -> Mapping[str, float | None]:
    """The budget of a library, which may have a native core."""
    native = getattr(library, "native", None)
    return NATIVE_TARGET if native is not None and native.is_available() else PYTHON_TARGET
