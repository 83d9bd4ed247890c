"""Rules of normalization and losses."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import call, is_batched, refuse, whole_batch
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.rules.families import aligned, loop

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

# -- normalization


def native_layer_norm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Normalized over the last dimensions; weights that are batched are applied afterwards."""
    x, sizes, weight, bias, eps = values
    if x.dim() < len(sizes) or x._array.shape[x.dim() - len(sizes) :] != tuple(sizes):
        refuse(operator, values, level)
    if not is_batched(weight, level) and not is_batched(bias, level):
        out = call(operator, [x.value, sizes, weight, bias, eps])
        return operator.results([batch(tensor, level) for tensor in out])
    out, mean, rstd = ops.native_layer_norm(x, sizes, None, None, eps)
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return operator.results([out, mean, rstd])


def native_layer_norm_backward(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The gradient of the input for the whole batch; those of weight and bias are sums within an element."""
    grad, x, sizes, mean, rstd, weight, _, (of_x, of_weight, of_bias) = values
    scaled = grad if weight is None else grad * weight
    whole = [whole_batch(tensor, level) for tensor in (scaled, x, mean, rstd)]
    normalized = call(operator, [whole[0], whole[1], sizes, whole[2], whole[3], None, None, (of_x, False, False)])[0]
    outer = list(range(x.dim() - len(sizes)))

    def summed(tensor: Tensor) -> Tensor:
        return ops.sum(tensor, outer) if outer else tensor

    for_input = batch(normalized, level) if of_x else None
    for_weight = summed(grad * (x - mean) * rstd) if of_weight else None
    return operator.results([for_input, for_weight, summed(grad) if of_bias else None])


def native_group_norm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The samples of the whole batch, side by side; weights that are batched are applied afterwards."""
    x, weight, bias, samples, channels, places, groups, eps = values
    if not is_batched(weight, level) and not is_batched(bias, level):
        whole, sizes = whole_batch(x, level), (level.size, samples)
        merged = ops.reshape(whole, (level.size * samples, channels, places))
        parts = call(operator, [merged, weight, bias, level.size * samples, channels, places, groups, eps])
        shapes = (whole.shape, (*sizes, groups), (*sizes, groups))
        return operator.results(
            [batch(ops.reshape(out, shape), level) for out, shape in zip(parts, shapes, strict=True)]
        )
    out, mean, rstd = ops.native_group_norm(x, None, None, samples, channels, places, groups, eps)
    column = (channels, *(1 for _ in range(x.dim() - 2)))
    if weight is not None:
        out = out * weight.reshape(column)
    if bias is not None:
        out = out + bias.reshape(column)
    return operator.results([out, mean, rstd])


# -- attention


def attention(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The batch of vmap and that of the operator become one; a mask of queries and keys is one for all."""
    count, tensors = level.size, [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    changed = list(values)
    for place in tensors:
        whole = whole_batch(values[place], level)
        if values[place].dim() == 2:
            if not is_batched(values[place], level):
                continue
            whole = ops.unsqueeze(ops.unsqueeze(whole, 1), 1)
        each = max(whole.size(1), values[tensors[0]].size(0))
        sizes = whole.shape[2:]
        changed[place] = ops.reshape(ops.expand(whole, (count, each, *sizes)), (count * each, *sizes))
    results = call(operator, changed)
    return operator.results(
        [batch(ops.reshape(out, (count, out.size(0) // count, *out.shape[1:])), level) for out in results]
    )


# -- losses: `reduction` is 0 for none, 1 for the mean, 2 for the sum


def loss(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A loss of each element of a Tensor, reduced within an element of the batch."""
    place = _reduction_place(operator)
    changed = aligned(level, operator, values)
    changed[place] = 0
    return _reduced(batch(call(operator, changed), level), values[place])


def _reduction_place(operator: Operator) -> int:
    return next(i for i, parameter in enumerate(operator.signature.parameters) if parameter.name == "reduction")


def _reduced(out: Tensor, reduction: int) -> Tensor:
    if reduction == 0:
        return out
    return ops.mean(out) if reduction == 1 else ops.sum(out)


def loss_backward(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The gradient of such a loss: that of the unreduced one, divided by the number of elements for the mean."""
    place = _reduction_place(operator)
    changed = aligned(level, operator, values)
    changed[place] = 0
    gradient = call(operator, changed)
    if values[place] == 1:
        gradient = gradient / max(prod(gradient._array.shape[1:]), 1)
    return batch(gradient, level)


def nll_loss_forward(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The loss of each row's class, and the sum of the weights of the classes that count."""
    x, target, weight, reduction, ignored = values
    if not _is_loss_of_classes(x, target, weight):
        return loop(level, operator, values)
    counted = target != ignored
    classes = ops.where(counted, target, 0)
    losses = -ops.squeeze(ops.gather(x, -1, ops.unsqueeze(classes, -1)), -1)
    weights = ops.ones_like(losses) if weight is None else ops.index(weight, [classes])
    weights = ops.where(counted, weights, 0)
    losses = losses * weights if weight is not None else ops.where(counted, losses, 0)
    if reduction == 0 and x.dim() == 2:
        return operator.results([losses, ops.zeros((), dtype=x.dtype)])
    total = ops.sum(weights)
    of_all = ops.sum(losses)
    return operator.results([of_all / total if reduction == 1 else of_all, total])


def _is_loss_of_classes(x: Tensor, target: Tensor, weight: Tensor | None) -> bool:
    """Whether the shapes are the usual ones; others have their errors, which the operator itself knows."""
    shape = x._array.shape
    if len(shape) not in (1, 2) or target._array.dtype.name != "int64" or 0 in shape:
        return False
    return target._array.shape == shape[:-1] and (weight is None or weight._array.shape == shape[-1:])


def nll_loss_backward(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Zeros, with the gradient at each row's class."""
    grad, x, target, weight, reduction, ignored, total = values
    if not _is_loss_of_classes(x, target, weight):
        return loop(level, operator, values)
    counted = target != ignored
    classes = ops.where(counted, target, 0)
    each = -grad / total if reduction == 1 else -grad
    if weight is not None:
        each = each * ops.index(weight, [classes])
    each = ops.where(counted, each, 0)
    zeros = ops.zeros(x._array.shape, dtype=grad.dtype)
    return ops.scatter(zeros, -1, ops.unsqueeze(classes, -1), ops.unsqueeze(each, -1))
