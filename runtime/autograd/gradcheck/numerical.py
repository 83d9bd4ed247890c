"""Jacobians by central differences.

A table has a row for each element of the input and a column for each element of the output.  A complex input has two:
derivatives along the real parts and along the imaginary parts of its elements.
"""

from __future__ import annotations

import numpy as np

from runtime.autograd.gradcheck.problem import Problem, Unit, directions, units
from runtime.base.tensor import Tensor, wrap


def difference(problem: Problem, number: int, direction: np.ndarray) -> list[np.ndarray]:
    """The derivatives of all outputs when input `number` moves along `direction`."""
    array, eps = problem.wanted[number]._array, problem.tolerance.eps
    ahead, behind = array.copy(order="K"), array.copy(order="K")
    ahead += (eps * direction).astype(array.dtype)
    behind -= (eps * direction).astype(array.dtype)
    after, before = _values(problem, number, ahead), _values(problem, number, behind)
    return [np.asarray((a - b) / (2 * eps)) for a, b in zip(after, before, strict=True)]


def _values(problem: Problem, number: int, array: np.ndarray) -> list[np.ndarray]:
    replaced: dict[int, Tensor] = {}
    for other, tensor in enumerate(problem.wanted):
        replaced[other] = wrap(array if other == number else tensor._array.copy(order="K")).requires_grad_()
    return [out._array.copy() for out in problem.call(replaced)]


def jacobian(problem: Problem, number: int, unit: Unit) -> list[np.ndarray]:
    """For each output a table of derivatives along the real or the imaginary parts of one input."""
    steps = directions(problem.wanted[number]._array, unit)
    rows = [[part.reshape(-1) for part in difference(problem, number, step)] for step in steps]
    if not rows:
        return [np.zeros((0, out._array.size), out._array.dtype) for out in problem.outputs]
    return [np.stack(column) for column in zip(*rows, strict=True)]


class Jacobians:
    """The tables of a problem, each made when it is asked for first."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._known: dict[tuple[int, Unit], list[np.ndarray]] = {}

    def along(self, number: int, unit: Unit, index: int) -> np.ndarray:
        """Derivatives of output `index` along the real or the imaginary parts of input `number`."""
        if (number, unit) not in self._known:
            self._known[number, unit] = jacobian(self._problem, number, unit)
        return self._known[number, unit][index]

    def gradient(self, number: int, index: int, unit: Unit) -> np.ndarray:
        """As backward gives it: of the real or the imaginary part of output `index`.

        The gradient of a real function of a complex number is, as in PyTorch, the derivative along the real part plus
        1j times that along the imaginary part.
        """
        parts = [self.along(number, each, index) for each in units(self._problem.wanted[number]._array)]
        parts = [part.imag if unit == 1j else part.real for part in parts]
        return parts[0] if len(parts) == 1 else np.asarray(parts[0] + 1j * parts[1])
