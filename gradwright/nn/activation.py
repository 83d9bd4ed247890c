"""Activation functions as Modules."""

from __future__ import annotations

import warnings
from dataclasses import InitVar

from gradwright.nn import functional as F
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule, options
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


@options
class Threshold(FunctionModule):
    """Numbers above `threshold` as they are, `value` in place of the others."""

    function = staticmethod(F.threshold)
    threshold: float
    value: float
    inplace: bool = False


@options
class ReLU(FunctionModule):
    """max(x, 0)."""

    function = staticmethod(F.relu)
    inplace: bool = False


@options
class Hardtanh(FunctionModule):
    """x limited to the range from `min_val` to `max_val`; `min_value` and `max_value` are former names of these."""

    function = staticmethod(F.hardtanh)
    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: InitVar[float | None] = None
    max_value: InitVar[float | None] = None

    def __post_init__(self, min_value: float | None = None, max_value: float | None = None) -> None:
        super().__post_init__()
        for name, bound in (("min_val", min_value), ("max_val", max_value)):
            if bound is not None:
                warnings.warn(
                    f"keyword argument `{name}ue` is deprecated and renamed to `{name}`", FutureWarning, stacklevel=3
                )
                setattr(self, name, bound)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh):
    """x limited to the range from 0 to 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """The range is known."""
        return "inplace=True" if self.inplace else ""


@options
class LeakyReLU(FunctionModule):
    """x where it is positive, x times `negative_slope` elsewhere."""

    function = staticmethod(F.leaky_relu)
    negative_slope: float = 0.01
    inplace: bool = False


class RReLU(Module):
    """x where it is positive; elsewhere x times a slope, drawn anew for each element while training, else the mean.

    Args:
        lower: the least slope.
        upper: the largest one.
        inplace: whether the input is overwritten.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function, applied to the input."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The slopes."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


@options
class ELU(FunctionModule):
    """x where it is positive, alpha (exp(x) - 1) elsewhere."""

    function = staticmethod(F.elu)
    alpha: float = 1.0
    inplace: bool = False


@options
class CELU(FunctionModule):
    """x where it is positive, alpha (exp(x / alpha) - 1) elsewhere."""

    function = staticmethod(F.celu)
    alpha: float = 1.0
    inplace: bool = False


@options
class SELU(FunctionModule):
    """ELU with the scale and alpha of self-normalizing networks."""

    function = staticmethod(F.selu)
    inplace: bool = False


@options
class GELU(FunctionModule):
    """x times the probability that a normal number is below x; `approximate="tanh"` takes a formula with tanh."""

    function = staticmethod(F.gelu)
    approximate: str = "none"


@options
class SiLU(FunctionModule):
    """x sigmoid(x)."""

    function = staticmethod(F.silu)
    inplace: bool = False


@options
class Mish(FunctionModule):
    """x tanh(softplus(x))."""

    function = staticmethod(F.mish)
    inplace: bool = False


@options
class Softplus(FunctionModule):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above `threshold`."""

    function = staticmethod(F.softplus)
    beta: float = 1.0
    threshold: float = 20.0


@options
class Sigmoid(FunctionModule):
    """1 / (1 + exp(-x))."""

    function = staticmethod(F.sigmoid)


@options
class LogSigmoid(FunctionModule):
    """log(sigmoid(x))."""

    function = staticmethod(F.logsigmoid)


@options
class Tanh(FunctionModule):
    """tanh(x)."""

    function = staticmethod(F.tanh)


@options
class Tanhshrink(FunctionModule):
    """x - tanh(x)."""

    function = staticmethod(F.tanhshrink)


@options
class Softsign(FunctionModule):
    """x / (1 + |x|)."""

    function = staticmethod(F.softsign)


@options
class Hardsigmoid(FunctionModule):
    """(x + 3) / 6, limited to the range from 0 to 1."""

    function = staticmethod(F.hardsigmoid)
    inplace: bool = False

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


@options
class Hardswish(FunctionModule):
    """x hardsigmoid(x)."""

    function = staticmethod(F.hardswish)
    inplace: bool = False

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


@options
class Softshrink(FunctionModule):
    """x moved towards zero by `lambd`, zero within."""

    function = staticmethod(F.softshrink)
    lambd: float = 0.5

    def extra_repr(self) -> str:
        """The number alone."""
        return str(self.lambd)


@options
class Hardshrink(FunctionModule):
    """x, or zero where |x| is at most `lambd`."""

    function = staticmethod(F.hardshrink)
    lambd: float = 0.5

    def extra_repr(self) -> str:
        """The number alone."""
        return str(self.lambd)


@options
class GLU(FunctionModule):
    """The first half along `dim` times the sigmoid of the second."""

    function = staticmethod(F.glu)
    dim: int = -1


@options
class Softmax(FunctionModule):
    """exp(x), divided by its sum along `dim`."""

    function = staticmethod(F.softmax)
    dim: int | None = None


@options
class Softmin(FunctionModule):
    """Softmax of -x."""

    function = staticmethod(F.softmin)
    dim: int | None = None


@options
class LogSoftmax(FunctionModule):
    """log(softmax(x))."""

    function = staticmethod(F.log_softmax)
    dim: int | None = None


class Softmax2d(Module):
    """Softmax over the channels of images, (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Softmax along the third dimension from the end.

        Raises:
            ValueError: the input has neither 3 nor 4 dimensions.
        """
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class PReLU(Module):
    """x where it is positive, x times a learned slope elsewhere.

    Args:
        num_parameters: 1, or the number of channels for a slope each.
        init: what the slopes start as.
        device: where the slopes live.
        dtype: of the slopes.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(ops.empty([num_parameters], dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function, applied to the input."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"
