"""Jacobians block by block: an output along an input. By rows, in one batch of rows, or by forward mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradwright.autograd import forward_ad
from gradwright.autograd.functional_arguments import Bundle, Function, Gradients, Tensors, bundle
from gradwright.autograd.strict_mode import VJP
from runtime import ops
from runtime.base.modes import plain
from runtime.base.tensor import Tensor, wrap
from runtime.graph import engine, forward
from runtime.graph.backward import grad
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import whole_batch
from runtime.operators.batching.vmap_calls import vmap_level


def blocks_by_row(index: int, out: Tensor, points: Sequence[Tensor], create_graph: bool, strict: bool) -> list[Tensor]:
    """The derivatives of one output along each input, by a backward for each of its elements."""
    if not out.numel():
        raise RuntimeError("stack expects a non-empty TensorList")
    if not out.requires_grad:
        return [wrap(np.zeros(out.shape + point.shape, point._array.dtype)) for point in points]
    if out.is_complex():
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    rows = _rows(out, points, create_graph)
    if strict:
        rows = _strict_rows(rows, index, create_graph)
    if create_graph or type(out) not in plain:
        columns = zip(*rows, strict=True)
        stacked = [_stacked(column, point) for column, point in zip(columns, points, strict=True)]
        return [block.view(out.shape + block.shape[1:]) for block in stacked]
    # Without history the rows are written where they belong as they come, which is cheaper than to stack them.
    arrays = [np.zeros((out.numel(), *point.shape), point._array.dtype) for point in points]
    for number, row in enumerate(rows):
        for array, gradient in zip(arrays, row, strict=True):
            if gradient is not None:
                array[number] = gradient._array
    return [wrap(array.reshape(out.shape + point.shape)) for array, point in zip(arrays, points, strict=True)]


def _rows(out: Tensor, points: Sequence[Tensor], create_graph: bool) -> Iterator[Gradients]:
    """The gradients of the elements of an output, one after the other."""
    backward = engine.Repeated([out], points, create_graph)
    array = out._array
    for position in range(array.size):
        start = np.zeros(array.size, array.dtype)
        start[position] = 1
        yield backward([wrap(start.reshape(array.shape))])


def _strict_rows(rows: Iterator[Gradients], index: int, create_graph: bool) -> Iterator[Gradients]:
    for row in rows:
        for number, gradient in enumerate(row):
            if gradient is None:
                raise RuntimeError(
                    f"Output {index} of the user-provided function is independent of input {number}. This is not "
                    "allowed in strict mode."
                )
            if create_graph and not gradient.requires_grad:
                raise RuntimeError(VJP.constant.format(number))
        yield row


def _stacked(rows: Sequence[Tensor | None], point: Tensor) -> Tensor:
    if all(row is None for row in rows):
        return wrap(np.zeros((len(rows), *point.shape), point._array.dtype))
    return ops.stack([wrap(np.zeros_like(point._array)) if row is None else row for row in rows])


def blocks_in_batch(outputs: Sequence[Tensor], points: Sequence[Tensor], create_graph: bool) -> list[list[Tensor]]:
    """The derivatives of each output along each input, by a backward with one batch for all elements of all outputs."""
    if not outputs:
        raise AssertionError("Expected at least one tensor")
    roots = [out for out in outputs if out.requires_grad]
    tables = _batched_grad(roots, points, create_graph) if roots and points else [None] * len(points)
    blocks = []
    first = 0
    for out in outputs:
        sizes = [out.shape + point.shape for point in points]
        count = out.numel() if out.requires_grad else 0
        blocks.append(
            [
                wrap(np.zeros(size, point._array.dtype))
                if table is None or not out.requires_grad
                else table.narrow(0, first, count).reshape(size)
                for table, point, size in zip(tables, points, sizes, strict=True)
            ]
        )
        first += count
    return blocks


def _batched_grad(outputs: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool) -> Gradients:
    """The rows of the Jacobian of all outputs together, for a batch of one-hot gradients to start with.

    Args:
        outputs: Tensors that require grad, with `n` elements altogether.
        inputs: Tensors that require grad.
        create_graph: make the result differentiable.

    Returns:
        For each input of shape `s` its gradients, of shape `(n, *s)`; None for one that has no part in the outputs.
    """
    size = sum(out.numel() for out in outputs)
    starts = []
    first = 0
    for out in outputs:
        start = np.zeros((size, out.numel()), out._array.dtype)
        np.fill_diagonal(start[first:], 1)
        starts.append(wrap(start.reshape((size, *out.shape))))
        first += out.numel()
    return grad(outputs, inputs, starts, create_graph=create_graph, allow_unused=True, is_grads_batched=True)


def blocks_by_tangents(func: Function, inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    mode, other_mode = 'strategy="forward-mode"', 'strategy="reverse-mode"'
    if create_graph:
        raise NotImplementedError(unsupported("create_graph=True", mode, "create_graph=False", other_mode))
    if strict:
        raise RuntimeError(unsupported("strict=True", mode, "strict=False", other_mode))
    bundled = bundle(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    if not bundled.tensors:
        raise AssertionError("Expected at least one tensor")
    outputs, tables = _batched_tangents(func, bundled.tensors)
    blocks = []
    for out, table in zip(outputs.tensors, tables, strict=True):
        ends = np.cumsum([tensor.numel() for tensor in bundled.tensors])
        row = [
            table.narrow(0, int(end) - tensor.numel(), tensor.numel())
            .movedim(0, -1)
            .reshape(out.shape + tensor.shape)
            .clone()
            for end, tensor in zip(ends, bundled.tensors, strict=True)
        ]
        # PyTorch gives lists here where reverse mode gives tuples.
        row = [block.clone() for block in row]  # of one input it is the table itself
        blocks.append(row[0] if bundled.single else row)
    return blocks[0] if outputs.single else tuple(blocks) if bundled.single else blocks


def _batched_tangents(func: Function, inputs: Sequence[Tensor]) -> tuple[Bundle, list[Tensor]]:
    """What `func` returns, by one call, and for each output the tangents along each element of the inputs in turn."""
    sizes = [tensor.numel() for tensor in inputs]
    with vmap_level(sum(sizes), "error", of_tangents=True) as level, forward_ad.dual_level():
        duals = []
        first = 0
        for tensor, size in zip(inputs, sizes, strict=True):
            directions = np.zeros((sum(sizes), size), tensor._array.dtype)
            np.fill_diagonal(directions[first:], 1)
            first += size
            tangents = batch(wrap(directions.reshape((sum(sizes), *tensor.shape))), level)
            duals.append(forward_ad.make_dual(tensor, tangents))
        outputs = bundle(func(*duals), "outputs", "jacobian")
        tangents_of_outputs = [forward.tangent_of(out, 0) for out in outputs.tensors]
        tables = [
            wrap(np.zeros((sum(sizes), *out.shape), out._array.dtype))
            if tangent is None
            else whole_batch(tangent, level)
            for out, tangent in zip(outputs.tensors, tangents_of_outputs, strict=True)
        ]
    return outputs, tables


def check_strategy(strategy: str, hint: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode".{hint}')


def unsupported(first: str, second: str, instead: str, or_else: str) -> str:
    yet = " (yet)" if "strategy" in second else ""
    return (
        f"gradwright.autograd.functional.jacobian: `{first}` and `{second}` are not supported together{yet}. Please "
        f"either set `{instead}` or `{or_else}`."
    )
