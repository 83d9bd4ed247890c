"""Every operator under vmap against a loop: over one argument, over all, along other dimensions, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import runtime as torch
from generated.registry import OPERATORS
from runtime.base.tensor import Tensor, wrap
from runtime.load.operator_info import OperatorInfo
from runtime.testing import Sample, operator_function, sample_inputs

SIZE = 3
# Their results are Python values, or of a shape that follows from the values.
REFUSED = {
    "equal", "allclose", "nonzero", "nonzero_numpy", "argwhere", "where", "masked_select", "repeat_interleave.Tensor",
    "repeat_interleave.self_Tensor", "tensor_split.tensor_indices_or_sections",
}  # fmt: skip


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def _tensors(sample: Sample) -> list[Tensor]:
    return [value for value in _flat((*sample.args, *sample.kwargs.values())) if isinstance(value, Tensor)]


def _elements(tensor: Tensor) -> list[np.ndarray]:
    """As many arrays as the batch has elements: the same values in other places."""
    array = tensor._array
    return [np.roll(array.reshape(-1), place).reshape(array.shape) for place in range(SIZE)]


def _replaced(value: Any, given: dict[int, Tensor]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_replaced(item, given) for item in value)
    return given.get(id(value), value)


def _function(info: OperatorInfo, sample: Sample, varied: list[Tensor]) -> Callable[..., tuple[Tensor, ...]]:
    operator = operator_function(info)

    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = {id(old): new for old, new in zip(varied, tensors, strict=True)}
        args = [_replaced(arg, given) for arg in sample.args]
        kwargs = {name: _replaced(value, given) for name, value in sample.kwargs.items()}
        return tuple(out for out in _flat((operator(*args, **kwargs),)) if isinstance(out, Tensor))

    return call


def _close(actual: Tensor, expected: Tensor, what: str) -> None:
    assert actual.dtype is expected.dtype, what
    assert actual.shape == expected.shape, what
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), 1e-9, 1e-9, err_msg=what)


def _compare(info: OperatorInfo, sample: Sample, varied: list[Tensor], in_dim: int) -> None:
    """Vmap over `varied` against a loop, and the gradients of both where there are any."""
    function = _function(info, sample, varied)
    elements = [_elements(tensor) for tensor in varied]
    rows = [[wrap(column[place].copy()) for column in elements] for place in range(SIZE)]
    dims = [in_dim if tensor.dim() >= in_dim else 0 for tensor in varied]
    batches = [wrap(np.stack(column, dim)) for column, dim in zip(elements, dims, strict=True)]
    differentiable = [tensor.requires_grad for tensor in varied]
    for tensors in (*rows, batches):
        for tensor, flag in zip(tensors, differentiable, strict=True):
            tensor.requires_grad_(flag)
    expected = [function(*row) for row in rows]
    actual = torch.vmap(function, in_dims=tuple(dims), randomness="same")(*batches)
    what = f"{info.name}({sample.text}) in_dim={in_dim}, {len(varied)} batched"
    assert len(actual) == len(expected[0]), what
    outputs = []
    for place, out in enumerate(actual):
        wanted = torch.stack([row[place] for row in expected])
        _close(out, wanted, what)
        if wanted.requires_grad:
            outputs.append((out, wanted))
    if not outputs or not any(differentiable):
        return
    weights = [wrap(np.cos(np.arange(out.numel())).reshape(out.shape).astype(out._array.dtype)) for out, _ in outputs]
    inputs = [batch for batch in batches if batch.requires_grad]
    loss = sum(torch.real((out * weight).sum()) for (out, _), weight in zip(outputs, weights, strict=True))
    grads = torch.autograd.grad(loss, inputs, allow_unused=True) if loss.requires_grad else [None] * len(inputs)
    flags = [place for place, flag in enumerate(differentiable) if flag]
    leaves = [row[place] for place in flags for row in rows]
    loss = sum(torch.real((wanted * weight).sum()) for (_, wanted), weight in zip(outputs, weights, strict=True))
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    for number, (grad, place) in enumerate(zip(grads, flags, strict=True)):
        column = found[number * SIZE : (number + 1) * SIZE]
        if any(item is not None for item in column):
            zeros = torch.zeros(varied[place].shape, dtype=varied[place].dtype)
            wanted = torch.stack([zeros if item is None else item for item in column], dims[place])
            _close(torch.zeros_like(wanted) if grad is None else grad, wanted, f"gradient of {what}")


# They need the memory of an element to be laid out as that of the sample.
LAID_OUT = {"view", "view_as", "view_as_complex", "as_strided"}
# Memory that nobody wrote: the values say nothing.
UNSET = {"empty_like", "new_empty", "empty.memory_format"}
NAMES = [
    name
    for name, info in OPERATORS.items()
    if not info.random and name not in REFUSED and name not in UNSET and info.samples
]


@pytest.mark.parametrize("name", NAMES)
def test_operator_against_loop(name: str) -> None:
    info = OPERATORS[name]
    for sample in sample_inputs(info, "float64"):
        tensors = _tensors(sample)
        if not tensors:
            continue
        if name == "one_hot" and len(sample.args) == 1:
            continue  # the number of classes would be found in the values
        for varied, in_dim in ((tensors, 0), (tensors[:1], 0), (tensors[-1:], 0), (tensors, 1)):
            if in_dim and name in LAID_OUT:
                continue
            if name == "index.Tensor" and any(tensor.dtype is torch.bool for tensor in varied):
                with pytest.raises(RuntimeError, match="boolean mask"):
                    _compare(info, sample, varied, in_dim)
                continue
            if "(a!)" in info.schema and all(tensor is not tensors[0] for tensor in varied):
                with pytest.raises(RuntimeError, match="inplace arithmetic"):
                    _compare(info, sample, varied, in_dim)
                continue
            _compare(info, sample, varied, in_dim)


DIFFERENTIABLE = [name for name in NAMES if OPERATORS[name].differentiable]


def _differentiated(info: OperatorInfo, sample: Sample) -> tuple[Callable[..., tuple[Tensor, ...]], list[Tensor]]:
    """The results of a call that can have a gradient, as a function of its Tensors that require one."""
    inputs = [tensor for tensor in _tensors(sample) if tensor.requires_grad]
    function = _function(info, sample, inputs)
    points = [tensor.detach() for tensor in inputs]
    flags = [out.requires_grad for out in function(*inputs)]

    def of_results(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(out for out, flag in zip(function(*tensors), flags, strict=True) if flag)

    return (of_results, points) if any(flags) and inputs else (of_results, [])


def _directions(tensors: Any) -> list[Tensor]:
    """A batch of two for each Tensor."""
    return [
        wrap(np.cos(place + np.arange(2.0 * tensor.numel())).reshape((2, *tensor.shape)))
        for place, tensor in enumerate(tensors)
    ]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_batches_of_gradients_and_of_tangents(name: str) -> None:
    """The derivatives of plain values along a batch of directions, by the formulas of the operator."""
    info = OPERATORS[name]
    for sample in sample_inputs(info, "float64"):
        function, points = _differentiated(info, sample)
        if not points:
            continue
        what = f"{name}({sample.text})"
        outputs, pull = torch.func.vjp(function, *points)
        seeds = _directions(outputs)
        mapped = torch.vmap(lambda *grads, pull=pull: pull(grads))(*seeds)
        for place, found in enumerate(mapped):
            rows = [pull(tuple(seed[row] for seed in seeds))[place] for row in range(2)]
            _close(found, torch.stack(rows), f"gradient of {what}")
        if info.forward:
            ways = _directions(points)
            push = lambda *tangents: torch.func.jvp(function, tuple(points), tangents)[1]  # noqa: B023, E731
            for place, found in enumerate(torch.vmap(push)(*ways)):
                rows = [push(*[way[row] for way in ways])[place] for row in range(2)]
                _close(found, torch.stack(rows), f"tangent of {what}")
