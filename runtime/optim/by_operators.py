"""Updates of parameters that lie on a device, made of operators instead of loops over memory."""

from __future__ import annotations

import math

from runtime import ops
from runtime.autograd import no_grad
from runtime.base.tensor import Tensor


@no_grad()
def update_sgd(
    grad: Tensor,
    param: Tensor,
    buffer: Tensor | None,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> None:
    """As `arrays.update_sgd`."""
    if maximize:
        grad = ops.neg(grad)
    if weight_decay != 0:
        grad = ops.add(grad, param, alpha=weight_decay)
    if buffer is not None:
        if first:
            buffer.copy_(grad)
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = ops.add(grad, buffer, alpha=momentum) if nesterov else buffer
    param.add_(grad, alpha=-lr)


@no_grad()
def update_adam(
    grad: Tensor,
    param: Tensor,
    mean: Tensor,
    square: Tensor,
    largest: Tensor | None,
    count: float,
    lr: float,
    first: float,
    second: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> None:
    """As `arrays.update_adam`."""
    if maximize:
        grad = ops.neg(grad)
    if weight_decay != 0:
        if decoupled:
            param.mul_(1 - lr * weight_decay)
        else:
            grad = ops.add(grad, param, alpha=weight_decay)
    mean.mul_(first).add_(grad, alpha=1 - first)
    square.mul_(second).addcmul_(grad, grad, value=1 - second)
    highest = square
    if largest is not None:
        highest = largest.copy_(ops.maximum(largest, square))
    divisor = ops.add(ops.div(ops.sqrt(highest), math.sqrt(1 - second**count)), eps)
    param.addcdiv_(mean, divisor, value=-lr / (1 - first**count))
