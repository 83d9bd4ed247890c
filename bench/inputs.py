"""Makers of inputs: each is given a generator of random numbers, so that both libraries are given the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator], np.ndarray[Any, Any]]


def normal(*shape: int) -> Maker:
    """Values of both signs."""
    return lambda generator: generator.normal(0, 1, shape).astype(np.float32)


def between(low: float, high: float, *shape: int) -> Maker:
    return lambda generator: generator.uniform(low, high, shape).astype(np.float32)


def below(bound: int, *shape: int) -> Maker:
    """Integers, such as indices and classes."""
    return lambda generator: generator.integers(0, bound, shape)


def flags(*shape: int) -> Maker:
    return lambda generator: generator.integers(0, 2, shape).astype(bool)


def numbers(*values: int) -> Maker:
    """Integers that are given."""
    return lambda generator: np.array(values)


def spread(size: int) -> Maker:
    """A symmetric, positive definite matrix: far from singular, no two eigenvalues close together."""

    def make(generator: np.random.Generator) -> np.ndarray[Any, Any]:
        basis, _ = np.linalg.qr(generator.normal(0, 1, (size, size)))
        made: np.ndarray[Any, Any] = (basis * np.linspace(1, 10, size)) @ basis.T
        return made.astype(np.float32)

    return make


def recurrent(gates: int, time: int, batch: int, inputs: int, hidden: int) -> tuple[Maker, ...]:
    """The weights and biases of a layer whose cell has so many gates; the sequence before them."""
    return (
        normal(time, batch, inputs),
        *(between(-0.1, 0.1, gates * hidden, width) for width in (inputs, hidden)),
        *(between(-0.1, 0.1, gates * hidden) for _ in range(2)),
    )


def with_states(count: int, makers: tuple[Maker, ...], batch: int, hidden: int) -> tuple[Maker, ...]:
    """The inputs of a recurrent layer: its first states stand behind the sequence."""
    return (makers[0], *(normal(1, batch, hidden) for _ in range(count)), *makers[1:])
