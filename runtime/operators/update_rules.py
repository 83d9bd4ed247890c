"""The update rules of optimizers, each written once: pure functions of elements, on arrays and on Tensors alike.

A rule takes first the library that its operands belong to (NumPy, or the operators), then the gradient to descend
along, the parameter, and what is kept from step to step, where None is what the options leave out. It gives the new
parameter and the new values of what is kept, and changes nothing. What all rules have in common stands in `complete`.

The generator reads this file and makes loops of C++ of it (codegen/bind/rule_source.py). So there are assignments, `if`
and conditional expressions on options and on None, arithmetic, comparisons, some functions of `xp`, and a return of
all results; what parameters are is told by their annotations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# An array, or a Tensor.
Values = Any
# A number, or in recorded steps a Tensor of one element.
Number = Any
Rule = Callable[..., tuple[Any, ...]]


def complete(
    rule: Rule,
    xp: Any,
    grad: Values,
    param: Values,
    *kept: Values | None,
    lr: Number,
    weight_decay: Number = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
    **options: Any,
) -> tuple[Any, ...]:
    """A step of `rule`, with what all rules share.

    Args:
        rule: the function to call.
        xp: `numpy`, or `runtime.ops`.
        grad: the gradient.
        param: the parameter.
        kept: what is kept from step to step.
        lr: the learning rate.
        weight_decay: times the parameter is added to the gradient.
        decoupled: the parameter is reduced by that directly instead (Loshchilov and Hutter 2019).
        maximize: go upwards.
        options: those of `rule`.
    """
    if maximize:
        grad = -grad
    if weight_decay != 0:
        if decoupled:
            param = param * (1 - lr * weight_decay)
        else:
            grad = grad + param * weight_decay
    return rule(xp, grad, param, *kept, lr=lr, **options)


def sgd(
    xp: Any,
    grad: Values,
    param: Values,
    buffer: Values | None,
    *,
    lr: Number,
    momentum: Number,
    dampening: Number,
    nesterov: bool,
    first: bool,
) -> tuple[Any, ...]:
    """Stochastic gradient descent with momentum (Sutskever et al. 2013).

    It is made of sums and products alone: a backend that is brought up has those first.

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        buffer: the running sum of gradients; None where there is no momentum.
        lr: the learning rate.
        momentum: which part of the sum is kept.
        dampening: which part of the gradient does not go into it.
        nesterov: whether to look ahead.
        first: there is no sum yet; it becomes the gradient.
    """
    if buffer is None:
        return param + grad * -lr, None
    if first:
        buffer = grad
    else:
        buffer = buffer * momentum + (grad if dampening == 0 else grad * (1 - dampening))
    grad = grad + buffer * momentum if nesterov else buffer
    return param + grad * -lr, buffer


def adam(
    xp: Any,
    grad: Values,
    param: Values,
    mean: Values,
    square: Values,
    largest: Values | None,
    *,
    lr: Number,
    step: float,
    beta1: Number,
    beta2: Number,
    eps: Number,
) -> tuple[Any, ...]:
    """Adam (Kingma and Ba 2015).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        mean: the running mean of gradients.
        square: the running mean of their squares.
        largest: the maximum of that so far, for AMSGrad (Reddi et al. 2018).
        lr: the learning rate.
        step: the number of this step, from 1.
        beta1: which part of `mean` is kept.
        beta2: which part of `square` is kept.
        eps: added to the root of `square`.
    """
    mean, square = _moments(grad, mean, square, beta1, beta2)
    if largest is not None:
        largest = xp.maximum(largest, square)
    divisor = xp.sqrt(square if largest is None else largest) / (1 - beta2**step) ** 0.5 + eps
    return param - mean / divisor * (lr / (1 - beta1**step)), mean, square, largest


def nadam(
    xp: Any,
    grad: Values,
    param: Values,
    mean: Values,
    square: Values,
    *,
    lr: Number,
    step: float,
    beta1: Number,
    beta2: Number,
    eps: Number,
    momentum: Number,
    following: Number,
    product: Number,
) -> tuple[Any, ...]:
    """Adam with Nesterov's momentum (Dozat 2016).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        mean: the running mean of gradients.
        square: the running mean of their squares.
        lr: the learning rate.
        step: the number of this step, from 1.
        beta1: which part of `mean` is kept.
        beta2: which part of `square` is kept.
        eps: added to the root of `square`.
        momentum: the momentum of this step.
        following: that of the next one.
        product: of all momenta up to this step.
    """
    mean, square = _moments(grad, mean, square, beta1, beta2)
    divisor = xp.sqrt(square / (1 - beta2**step)) + eps
    param = param - grad / divisor * (lr * (1 - momentum) / (1 - product))
    return param - mean / divisor * (lr * following / (1 - product * following)), mean, square


def radam(
    xp: Any,
    grad: Values,
    param: Values,
    mean: Values,
    square: Values,
    *,
    lr: Number,
    step: float,
    beta1: Number,
    beta2: Number,
    eps: Number,
) -> tuple[Any, ...]:
    """Adam whose variance is rectified (Liu et al. 2020).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        mean: the running mean of gradients.
        square: the running mean of their squares.
        lr: the learning rate.
        step: the number of this step, from 1.
        beta1: which part of `mean` is kept.
        beta2: which part of `square` is kept.
        eps: added to the root of `square`.
    """
    mean, square = _moments(grad, mean, square, beta1, beta2)
    change = mean / (1 - beta1**step) * lr
    # The length of the simple average that the running mean of squares approximates, at last and by now.
    limit = 2 / (1 - beta2) - 1
    length = limit - 2 * step * beta2**step / (1 - beta2**step)
    if length > 5:  # below, the variance of the adaptive rate has no bound
        ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        change = change * ((1 - beta2**step) ** 0.5 / (xp.sqrt(square) + eps)) * ratio**0.5
    return param - change, mean, square


def adamax(
    xp: Any,
    grad: Values,
    param: Values,
    mean: Values,
    largest: Values,
    *,
    lr: Number,
    step: float,
    beta1: Number,
    beta2: Number,
    eps: Number,
) -> tuple[Any, ...]:
    """Adam by the infinity norm (Kingma and Ba 2015, section 7.1).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        mean: the running mean of gradients.
        largest: the largest magnitude of gradients, which fades.
        lr: the learning rate.
        step: the number of this step, from 1.
        beta1: which part of `mean` is kept.
        beta2: which part of `largest` is kept.
        eps: added to the magnitudes.
    """
    mean = mean + (grad - mean) * (1 - beta1)
    largest = xp.maximum(largest * beta2, xp.abs(grad) + eps)
    return param - mean / largest * (lr / (1 - beta1**step)), mean, largest


def adadelta(
    xp: Any,
    grad: Values,
    param: Values,
    square: Values,
    change: Values,
    *,
    lr: Number,
    rho: Number,
    eps: Number,
) -> tuple[Any, ...]:
    """Adadelta (Zeiler 2012).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        square: the running mean of squares of gradients.
        change: that of squares of changes.
        lr: times a change is subtracted.
        rho: which part of the means is kept.
        eps: added to both.
    """
    square = square * rho + grad * grad * (1 - rho)
    delta = xp.sqrt(change + eps) / xp.sqrt(square + eps) * grad
    return param - delta * lr, square, change * rho + delta * delta * (1 - rho)


def adagrad(xp: Any, grad: Values, param: Values, total: Values, *, lr: Number, eps: Number) -> tuple[Any, ...]:
    """Adagrad (Duchi, Hazan and Singer 2011).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        total: the sum of squares of gradients.
        lr: the learning rate of this step.
        eps: added to the root of `total`.
    """
    total = total + grad * grad
    return param - grad / (xp.sqrt(total) + eps) * lr, total


def rmsprop(
    xp: Any,
    grad: Values,
    param: Values,
    square: Values,
    buffer: Values | None,
    mean: Values | None,
    *,
    lr: Number,
    alpha: Number,
    eps: Number,
    momentum: Number,
) -> tuple[Any, ...]:
    """RMSprop (Tieleman and Hinton 2012; centered: Graves 2013).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        square: the running mean of squares of gradients.
        buffer: the running sum of changes; None where there is no momentum.
        mean: the running mean of gradients, the square of which is subtracted from `square`; None to leave that out.
        lr: the learning rate.
        alpha: which part of the means is kept.
        eps: added to the root.
        momentum: which part of `buffer` is kept.
    """
    square = square * alpha + grad * grad * (1 - alpha)
    if mean is None:
        root = xp.sqrt(square)
    else:
        mean = mean + (grad - mean) * (1 - alpha)
        root = xp.sqrt(square - mean * mean)
    change = grad / (root + eps)
    if buffer is not None:
        change = buffer = buffer * momentum + change
    return param - change * lr, square, buffer, mean


def rprop(
    xp: Any,
    grad: Values,
    param: Values,
    previous: Values,
    size: Values,
    *,
    lr: Number,
    shrink: Number,
    grow: Number,
    smallest: Number,
    largest: Number,
) -> tuple[Any, ...]:
    """Resilient backpropagation, where a step that went too far is not taken back (Igel and Huesken 2000).

    Args:
        xp: see `complete`.
        grad: the gradient, of which the sign counts (Riedmiller and Braun 1993).
        param: the parameter.
        previous: the gradient of the step before, zero where its sign had changed.
        size: the sizes of steps.
        lr: the first size, which is in `size` by now.
        shrink: times the size where the sign changes.
        grow: times the size where it does not.
        smallest: the bound of sizes below.
        largest: that above.
    """
    product = grad * previous
    turned = product < 0
    size = xp.clip(xp.where(product > 0, size * grow, xp.where(turned, size * shrink, size)), smallest, largest)
    grad = xp.where(turned, 0 * size, grad)
    return param - ((grad > 0) * size - (grad < 0) * size), grad, size


def asgd(
    xp: Any, grad: Values, param: Values, average: Values, *, lr: Number, shrink: Number, share: Number
) -> tuple[Any, ...]:
    """Stochastic gradient descent that averages parameters (Polyak and Juditsky 1992; rates of Bottou 2012).

    Args:
        xp: see `complete`.
        grad: the gradient.
        param: the parameter.
        average: the average of parameters.
        lr: the learning rate of this step.
        shrink: times `lr` the parameter is reduced by.
        share: which part of the average this parameter is.
    """
    param = param * (1 - shrink * lr) - grad * lr
    return param, param if share == 1 else average + (param - average) * share


def _moments(grad: Values, mean: Values, square: Values, beta1: Number, beta2: Number) -> tuple[Values, Values]:
    """The running means of gradients and of their squares."""
    return mean + (grad - mean) * (1 - beta1), square * beta2 + grad * grad * (1 - beta2)
