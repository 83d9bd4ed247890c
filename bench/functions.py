"""Functions of single elements on large tensors, forward and backward."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.measure import Round

# Statements by the name of the row; what they compute lies in the middle of each function's range.
FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sigmoid": lambda library, x: library.sigmoid(x),
    "silu": lambda library, x: library.nn.functional.silu(x),
    "gelu": lambda library, x: library.nn.functional.gelu(x),
    "gelu, tanh": lambda library, x: library.nn.functional.gelu(x, approximate="tanh"),
    "softplus": lambda library, x: library.nn.functional.softplus(x),
    "mish": lambda library, x: library.nn.functional.mish(x),
    "elu": lambda library, x: library.nn.functional.elu(x),
    "hardswish": lambda library, x: library.nn.functional.hardswish(x),
    "erf": lambda library, x: library.erf(x),
    "tanh": lambda library, x: library.tanh(x),
    "exp": lambda library, x: library.exp(x),
    "log1p": lambda library, x: library.log1p(x),
}


def large_function(name: str, library: Any, elements: int) -> Round:
    """One function of values of both signs, and the gradient through it; its results are let go between rounds."""
    values = np.random.default_rng(0).normal(0, 1.5, elements).astype(np.float32)
    if name == "log1p":
        values = np.abs(values)
    function = FUNCTIONS[name]
    x = library.tensor(values).requires_grad_()
    seed = library.tensor(np.random.default_rng(1).uniform(0.5, 1.5, elements).astype(np.float32))
    label = f"{name}, {elements:,} elements"

    def run() -> dict[str, float]:
        x.grad = None
        start = time.perf_counter()
        y = function(library, x)
        middle = time.perf_counter()
        y.backward(seed)
        return {f"{label}: forward": middle - start, f"{label}: backward": time.perf_counter() - middle}

    return run
