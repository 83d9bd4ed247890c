"""Rules of convolutions and of what else is done to images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import call, is_batched, refuse, whole_batch
from runtime.operators.batching.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def convolution(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A batch of inputs is a longer one; where each element has weights of its own, each is a group of channels."""
    input, weight, bias, *rest, groups = values
    if input.dim() != weight.dim() or (bias is not None and bias.dim() != 1):
        refuse(operator, values, level)
    size = level.size
    if not is_batched(weight, level):
        images = whole_batch(input, level)
        shape = images._array.shape
        out = call(operator, [ops.reshape(images, [size * shape[1], *shape[2:]]), weight, None, *rest, groups])
        out = batch(ops.reshape(out, [size, shape[1], *out._array.shape[1:]]), level)
    else:
        images, rows = whole_batch(input, level), whole_batch(weight, level)
        shape = images._array.shape
        channels = ops.reshape(ops.movedim(images, 0, 1), [shape[1], size * shape[2], *shape[3:]])
        rows = ops.reshape(rows, [size * rows._array.shape[1], *rows._array.shape[2:]])
        out = call(operator, [channels, rows, None, *rest, groups * size])
        made = out._array.shape
        out = ops.reshape(out, [made[0], size, made[1] // size, *made[2:]])
        out = batch(ops.movedim(out, 1, 0), level)
    return out if bias is None else out + ops.reshape(bias, [-1] + [1] * (input.dim() - 2))


def images(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """What is done to each image for itself: the batch is part of the first dimension; results may be left out."""
    size = level.size
    merged = []
    for value in values:
        if isinstance(value, Tensor):
            if value.dim() == 0:
                refuse(operator, values, level)
            whole = whole_batch(value, level)
            shape = whole._array.shape
            value = ops.reshape(whole, [size * shape[1], *shape[2:]])
        merged.append(value)
    out = call(operator, merged)

    def parted(tensor: Tensor) -> Tensor:
        shape = tensor._array.shape
        return batch(ops.reshape(tensor, [size, shape[0] // size, *shape[1:]]), level)

    return (
        parted(out)
        if isinstance(out, Tensor)
        else operator.results([None if tensor is None else parted(tensor) for tensor in out])
    )
