"""What the functions of `autograd.functional` share: Tensors in and out, and gradients between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from runtime.base.tensor import Tensor, wrap
from runtime.graph.backward import grad

Function: TypeAlias = Callable[..., Any]
Tensors: TypeAlias = "Tensor | tuple[Tensor, ...]"
Gradients: TypeAlias = "Sequence[Tensor | None]"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tensors as a user hands them over: a single one, or a tuple."""

    tensors: tuple[Tensor, ...]
    single: bool

    def like(self, results: Sequence[Any]) -> Any:
        """A result for each Tensor, with the structure these came in."""
        return results[0] if self.single else tuple(results)


def bundle(value: Any, argument: str, function: str) -> Bundle:
    single = not isinstance(value, tuple)
    tensors = (value,) if single else value
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            which = f"given {argument} has" if single else f"value at index {index} has"
            raise TypeError(
                f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors but the {which} "
                f"type {type(tensor)}."
            )
    return Bundle(tensors, single)


def new_points(tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """New Tensors of the same values, to be differentiated at; with `create_graph` they keep their history."""
    return tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in tensors])


def vector_like(v: Tensors | None, other: Bundle, create_graph: bool, function: str) -> tuple[Tensor | None, ...]:
    """The vector of a product, if it has the structure and the shapes of `other`."""
    if v is None:
        return (None,)
    bundled = bundle(v, "v", function).tensors
    vector = tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach() for t in bundled])
    if len(vector) != len(other.tensors):
        if other.single:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(other.tensors)} but got {len(vector)}.")
    for index, (entry, tensor) in enumerate(zip(vector, other.tensors, strict=True)):
        if entry.shape != tensor.shape:
            which = "" if other.single else f"Entry {index} in "
            raise RuntimeError(f"{which}v has invalid size: should be {tensor.shape} but got {entry.shape}.")
    return vector


def with_direction(
    inputs: Tensors, v: Tensors | None, create_graph: bool, function: str
) -> tuple[Bundle, tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """The inputs, the points for them, and a vector that is shaped as they are."""
    bundled = bundle(inputs, "inputs", function)
    points = new_points(bundled.tensors, create_graph)
    if v is None:
        if len(points) != 1 or points[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                "single element."
            )
        return bundled, points, (None,)
    return bundled, points, vector_like(v, bundled, create_graph, function)


def evaluate(func: Function, points: Sequence[Tensor], function: str, strict: bool) -> Bundle:
    outputs = bundle(func(*points), "outputs of the user-provided function", function)
    if strict:
        for index, out in enumerate(outputs.tensors):
            if not out.requires_grad:
                raise RuntimeError(
                    f"Output {index} of the user-provided function does not require gradients. The outputs must be "
                    "computed in a differentiable manner from the input when running in strict mode."
                )
    return outputs


def evaluate_scalar(func: Function, points: Sequence[Tensor], function: str, strict: bool) -> Tensor:
    outputs = evaluate(func, points, function, strict)
    if not outputs.single:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    output = outputs.tensors[0]
    if output.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return output


def released(results: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """The results without history, unless it was asked for."""
    return tuple(results) if create_graph else tuple([result.detach() for result in results])


def zero_leaves(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Zeros to start a backward with that is differentiated: it is linear in them, so any value would do."""
    return tuple([zeros_like(tensor).requires_grad_() for tensor in tensors])


def zeros_like(tensor: Tensor) -> Tensor:
    return wrap(np.zeros_like(tensor._array))


def gradients_of(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    starts: Sequence[Tensor | None],
    create_graph: bool,
) -> Gradients:
    """The gradients of the outputs that have any; None for an input that they do not depend on."""
    roots: list[Tensor] = []
    cotangents: list[Tensor | None] = []
    for index, out in enumerate(outputs):
        if out is not None and out.requires_grad:
            roots.append(out)
            cotangents.append(starts[index])
    if not roots or not inputs:
        return [None] * len(inputs)
    return grad(roots, inputs, cotangents, create_graph=create_graph, allow_unused=True)
