"""Jacobians by central differences.

A table has a row for each element of the input and a column for each element of the output.  A complex input has two:
derivatives along the real parts and along the imaginary parts of its elements.
"""

from __future__ import annotations

import numpy as np

from gradwright.autograd.gradcheck.problem import Problem, Unit, directions, numbers, overwrite, units


def difference(problem: Problem, number: int, direction: np.ndarray) -> list[np.ndarray]:
    """The derivatives of all outputs when input `number` moves along `direction`.

    It moves in its own memory, so functions that use the same Tensor in other ways than as their argument see it move.

    Raises:
        AssertionError: the shape of an output changes with the values of inputs.
    """
    tensor, eps = problem.wanted[number], problem.tolerance.eps
    kept = np.array(numbers(tensor), order="C")
    step = (eps * direction).astype(kept.dtype)
    try:
        overwrite(tensor, kept - step)
        before = _values(problem)
        overwrite(tensor, kept + step)
        after = _values(problem)
    finally:
        overwrite(tensor, kept)
    now = [out._array for out in problem.outputs] or before
    for one, other, out in zip(before, after, now, strict=True):
        if not one.shape == other.shape == out.shape:
            raise AssertionError(
                "Expected `func` to return outputs with the same shape when inputs are perturbed by "
                f"{eps}, but got: shapes {one.shape}, {out.shape} and {other.shape}."
            )
    return [np.asarray((a - b) / (2 * eps)) for a, b in zip(after, before, strict=True)]


def _values(problem: Problem) -> list[np.ndarray]:
    return [np.array(numbers(out)) for out in problem.call({})]


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
