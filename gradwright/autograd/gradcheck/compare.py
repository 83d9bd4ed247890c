"""Numerical against analytical derivatives, and what is said where they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradwright.autograd.gradcheck import analytical, numerical
from gradwright.autograd.gradcheck.error import GradcheckError
from gradwright.autograd.gradcheck.problem import Problem, Unit, numbers, random_values, units
from runtime.base.tensor import wrap


@dataclass(frozen=True, slots=True)
class Pair:
    """An output and an input: what a Jacobian is of.  `aspect` says which part of complex numbers, or is empty."""

    index: int
    position: int
    mode: str  # "backward" or "forward"
    aspect: str = ""

    def __str__(self) -> str:
        head = f"While considering the {self.aspect} only, " if self.aspect else ""
        how = " computed with forward mode" if self.mode == "forward" else ""
        return f"{head}Jacobian{how} mismatch for output {self.index} with respect to input {self.position},\n".lstrip()


def backward(problem: Problem, fast: bool) -> None:
    """Check backward mode.

    Raises:
        GradcheckError: a derivative differs.
    """
    known = numerical.Jacobians(problem)
    for index, out in enumerate(problem.outputs):
        for unit in reversed(units(out._array)):
            aspect = _aspect(out._array, unit, "outputs")
            pairs = [Pair(index, position, "backward", aspect) for position in problem.positions]
            if fast:
                _backward_fast(problem, known, index, unit, pairs)
                continue
            for number, table in enumerate(analytical.backward(problem, index, unit)):
                _compare(problem, pairs[number], known.gradient(number, index, unit), table)


def forward(problem: Problem, fast: bool) -> None:
    """Check forward mode.

    Raises:
        GradcheckError: a derivative differs.
    """
    known = numerical.Jacobians(problem)
    for number, tensor in enumerate(problem.wanted):
        for unit in reversed(units(tensor._array)):
            aspect = _aspect(tensor._array, unit, "inputs")
            pairs = [Pair(index, problem.positions[number], "forward", aspect) for index in range(len(problem.outputs))]
            if fast:
                _forward_fast(problem, known, number, unit, pairs)
                continue
            for index, table in enumerate(analytical.forward_table(problem, number, unit)):
                _compare(problem, pairs[index], known.along(number, unit, index), table)


def _aspect(array: np.ndarray, unit: Unit, side: str) -> str:
    if array.dtype.kind != "c":
        return ""
    return f"{'imaginary' if unit == 1j else 'real'} part of complex {side}"


# -- element by element


def _compare(problem: Problem, pair: Pair, expected: np.ndarray, actual: np.ndarray) -> None:
    tolerance = problem.tolerance
    if not np.allclose(actual, expected, tolerance.rtol, tolerance.atol):
        raise GradcheckError(f"{pair}numerical:{_shown(expected)}\nanalytical:{_shown(actual)}\n")


def _shown(values: np.ndarray) -> str:
    return repr(wrap(np.asarray(values)))


# -- along one random direction


def _backward_fast(problem: Problem, known: numerical.Jacobians, index: int, unit: Unit, pairs: list[Pair]) -> None:
    """`v J u` for random unit vectors: `v J` by backward, `J u` by a difference."""
    random = np.random.default_rng(index)
    out = problem.outputs[index]._array
    weights = _unit_vector(np.asarray(random.random(out.shape) + 0.1))
    gradients = analytical.gradients(problem, {index: (weights * unit).astype(out.dtype)})
    for number, gradient in enumerate(gradients):
        direction = _unit_vector(random_values(gradient, random))
        change = numerical.difference(problem, number, direction)[index]
        expected = np.sum(weights * (change * np.conj(unit)).real)
        actual = np.sum((gradient * np.conj(direction)).real)
        scale = max(float(np.sum(weights) * np.sum(np.abs(direction))), 1.0)

        def tables(number: int = number) -> tuple[np.ndarray, np.ndarray]:
            return known.gradient(number, index, unit), analytical.backward(problem, index, unit)[number]

        _compare_fast(problem, pairs[number], expected, actual, scale, tables)


def _forward_fast(problem: Problem, known: numerical.Jacobians, number: int, unit: Unit, pairs: list[Pair]) -> None:
    """`J u` for a random vector."""
    random = np.random.default_rng(number)
    shape = problem.wanted[number]._array.shape
    direction = np.asarray((random.random(shape) + 0.1) * unit)
    changes = numerical.difference(problem, number, direction)
    scale = float(np.sum(np.abs(direction)))
    for index, tangent in enumerate(analytical.tangents(problem, {number: direction})):

        def tables(index: int = index) -> tuple[np.ndarray, np.ndarray]:
            return known.along(number, unit, index), analytical.forward_table(problem, number, unit)[index]

        _compare_fast(problem, pairs[index], changes[index], numbers(tangent), scale, tables)


def _unit_vector(values: np.ndarray) -> np.ndarray:
    return values / max(float(np.linalg.norm(values)), 1e-12)


def _compare_fast(
    problem: Problem,
    pair: Pair,
    expected: np.ndarray,
    actual: np.ndarray,
    scale: float,
    tables: Callable[[], tuple[np.ndarray, np.ndarray]],
) -> None:
    """Compare with the tolerance scaled as the sum of an error of `atol` in each element; a failure shows them all."""
    tolerance = problem.tolerance
    if np.allclose(actual, expected, tolerance.rtol, tolerance.atol * scale):
        return
    wanted, table = tables()
    difference = np.max(np.abs(wanted - table)) if wanted.size else 0.0
    verdict = (
        "Element by element they agree within the tolerances: the error of fast mode is larger here, and a larger atol "
        "or fast_mode=False may be what you need.\n"
        if np.allclose(table, wanted, tolerance.rtol, tolerance.atol)
        else ""
    )
    raise GradcheckError(
        f"{pair}numerical:{_brief(expected)}\nanalytical:{_brief(actual)}\n\n"
        "These are Jacobians applied to random vectors, as fast_mode=True compares them. Element by element, as "
        f"fast_mode=False compares them, the Jacobians are:\n\nNumerical:\n{_shown(wanted)}\nAnalytical:\n"
        f"{_shown(table)}\n\nThe max per-element difference is: {difference}.\n{verdict}"
    )


def _brief(values: np.ndarray) -> str:
    return _shown(values) if np.ndim(values) else str(np.asarray(values).item())
