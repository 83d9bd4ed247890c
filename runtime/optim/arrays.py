"""The arithmetic of optimizers, on arrays and in place: it knows no Tensors.

An operator call makes a new array, and on large parameters the memory for that costs more than the arithmetic. Updates
work in place instead, and go through large arrays in blocks, so that all steps of a block find it in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from runtime.native import core

Array = np.ndarray

_BLOCK = 1 << 14


def update(function: Callable[..., None], grad: Array, *written: Array) -> None:
    """Call an element-wise `function(grad, *written)` that changes the arrays after the first, on all elements.

    It gets float32 or float64: the parts of complex numbers one after the other, smaller floats as float32.
    """
    dtype = grad.dtype
    if dtype.kind == "c":
        update(function, grad.real, *[array.real for array in written])
        update(function, grad.imag, *[array.imag for array in written])
    elif dtype.itemsize < 4:
        wide = [array.astype(np.float32) for array in written]
        function(grad.astype(np.float32), *wide)
        for array, values in zip(written, wide, strict=True):
            array[...] = values.astype(dtype)
    elif grad.size <= _BLOCK or not all(array.flags.c_contiguous for array in (grad, *written)):
        function(grad, *written)
    else:
        flat = [array.reshape(-1) for array in (grad, *written)]
        for start in range(0, grad.size, _BLOCK):
            function(*[array[start : start + _BLOCK] for array in flat])


def update_sgd(
    grad: Array,
    param: Array,
    buffer: Array | None,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> None:
    """`sgd` on whole arrays, by the native core where it can."""
    options = (lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    if core is not None and core.sgd(grad, param, buffer, *options):
        return
    step = partial(
        sgd,
        lr=lr,
        momentum=momentum,
        dampening=dampening,
        weight_decay=weight_decay,
        nesterov=nesterov,
        maximize=maximize,
        first=first,
    )
    with np.errstate(all="ignore"):
        update(step, grad, *[array for array in (param, buffer) if array is not None])


def update_adam(
    grad: Array,
    param: Array,
    mean: Array,
    square: Array,
    largest: Array | None,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> None:
    """`adam` on whole arrays, by the native core where it can."""
    options = (step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize)
    if core is not None and core.adam(grad, param, mean, square, largest, *options):
        return
    function = partial(
        adam,
        step=step,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        weight_decay=weight_decay,
        decoupled=decoupled,
        maximize=maximize,
    )
    with np.errstate(all="ignore"):
        update(function, grad, *[array for array in (param, mean, square, largest) if array is not None])


def sgd(
    grad: Array,
    param: Array,
    buffer: Array | None = None,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> None:
    """A step of stochastic gradient descent.

    Args:
        grad: the gradient.
        param: the parameter, which is changed.
        buffer: the running sum of gradients, which is changed; None where there is no momentum.
        lr: the learning rate.
        momentum: which part of the sum is kept.
        dampening: which part of the gradient does not go into it.
        weight_decay: times the parameter is added to the gradient.
        nesterov: whether to look ahead (Sutskever et al. 2013).
        maximize: go upwards.
        first: there is no sum yet; it becomes the gradient.
    """
    if maximize:
        grad = -grad
    if weight_decay:
        grad = grad + param * weight_decay
    if buffer is not None:
        if first:
            buffer[...] = grad
        else:
            buffer *= momentum
            buffer += grad if dampening == 0 else grad * (1 - dampening)
        grad = grad + buffer * momentum if nesterov else buffer
    param -= grad * lr


def adam(
    grad: Array,
    param: Array,
    mean: Array,
    square: Array,
    largest: Array | None = None,
    *,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> None:
    """A step of Adam (Kingma and Ba 2015).

    Args:
        grad: the gradient.
        param: the parameter, which is changed.
        mean: the running mean of gradients, which is changed.
        square: the running mean of their squares, which is changed.
        largest: the maximum of that so far, for AMSGrad (Reddi et al. 2018), which is changed.
        step: the number of this step, from 1.
        lr: the learning rate.
        beta1: which part of `mean` is kept.
        beta2: which part of `square` is kept.
        eps: added to the root of `square`.
        weight_decay: times the parameter is added to the gradient.
        decoupled: the parameter is reduced by that directly instead (Loshchilov and Hutter 2019).
        maximize: go upwards.
    """
    if maximize:
        grad = -grad
    if weight_decay and decoupled:
        param *= 1 - lr * weight_decay
    elif weight_decay:
        grad = grad + param * weight_decay
    change = np.subtract(grad, mean)
    change *= 1 - beta1
    mean += change
    np.multiply(grad, grad, out=change)
    change *= 1 - beta2
    square *= beta2
    square += change
    if largest is not None:
        np.maximum(largest, square, out=largest)
    np.sqrt(square if largest is None else largest, out=change)
    change /= (1 - beta2**step) ** 0.5
    change += eps
    np.divide(mean, change, out=change)
    change *= lr / (1 - beta1**step)
    param -= change
