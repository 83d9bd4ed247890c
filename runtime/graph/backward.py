"""`backward` and `grad`: what users ask of the engine, checked and completed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from runtime import ops
from runtime.base.array_proxies import on_device
from runtime.base.tensor import Tensor, wrap
from runtime.graph import engine
from runtime.graph.node import DISCARD_GRADIENT, AccumulateGrad, GradientEdge, Node, OutputEdge

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
        inputs = _listed(inputs)
        if not inputs:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        for tensor in inputs:
            if isinstance(tensor, Tensor):
                tensor.retain_grad()  # an edge keeps nothing
        inputs = _as_tuple(inputs, "inputs")
    starts = _starting_grads(outputs, grad_tensors)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    engine.run(*_differentiable(outputs, starts), inputs, keep, create_graph, accumulate=True, allow_unused=True)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, summed over the outputs.

    Args:
        outputs: what to differentiate.
        inputs: with respect to what; leaves or not.
        grad_outputs: the gradients to start with, one for each output; may be left out for single elements.
        retain_graph: keep saved state for another backward; the default is `create_graph`.
        create_graph: record the backward itself, for higher derivatives.
        only_inputs: no longer means anything.
        allow_unused: give None for an input that the outputs do not depend on; the default is `materialize_grads`.
        is_grads_batched: the first dimension of each of `grad_outputs` counts a batch of gradients to start with, and
            that of each result the gradients they lead to.
        materialize_grads: give zeros instead of None.

    Raises:
        ValueError: `materialize_grads` together with `allow_unused=False`; gradients of different batches.
        RuntimeError: an input does not require grad or is not used, or a gradient to start with does not fit.
        IndexError: a batch of gradients that is empty or has no dimension.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use gradwright.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    results, targets = _as_tuple(outputs, "outputs"), _as_tuple(inputs, "inputs")
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if any(isinstance(tensor, Tensor) and tensor._edge is None for tensor in _listed(inputs)):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots, starts = _differentiable(results, _starting_grads(results, grad_outputs, is_grads_batched))
    keep = create_graph if retain_graph is None else bool(retain_graph)
    if is_grads_batched:
        gradients = _run_batch(roots, starts, targets, keep, create_graph, allow_unused)
    else:
        gradients = engine.run(roots, starts, targets, keep, create_graph, accumulate=False, allow_unused=allow_unused)
    if materialize_grads:
        return tuple(
            [_zeros_like(t, create_graph) if g is None else g for t, g in zip(targets, gradients, strict=True)]
        )
    return tuple(gradients)


def _zeros_like(tensor: Tensor, requires_grad: bool) -> Tensor:
    zeros = ops.zeros_like(tensor.detach()) if on_device(tensor) else wrap(np.zeros_like(tensor._array))
    return zeros.requires_grad_(requires_grad)


def _run_batch(
    roots: Sequence[Tensor],
    starts: Sequence[Tensor],
    inputs: Sequence[Tensor],
    keep_graph: bool,
    create_graph: bool,
    allow_unused: bool,
) -> list[Tensor | None]:
    """One backward with a batch of gradients: the leading dimension of `starts`, and a new one of the results."""
    from runtime.operators.batching.batched import batch
    from runtime.operators.batching.calls import whole_batch
    from runtime.operators.batching.vmap_calls import vmap_level

    # What is computed again in backward (checkpoints) draws the same random numbers for the whole batch.
    with vmap_level(_batch_size(starts), "same") as level:
        grads = [batch(start, level) for start in starts]
        gradients = engine.run(
            roots, grads, inputs, keep_graph, create_graph, accumulate=False, allow_unused=allow_unused
        )
        whole = [None if grad is None else whole_batch(grad, level) for grad in gradients]
    # What went through unchanged is still the caller's, or another result's.
    return [grad if grad is None or _owns_memory(grad, starts) else grad.clone() for grad in whole]


def _owns_memory(grad: Tensor, starts: Sequence[Tensor]) -> bool:
    return grad._array.base is None and not any(grad is start for start in starts)


def _batch_size(starts: Sequence[Tensor]) -> int:
    """The size that the leading dimensions of `starts` have in common."""
    sizes: list[int] = [start._array.shape[0] for start in starts]
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0]


def _as_tuple(tensors: Tensors, argument: str) -> tuple[Tensor, ...]:
    listed: list[Tensor] = []
    for tensor in _listed(tensors):
        if isinstance(tensor, GradientEdge):
            listed.append(_at_edge(tensor.node, tensor.output_nr))
        elif isinstance(tensor, Tensor):
            listed.append(tensor)
        else:
            raise TypeError(f"expected Tensors as '{argument}', but got {type(tensor).__name__}")
    return tuple(listed)


def _listed(tensors: Tensors) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, (Tensor, GradientEdge)) else tuple(tensors)


def _at_edge(node: Node, output_nr: int) -> Tensor:
    """A Tensor that stands for an output of `node`: of its shape and history, with no contents of its own."""
    if isinstance(node, AccumulateGrad):
        return node.variable
    expected = node._input_metadata[output_nr]
    out = wrap(np.broadcast_to(np.zeros((), expected.dtype), expected.shape))
    out._edge = OutputEdge(node, output_nr) if output_nr else node
    return out


def _starting_grads(outputs: Sequence[Tensor], grads: OptionalTensors, batched: bool = False) -> list[Tensor | None]:
    """A gradient for each output; None for an output that does not require grad and was given none."""
    starts = [None] * len(outputs) if grads is None else [grads] if isinstance(grads, Tensor) else list(grads)
    if len(starts) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(starts)} gradients")
    return [_starting_grad(out, g, i, batched) for i, (out, g) in enumerate(zip(outputs, starts, strict=True))]


def _starting_grad(out: Tensor, grad: Tensor | None, index: int, batched: bool) -> Tensor | None:
    if grad is None:
        start = _implicit_grad(out)
        if batched:
            raise ValueError(
                "with is_grads_batched=True each of grad_outputs must be a Tensor with a leading batch dimension, but "
                f"grad_outputs[{index}] is None"
            )
        return start
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if batched:
        _check_entry(out, grad, index)
    elif grad._array.shape != out._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and output[{index}] has a shape of "
            f"{out.shape}."
        )
    if grad.is_complex() != out.is_complex():
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {grad.dtype} and output[{index}] has a dtype of {out.dtype}."
        )
    return grad


def _implicit_grad(out: Tensor) -> Tensor | None:
    """The gradient of a single element in itself; None for an output that does not require grad."""
    if out._edge is None:
        return None
    if out._array.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if out.is_complex():
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    return ops.ones_like(out.detach()) if on_device(out) else wrap(np.ones_like(out._array))


def _check_entry(out: Tensor, grad: Tensor, index: int) -> None:
    """Raise if the entries of a batch of gradients do not have the shape of the output, or there are none."""
    if grad.detach()[0]._array.shape != out._array.shape:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: grad_output[{index}] has a shape of {grad.shape[1:]} and output[{index}] has a "
            f"shape of {out.shape}. If you only want some tensors in `grad_output` to be considered batched, consider "
            "using vmap."
        )


def _differentiable(outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> tuple[list[Tensor], list[Tensor]]:
    roots: list[Tensor] = []
    starts: list[Tensor] = []
    for index, (out, start) in enumerate(zip(outputs, grads, strict=True)):
        if out._edge is None or out._edge is DISCARD_GRADIENT:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        assert start is not None
        roots.append(out)
        starts.append(start)
    return roots, starts
