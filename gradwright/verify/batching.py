"""A batch gives what a loop over its elements gives: values, gradients, and derivatives along batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradwright import func
from gradwright.autograd import grad as autograd_grad
from gradwright.batches import vmap
from gradwright.testing import determined, on_copies
from gradwright.verify.points import Point, all_tensors, array, assert_close, gives_nothing, tensors_in
from gradwright.verify.results import Inapplicable, Refuted, Undecided
from runtime import ops
from runtime.base.tensor import Tensor, wrap

SIZE = 3
# What says that a call can not be batched: it looks at values, it reads a mask, its views want another layout, or it
# would write what there is one of.
_REFUSALS = (
    "vmap: ", "Batching rule not implemented", "boolean mask", "inplace arithmetic", "view size is not",
    "Batch norm got a batched tensor",
)  # fmt: skip
# What says that there is no batch of an operator: its results are as large as values say, which it declares.
_NO_BATCH = "operators that can output dynamic shape"


def batching(point: Point) -> None:
    """`vmap` over all Tensors, over the first and the last, along another dimension, with gradients; over seeds."""
    tensors = all_tensors(point.sample)
    if not tensors or point.info.random or not _gives_tensors(point):
        raise Inapplicable("there is nothing to batch")
    refused, taken = "", 0
    for varied, in_dim in ((tensors, 0), (tensors[:1], 0), (tensors[-1:], 0), (tensors, 1)):
        try:
            _compare(point, varied, in_dim)
            taken += 1
        except RuntimeError as error:
            if not any(text in str(error) for text in _REFUSALS):
                raise
            refused = str(error).partition(". ")[0]
    if refused and not taken:
        raise Inapplicable(refused) if _NO_BATCH in refused else Undecided(refused)
    if point.info.differentiable:
        _derivatives(point)


def _gives_tensors(point: Point) -> bool:
    return gives_nothing(point.info) or "Tensor" in point.info.schema.rpartition("->")[2]


def _replaced(value: Any, given: dict[int, Tensor]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_replaced(item, given) for item in value)
    return given.get(id(value), value)


def _function(point: Point, varied: list[Tensor]) -> Callable[..., tuple[Tensor, ...]]:
    operator, sample = on_copies(point.info), point.sample

    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = {id(old): new for old, new in zip(varied, tensors, strict=True)}
        args = [_replaced(arg, given) for arg in sample.args]
        kwargs = {name: _replaced(value, given) for name, value in sample.kwargs.items()}
        return tuple(tensors_in(determined(point.info, operator(*args, **kwargs))))

    return call


def batch_elements(tensor: Tensor, is_definite: bool) -> list[np.ndarray]:
    """As many arrays as the batch has elements: the same values in other places, or multiples that stay definite."""
    values = tensor._array
    if is_definite:
        return [values * (place + 1) for place in range(SIZE)]
    return [np.roll(values.reshape(-1), place).reshape(values.shape) for place in range(SIZE)]


def _close(actual: Tensor, expected: Tensor, what: str) -> None:
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        raise Refuted(f"{what} is {actual.dtype} of shape {tuple(actual.shape)}, by a loop {tuple(expected.shape)}")
    assert_close(array(actual), array(expected), what)


def _compare(point: Point, varied: list[Tensor], in_dim: int) -> None:
    """Vmap over `varied` against a loop, and the gradients of both where there are any."""
    function = _function(point, varied)
    hermitian = {id(tensor) for tensor in point.sample.hermitian}
    elements = [batch_elements(tensor, id(tensor) in hermitian) for tensor in varied]
    rows = [[wrap(column[place].copy()) for column in elements] for place in range(SIZE)]
    dims = [in_dim if tensor.dim() >= in_dim else 0 for tensor in varied]
    batches = [wrap(np.stack(column, dim)) for column, dim in zip(elements, dims, strict=True)]
    flags = [tensor.requires_grad for tensor in varied]
    for tensors in (*rows, batches):
        for tensor, flag in zip(tensors, flags, strict=True):
            tensor.requires_grad_(flag)
    expected = [function(*row) for row in rows]
    actual = vmap(function, in_dims=tuple(dims), randomness="same")(*batches)
    what = f"batched along {in_dim}, {len(varied)} of the Tensors"
    if len(actual) != len(expected[0]):
        raise Refuted(f"{len(actual)} results, {what}")
    pairs = []
    for place, out in enumerate(actual):
        wanted = ops.stack([row[place] for row in expected])
        _close(out, wanted, f"result {place}, {what}")
        if wanted.requires_grad:
            pairs.append((out, wanted))
    if pairs and any(flags):
        _compare_gradients(pairs, batches, rows, dims, f"gradient, {what}")


def _compare_gradients(
    pairs: list[tuple[Tensor, Tensor]], batches: list[Tensor], rows: list[list[Tensor]], dims: list[int], what: str
) -> None:
    weights = [wrap(np.cos(np.arange(o.numel())).reshape(o.shape).astype(o._array.dtype)) for o, _ in pairs]
    places = [place for place, batch in enumerate(batches) if batch.requires_grad]
    inputs = [batches[place] for place in places]
    total: Any = sum(ops.real((o * w).sum()) for (o, _), w in zip(pairs, weights, strict=True))
    grads = autograd_grad(total, inputs, allow_unused=True) if total.requires_grad else [None] * len(inputs)
    leaves = [row[place] for place in places for row in rows]
    total = sum(ops.real((o * w).sum()) for (_, o), w in zip(pairs, weights, strict=True))
    found = autograd_grad(total, leaves, allow_unused=True)
    for number, (grad, place) in enumerate(zip(grads, places, strict=True)):
        column = found[number * SIZE : (number + 1) * SIZE]
        if any(item is not None for item in column):
            zeros = ops.zeros_like(rows[0][place].detach())
            wanted = ops.stack([zeros if item is None else item for item in column], dims[place])
            _close(ops.zeros_like(wanted) if grad is None else grad, wanted, what)


def _derivatives(point: Point) -> None:
    """The derivatives of plain values along a batch of directions, by the formulas of the operator."""
    inputs = [tensor for tensor in all_tensors(point.sample) if tensor.requires_grad]
    function = _function(point, inputs)
    flags = [out.requires_grad for out in function(*inputs)] if inputs else []
    if not any(flags):
        return

    def of_results(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(out for out, flag in zip(function(*tensors), flags, strict=True) if flag)

    values = [tensor.detach() for tensor in inputs]
    outputs, pull = func.vjp(of_results, *values)
    seeds = _directions(outputs)
    mapped = vmap(lambda *grads: pull(grads))(*seeds)
    for place, found in enumerate(mapped):
        rows = [pull(tuple(seed[row] for seed in seeds))[place] for row in range(2)]
        _close(found, ops.stack(rows), "gradients along a batch")
    if point.info.forward:
        ways = _directions(values)

        def push(*tangents: Tensor) -> Any:
            return func.jvp(of_results, tuple(values), tangents)[1]

        for place, found in enumerate(vmap(push)(*ways)):
            rows = [push(*[way[row] for way in ways])[place] for row in range(2)]
            _close(found, ops.stack(rows), "tangents along a batch")


def _directions(tensors: Any) -> list[Tensor]:
    """A batch of two for each Tensor."""
    return [
        wrap(np.cos(place + np.arange(2.0 * tensor.numel())).reshape((2, *tensor.shape)).astype(tensor._array.dtype))
        for place, tensor in enumerate(tensors)
    ]
