"""`backward` and `grad`: what users ask of the engine, checked and completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from runtime import engine
from runtime.node import AccumulateGrad, GradientEdge, Node, OutputEdge
from runtime.tensor import Tensor, wrap

# A GradientEdge may stand for any Tensor that is to be differentiated.
Tensors: TypeAlias = "Tensor | GradientEdge | Sequence[Tensor | GradientEdge]"
OptionalTensors: TypeAlias = "Tensor | Sequence[Tensor | None] | None"


def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of the leaves they depend on.

    Args:
        tensors: what to differentiate.
        grad_tensors: the gradients to start with, one for each of `tensors`; may be left out for single elements.
        retain_graph: keep saved state for another backward; the default is `create_graph`.
        create_graph: record the backward itself, for higher derivatives.
        inputs: accumulate into these only; they need not be leaves.

    Raises:
        RuntimeError: a tensor does not require grad, or a gradient to start with is missing or of another shape.
    """
    outputs = _as_tuple(tensors, "tensors")
    if inputs is not None:
        inputs = _as_tuple(inputs, "inputs")
        if not inputs:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        _check_inputs(inputs)
    starts = _starting_grads(outputs, grad_tensors)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    engine.run(*_differentiable(outputs, starts), inputs, keep, create_graph, accumulate=True, allow_unused=True)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, summed over the outputs.

    Args:
        outputs: what to differentiate.
        inputs: with respect to what; leaves or not.
        grad_outputs: the gradients to start with, one for each output; may be left out for single elements.
        retain_graph: keep saved state for another backward; the default is `create_graph`.
        create_graph: record the backward itself, for higher derivatives.
        allow_unused: give None for an input that the outputs do not depend on; the default is `materialize_grads`.
        materialize_grads: give zeros instead of None.

    Raises:
        ValueError: `materialize_grads` together with `allow_unused=False`.
        RuntimeError: an input does not require grad or is not used, or a gradient to start with does not fit.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got False.")
    if allow_unused is None:
        allow_unused = materialize_grads
    roots, targets = _as_tuple(outputs, "outputs"), _as_tuple(inputs, "inputs")
    if not targets:
        raise ValueError("grad requires non-empty inputs.")
    _check_inputs(targets)
    starts = _starting_grads(roots, grad_outputs)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    found = engine.run(
        *_differentiable(roots, starts), targets, keep, create_graph, accumulate=False, allow_unused=allow_unused
    )
    if materialize_grads:
        return tuple([wrap(np.zeros_like(t._array)) if g is None else g for t, g in zip(targets, found, strict=True)])
    return tuple(found)


def _as_tuple(tensors: Tensors, argument: str) -> tuple[Tensor, ...]:
    given = (tensors,) if isinstance(tensors, Tensor | GradientEdge) else tuple(tensors)
    found: list[Tensor] = []
    for tensor in given:
        if isinstance(tensor, GradientEdge):
            found.append(_at_edge(tensor.node, tensor.output_nr))
        elif isinstance(tensor, Tensor):
            found.append(tensor)
        else:
            raise TypeError(f"expected Tensors as '{argument}', but got {type(tensor).__name__}")
    return tuple(found)


def _at_edge(node: Node, output_nr: int) -> Tensor:
    """A Tensor that stands for an output of `node`: of its shape and history, with no contents of its own."""
    if isinstance(node, AccumulateGrad):
        return node.variable
    expected = node._input_metadata[output_nr]
    out = wrap(np.broadcast_to(np.zeros((), expected.dtype), expected.shape))
    out._edge = OutputEdge(node, output_nr) if output_nr else node
    return out


def _check_inputs(inputs: Sequence[Tensor]) -> None:
    if any(tensor._edge is None for tensor in inputs):
        raise RuntimeError("One of the differentiated Tensors does not require grad")


def _starting_grads(outputs: Sequence[Tensor], grads: OptionalTensors) -> list[Tensor | None]:
    """A gradient for each output; None for an output that does not require grad and was given none."""
    given = [None] * len(outputs) if grads is None else [grads] if isinstance(grads, Tensor) else list(grads)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    return [_starting_grad(out, g, i) for i, (out, g) in enumerate(zip(outputs, given, strict=True))]


def _starting_grad(out: Tensor, grad: Tensor | None, index: int) -> Tensor | None:
    if grad is None:
        if out._edge is None:
            return None
        if out._array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if out._array.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
        return wrap(np.ones_like(out._array))
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad._array.shape != out._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and output[{index}] has a shape of "
            f"{out.shape}."
        )
    if (grad._array.dtype.kind == "c") != (out._array.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {grad.dtype} and output[{index}] has a dtype of {out.dtype}."
        )
    return grad


def _differentiable(outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> tuple[list[Tensor], list[Tensor]]:
    roots: list[Tensor] = []
    starts: list[Tensor] = []
    for index, (out, start) in enumerate(zip(outputs, grads, strict=True)):
        if out._edge is None:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        assert start is not None
        roots.append(out)
        starts.append(start)
    return roots, starts
