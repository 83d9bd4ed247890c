"""What is checked: a function at its inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.base.memory import repeats
from runtime.base.tensor import Tensor, wrap
from runtime.graph.grad_mode import no_grad

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The step of the differences, and how far results may lie from each other."""

    eps: float
    atol: float
    rtol: float
    nondet: float


class Problem:
    """A function at its inputs.

    Attributes:
        function: what is checked.
        inputs: all of its arguments.
        positions: which of them require grad.
        wanted: these.
        outputs: the results that require grad; those are checked.
    """

    def __init__(self, function: Function, inputs: tuple[Any, ...], tolerance: Tolerance) -> None:
        self.function = function
        self.inputs = inputs
        self.tolerance = tolerance
        self.positions = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.wanted: list[Tensor] = [inputs[i] for i in self.positions]
        self.outputs = differentiable(function(*inputs))

    def call(self, replaced: dict[int, Tensor]) -> tuple[Tensor, ...]:
        """The results that are checked, with others in place of some inputs, given by their number in `wanted`.

        If no result requires grad these are all that could.
        """
        inputs = list(self.inputs)
        for number, tensor in replaced.items():
            inputs[self.positions[number]] = tensor
        result = self.function(*inputs)
        return differentiable(result) if self.outputs else _floating(result)


def numbers(tensor: Tensor) -> np.ndarray:
    """The values of a Tensor; of one around others, what its class copies into a plain one."""
    if not tensor._opaque:
        return tensor._array
    copy = wrap(np.zeros(tensor._array.shape, tensor._array.dtype))
    with no_grad():
        copy.copy_(tensor.detach())
    return copy._array


def overwrite(tensor: Tensor, values: np.ndarray) -> None:
    """Give an input other values, which no graph notices."""
    tensor.data.copy_(wrap(values))


def check_inputs(inputs: Sequence[Any]) -> None:
    """Refuse inputs that can not be checked.

    Raises:
        ValueError: none requires grad.
        RuntimeError: one overlaps itself, so that a step in one element is one in others.
    """
    any_double = False
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, Tensor) or not tensor.requires_grad:
            continue
        any_double = True
        array = tensor._array
        if array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex.",
                stacklevel=3,
            )
        if repeats(array):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not any_double:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def differentiable(result: Any) -> tuple[Tensor, ...]:
    """The results of a call that require grad."""
    return tuple([out for out in _sequence(result) if isinstance(out, Tensor) and out.requires_grad])


def _floating(result: Any) -> tuple[Tensor, ...]:
    return tuple([out for out in _sequence(result) if isinstance(out, Tensor) and out._array.dtype.kind in "fc"])


def _sequence(result: Any) -> Sequence[Any]:
    return (result,) if isinstance(result, Tensor) else tuple(result)


def made_up(outputs: Sequence[Tensor], non_contiguous: bool) -> tuple[Tensor, ...]:
    """Gradients to start with, which require grad themselves."""
    random = np.random.default_rng(0)
    made = []
    for out in outputs:
        array = random_values(out._array, random)
        if non_contiguous and array.ndim:
            wide = np.zeros((*array.shape, 2), array.dtype)
            wide[..., 0] = array
            array = wide[..., 0]
        made.append(wrap(array).requires_grad_())
    return tuple(made)


def random_values(like: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Values between 0.1 and 1.1, in both parts of a complex number."""
    values = np.asarray(random.random(like.shape) + 0.1)
    if like.dtype.kind == "c":
        values = np.asarray(values + 1j * (random.random(like.shape) + 0.1))
    return values.astype(like.dtype)


# Of a complex number, one function or direction for each part.
Unit = complex


def units(array: np.ndarray) -> tuple[Unit, ...]:
    """1, and 1j where the numbers are complex: the real functions that an output is, the directions of an input."""
    return (1.0, 1j) if array.dtype.kind == "c" else (1.0,)


def directions(array: np.ndarray, unit: Unit) -> Iterator[np.ndarray]:
    """The steps `unit` in each element alone, in the order of the elements."""
    for position in range(array.size):
        direction = np.zeros(array.shape, complex if unit == 1j else float)
        direction.reshape(-1)[position] = unit
        yield direction
