"""Jacobians by backward mode and by forward mode; the tables are those of `numerical`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradwright.autograd import forward_ad
from gradwright.autograd.gradcheck.problem import Problem, Unit, directions, numbers
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward
from runtime.graph.backward import grad as autograd_grad
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import whole_batch
from runtime.operators.batching.vmap_calls import vmap_level


def zeros(tensor: Tensor) -> np.ndarray:
    """As many zeros as a Tensor has elements, in its shape and dtype."""
    return np.zeros(tensor._array.shape, tensor._array.dtype)


def gradients(problem: Problem, starts: Mapping[int, np.ndarray]) -> list[np.ndarray]:
    """The gradients of all inputs; zeros for an input that nothing depends on.

    Args:
        problem: what is checked.
        starts: the gradients of outputs, by index; outputs that are left out have none.
    """
    raw = raw_gradients(problem, starts)
    pairs = zip(raw, problem.wanted, strict=True)
    return [zeros(x) if gradient is None else numbers(gradient) for gradient, x in pairs]


def raw_gradients(problem: Problem, starts: Mapping[int, np.ndarray]) -> tuple[Tensor | None, ...]:
    """The same as backward gives them."""
    outputs = [problem.outputs[index] for index in starts]
    ends = [wrap(np.asarray(start)) for start in starts.values()]
    return autograd_grad(outputs, problem.wanted, ends, retain_graph=True, allow_unused=True)


def batched_gradients(problem: Problem, index: int, starts: np.ndarray) -> list[np.ndarray]:
    """The gradients of all inputs for a batch of gradients of one output, by one backward."""
    out = problem.outputs[index]
    options = {"retain_graph": True, "allow_unused": True, "is_grads_batched": True}
    gradients = autograd_grad(out, problem.wanted, wrap(np.asarray(starts)), **options)
    zeros = [np.zeros((len(starts), *x._array.shape), x._array.dtype) for x in problem.wanted]
    return [zero if gradient is None else numbers(gradient) for gradient, zero in zip(gradients, zeros, strict=True)]


def backward(problem: Problem, index: int, unit: Unit) -> list[np.ndarray]:
    """For each input the table of the gradients of the real or the imaginary parts of an output."""
    out = zeros(problem.outputs[index])
    tables = [np.zeros((x._array.size, out.size), x._array.dtype) for x in problem.wanted]
    for column in range(out.size):
        start = np.zeros_like(out, order="C")
        start.reshape(-1)[column] = unit
        for table, gradient in zip(tables, gradients(problem, {index: start}), strict=True):
            table[:, column] = gradient.reshape(-1)
    return tables


def tangents(problem: Problem, directions: Mapping[int, np.ndarray]) -> list[Tensor]:
    """The derivatives of all outputs when some inputs move, each along its direction; zeros for those that stay.

    Args:
        problem: what is checked.
        directions: by number of the input; inputs that are left out carry no tangent.
    """
    with forward_ad.dual_level():
        duals: dict[int, Tensor] = {}
        for number, direction in directions.items():
            tensor = problem.wanted[number]
            duals[number] = forward_ad.make_dual(tensor, wrap(np.asarray(direction, tensor._array.dtype)))
        pairs = [(out, forward.tangent_of(out)) for out in problem.call(duals)]
    return [wrap(zeros(out)) if tangent is None else tangent for out, tangent in pairs]


def batched_tangents(problem: Problem, number: int, directions: np.ndarray) -> list[np.ndarray]:
    """The derivatives of all outputs along a batch of directions of one input, by one call."""
    tensor = problem.wanted[number]
    with vmap_level(len(directions), "same", of_tangents=True) as level, forward_ad.dual_level():
        dual = forward_ad.make_dual(tensor, batch(wrap(directions.astype(tensor._array.dtype)), level))
        pairs = [(out, forward.tangent_of(out, 0)) for out in problem.call({number: dual})]
        return [
            np.zeros((len(directions), *out._array.shape), out._array.dtype)
            if tangent is None
            else whole_batch(tangent, level)._array
            for out, tangent in pairs
        ]


def forward_table(problem: Problem, number: int, unit: Unit) -> list[np.ndarray]:
    """For each output a table of derivatives along the real or the imaginary parts of one input."""
    rows: list[Sequence[Tensor]] = [
        tangents(problem, {number: direction}) for direction in directions(problem.wanted[number]._array, unit)
    ]
    tables = [np.zeros((len(rows), out._array.size), out._array.dtype) for out in problem.outputs]
    for place, row in enumerate(rows):
        for table, tangent in zip(tables, row, strict=True):
            table[place] = numbers(tangent).reshape(-1)
    return tables
