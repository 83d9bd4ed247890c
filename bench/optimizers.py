"""One step of each optimizer, on a small and on a large parameter of float32."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.measure import Round

# Optimizers by the name of the row.
OPTIMIZERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda optim, parameters: optim.SGD(parameters, 0.01),
    "SGD, momentum": lambda optim, parameters: optim.SGD(parameters, 0.01, momentum=0.9),
    "Adam": lambda optim, parameters: optim.Adam(parameters),
    "AdamW": lambda optim, parameters: optim.AdamW(parameters),
    "NAdam": lambda optim, parameters: optim.NAdam(parameters),
    "RAdam": lambda optim, parameters: optim.RAdam(parameters),
    "Adamax": lambda optim, parameters: optim.Adamax(parameters),
    "Adadelta": lambda optim, parameters: optim.Adadelta(parameters),
    "Adagrad": lambda optim, parameters: optim.Adagrad(parameters),
    "RMSprop": lambda optim, parameters: optim.RMSprop(parameters),
    "Rprop": lambda optim, parameters: optim.Rprop(parameters),
    "ASGD": lambda optim, parameters: optim.ASGD(parameters),
}
SMALL = (64, 64)


def optimizer_steps(name: str, library: Any, elements: int) -> Round:
    """Steps of one of them, on 64x64 elements and on so many."""
    steps = {
        f"{name}, {label}": (_optimizer(library, OPTIMIZERS[name], shape), count)
        for label, shape, count in ((f"{elements:,} elements", (elements,), 4), ("64x64", SMALL, 100))
    }

    def run() -> dict[str, float]:
        seconds = {}
        for row, (optimizer, count) in steps.items():
            optimizer.step()  # what it reads is in the cache, as far as it fits
            start = time.perf_counter()
            for _ in range(count):
                optimizer.step()
            seconds[row] = (time.perf_counter() - start) / count
        return seconds

    return run


def _optimizer(library: Any, make: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(0)
    parameter = library.nn.Parameter(library.tensor(random.normal(size=shape).astype(np.float32)))
    parameter.grad = library.tensor(random.normal(0, 0.01, shape).astype(np.float32))
    return make(library.optim, [parameter])
