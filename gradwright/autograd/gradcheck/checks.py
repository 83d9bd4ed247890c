"""What gradients and tangents must keep to besides having the right values.  Each check raises GradcheckError."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradwright.autograd.gradcheck import analytical, numerical
from gradwright.autograd.gradcheck.error import GradcheckError
from gradwright.autograd.gradcheck.problem import Problem, numbers, random_values, units
from runtime.base.tensor import Tensor
from runtime.graph.hooks import apply_with_hooks
from runtime.graph.node import Node
from runtime.graph.search import reachable


def no_derivative(problem: Problem) -> None:
    """A function none of whose results requires grad does not change with its inputs."""
    for number, tensor in enumerate(problem.wanted):
        for unit in units(tensor._array):
            if any(np.any(table != 0) for table in numerical.jacobian(problem, number, unit)):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def determinism(problem: Problem) -> None:
    """Two runs of the same backward give the same."""
    random = np.random.default_rng(0)
    for index, out in enumerate(problem.outputs):
        starts = {index: random_values(out._array, random)}
        runs = analytical.gradients(problem, starts), analytical.gradients(problem, starts)
        for first, second in zip(*runs, strict=True):
            largest = float(np.max(np.abs(first - second))) if first.size else 0.0
            if largest > problem.tolerance.nondet:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    f"gives different values: those for output {index} differ by {largest}. "
                    f"The tolerance for nondeterminism was {problem.tolerance.nondet}."
                )


def gradient_dtypes(problem: Problem) -> None:
    """Gradients have the dtype and shape of their inputs."""
    for index, out in enumerate(problem.outputs):
        gradients = analytical.raw_gradients(problem, {index: np.ones_like(out._array)})
        for position, gradient, tensor in zip(problem.positions, gradients, problem.wanted, strict=True):
            if gradient is not None and (gradient.dtype, gradient.shape) != (tensor.dtype, tensor.shape):
                raise GradcheckError(
                    f"Gradient has dtype mismatch: {gradient.dtype} of shape {list(gradient.shape)} for input "
                    f"{position}, which is {tensor.dtype} of shape {list(tensor.shape)}"
                )


def tangent_dtypes(problem: Problem) -> None:
    """Tangents have the dtype and shape of their outputs."""
    for number, tensor in enumerate(problem.wanted):
        tangents = analytical.tangents(problem, {number: np.ones_like(tensor._array)})
        for index, (tangent, out) in enumerate(zip(tangents, problem.outputs, strict=True)):
            if (tangent.dtype, tangent.shape) != (out.dtype, out.shape):
                raise GradcheckError(
                    f"Forward AD gradient has dtype mismatch: {tangent.dtype} of shape {list(tangent.shape)} for "
                    f"output {index}, which is {out.dtype} of shape {list(out.shape)}"
                )


def zero_gradients(problem: Problem) -> None:
    """Output gradients of zero give input gradients of zero."""
    starts = {index: analytical.zeros(out) for index, out in enumerate(problem.outputs)}
    for position, gradient in zip(problem.positions, analytical.gradients(problem, starts), strict=True):
        if np.any(gradient != 0):
            raise GradcheckError(
                f"backward not multiplied by grad_output: that of input {position} is not zero where all output "
                "gradients are"
            )


def undefined_gradients(problem: Problem) -> None:
    """Gradients that are missing are as good as zeros: all of them, and of several outputs each in turn and all others.

    Where all are missing the engine has nothing to do, so the Nodes are run one by one.
    """
    outputs = problem.call({})
    newest = max([node.sequence_nr for node in map(_node_of, problem.wanted) if node is not None], default=-1)
    for node in reachable([node for node in map(_node_of, outputs) if node is not None], newest + 1):
        try:
            results = _run_without_gradients(node)
        except RuntimeError as error:
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads: {node.name()} was given none"
            ) from error
        if any(grad is not None and np.any(numbers(grad) != 0) for grad in results):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero: those "
                f"of {node.name()} are not"
            )
    count = len(problem.outputs)
    if count < 2:
        return
    random = np.random.default_rng(0)
    starts = {index: random_values(out._array, random) for index, out in enumerate(problem.outputs)}
    cases = [{index} for index in range(count)] + [set(range(count)) - {index} for index in range(count)]
    for missing in cases:
        defined = {index: start for index, start in starts.items() if index not in missing}
        filled = {index: np.zeros_like(s) if index in missing else s for index, s in starts.items()}
        where = f"outputs {sorted(missing)} had none"
        try:
            gradients = analytical.gradients(problem, defined)
        except RuntimeError as error:
            raise GradcheckError(f"Expected backward function to handle undefined output grads: {where}") from error
        pairs = zip(problem.positions, gradients, analytical.gradients(problem, filled), strict=True)
        for position, first, second in pairs:
            if not _close(problem, first, second):
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads as if they were zeros: that of input "
                    f"{position} changed, where {where}"
                )


def _node_of(tensor: Tensor) -> Node | None:
    return None if tensor.is_leaf else tensor._node_and_output()[0]


def undefined_tangents(problem: Problem) -> None:
    """A tangent that is missing is as good as zeros, for each input in turn."""
    random = np.random.default_rng(0)
    directions = {number: random_values(x._array, random) for number, x in enumerate(problem.wanted)}
    for number, position in enumerate(problem.positions):
        others = {other: direction for other, direction in directions.items() if other != number}
        missing = analytical.tangents(problem, others)
        zeros = analytical.tangents(problem, {**directions, number: np.zeros_like(directions[number])})
        for index, (first, second) in enumerate(zip(missing, zeros, strict=True)):
            if not _close(problem, numbers(first), numbers(second)):
                raise GradcheckError(
                    f"Mismatch in tangent values for output {index} when input {position} has an undefined tangent "
                    f"value. Got: {first} but expected: {second}"
                )


def batched_gradients(problem: Problem) -> None:
    """A batch of output gradients gives the batch of the gradients of each."""
    random = np.random.default_rng(0)
    for index, out in enumerate(problem.outputs):

        def gradients(start: np.ndarray, index: int = index) -> Sequence[np.ndarray]:
            return analytical.gradients(problem, {index: start})

        starts = [random_values(out._array, random) for _ in range(2)]
        expected = [np.stack(each) for each in zip(*map(gradients, starts), strict=True)]
        batched = analytical.batched_gradients(problem, index, np.stack(starts))
        for position, first, second in zip(problem.positions, batched, expected, strict=True):
            _check_batch(problem, first, second, f"gradients, for output {index} and input {position}")


def batched_tangents(problem: Problem) -> None:
    """A batch of tangents of an input gives the batch of the tangents of each."""
    random = np.random.default_rng(0)
    for number, tensor in enumerate(problem.wanted):

        def tangents(direction: np.ndarray, number: int = number) -> Sequence[np.ndarray]:
            return [numbers(tangent) for tangent in analytical.tangents(problem, {number: direction})]

        directions = [random_values(tensor._array, random) for _ in range(2)]
        expected = [np.stack(each) for each in zip(*map(tangents, directions), strict=True)]
        batched = analytical.batched_tangents(problem, number, np.stack(directions))
        for index, (first, second) in enumerate(zip(batched, expected, strict=True)):
            what = f"forward gradients, for output {index} and input {problem.positions[number]}"
            _check_batch(problem, first, second, what)


def _check_batch(problem: Problem, actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    if not _close(problem, actual, expected):
        raise GradcheckError(f"Mismatch in batched {what}: got {actual} but expected {expected}")


def _close(problem: Problem, first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.allclose(first, second, problem.tolerance.rtol, problem.tolerance.atol))


def _run_without_gradients(node: Node) -> Sequence[Tensor | None]:
    """What a Node and its hooks give where none of its outputs has a gradient; the engine does not run those."""
    for hooks in list(node._extra.tensor_hooks.values()) if node._extra is not None else ():
        for hook in list(hooks.values()):
            hook(None)
    return apply_with_hooks(node, None if node.num_outputs == 1 else (None,) * node.output_count, None)
