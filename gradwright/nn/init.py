"""Values for parameters to start from: each function fills a Tensor in place, unrecorded, and returns it.

Variances follow Glorot and Bengio (2010, `xavier`) and He et al. (2015, `kaiming`): they keep the size of activations
or of gradients about the same from layer to layer. Orthogonal matrices are those of Saxe et al. (2013), sparse ones
those of Martens (2010).
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gradwright.autograd import no_grad
from runtime import ops
from runtime.base.tensor import Tensor, wrap
from runtime.random import Generator

_LINEAR = frozenset(("linear", *(f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)), "sigmoid"))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By which factor a nonlinearity wants the standard deviation raised.

    Args:
        nonlinearity: its name in `nn.functional`.
        param: the slope of `leaky_relu`, 0.01 if left out.

    Raises:
        ValueError: the name is not known, or the slope is no number.
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, int | float | None):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    known = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in known:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return known[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers between `a` and `b`."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers, of which those outside of `a` to `b` are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    low, high = (math.erf((limit - mean) / std / math.sqrt(2.0)) / 2 for limit in (a, b))
    with no_grad():
        draw = _draw_normal if high - low > _OFTEN else _draw_uniform
        missing = draw(tensor, mean, std, a, b, generator)
        while bool(missing.any()):
            again = ops.empty_like(tensor)
            still = draw(again, mean, std, a, b, generator)
            tensor.copy_(ops.where(missing, again, tensor))
            missing = missing & still
        return tensor


# Where a normal number lies between the limits more often, they are drawn until one does. Else uniform ones are, of
# which one stays as often as the density there is a part of the largest one between the limits (Robert 1995).
_OFTEN = 0.3


def _draw_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Fill the Tensor; where what was drawn has to be drawn again."""
    tensor.normal_(mean, std, generator=generator)
    return (tensor < a) | (tensor > b)


def _draw_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """As `_draw_normal`."""
    tensor.uniform_(a, b, generator=generator)
    chance = ops.empty_like(tensor).uniform_(generator=generator)
    nearest = min(max(mean, a), b)
    exponent = ((nearest - mean) / std) ** 2 - ((tensor - mean) / std) ** 2
    return chance > (exponent / 2).exp()


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix, or as much of it as there is room for."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Convolution weights that pass channels through unchanged, in each group as many as there are.

    Args:
        tensor: of 3, 4 or 5 dimensions: channels out, channels in, and the sizes of the kernel.
        groups: of channels; the kernels of all groups are the same.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out_channels, in_channels, *kernel = tensor.shape
    if out_channels % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tensor.shape)
    per_group = out_channels // groups
    centre = tuple(size // 2 for size in kernel)
    for group in range(groups):
        for channel in range(min(per_group, in_channels)):
            values[(group * per_group + channel, channel, *centre)] = 1
    return _filled(tensor, values)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output of the layer with this weight has, and how many outputs an input.

    Raises:
        ValueError: the weight has fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    field = math.prod(kernel)
    return inputs * field, outputs * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / (fan_in + fan_out))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers of variance gain^2 2 / (fan_in + fan_out)."""
    limit = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -limit, limit, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers of variance gain^2 2 / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation; None where there is nothing to fill."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers of variance gain^2 / fan.

    Args:
        tensor: the weight.
        a: the slope of `leaky_relu`.
        mode: `fan_in` keeps the size of activations, `fan_out` that of gradients.
        nonlinearity: what follows the layer; see `calculate_gain`.
        generator: where random numbers come from.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    limit = math.sqrt(3.0) * std
    return uniform_(tensor, -limit, limit, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers of variance gain^2 / fan; arguments as of `kaiming_uniform_`."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A matrix with orthogonal rows or columns, whichever are fewer; dimensions after the first count as one.

    Raises:
        ValueError: there are fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = normal_(tensor.detach().new_empty((rows, columns)), generator=generator)
    with no_grad():
        q, r = ops.linalg_qr(drawn if rows >= columns else drawn.t())
        # With the signs of R's diagonal Q is uniform among the orthogonal matrices (Mezzadri 2007).
        q *= r.diagonal().sign()
        return tensor.copy_((q if rows >= columns else q.t()).reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers, with zeros in a part `sparsity` of each column.

    Raises:
        ValueError: it is no matrix.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    normal_(tensor, 0.0, std, generator)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        for column in range(columns):
            tensor[ops.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _filled(tensor: Tensor, values: np.ndarray) -> Tensor:
    with no_grad():
        return tensor.copy_(wrap(values.astype(tensor._array.dtype)))


def _old(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function under its old name, without the underscore; it warns."""
    name = function.__name__.removesuffix("_")

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = name
    return renamed


uniform = _old(uniform_)
normal = _old(normal_)
constant = _old(constant_)
eye = _old(eye_)
dirac = _old(dirac_)
xavier_uniform = _old(xavier_uniform_)
xavier_normal = _old(xavier_normal_)
kaiming_uniform = _old(kaiming_uniform_)
kaiming_normal = _old(kaiming_normal_)
orthogonal = _old(orthogonal_)
sparse = _old(sparse_)
