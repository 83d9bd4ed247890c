"""Batch, instance and local response normalization, as Modules."""

from __future__ import annotations

import warnings
from typing import ClassVar

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule, options
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class _Running(Module):
    """A scale and a shift for each channel, and running statistics, where these are asked for."""

    _version = 2
    dims: ClassVar[tuple[int, ...]]

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Device | str | None,
        dtype: DType | None,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            values = Parameter(ops.empty([num_features], dtype=dtype, device=device)) if wanted else None
            self.register_parameter(name, values)
        for name in ("running_mean", "running_var"):
            start = ops.zeros([num_features], dtype=dtype, device=device) if track_running_stats else None
            self.register_buffer(name, start)
        count = ops.zeros([], dtype=dtypes.int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Begin anew with mean 0 and variance 1."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0, and begin the running statistics anew."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check(self, input: Tensor) -> None:
        if input.dim() not in self.dims:
            wanted = " or ".join(f"{dims}D" for dims in self.dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """The number of channels and the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    """Each channel with mean 0 and variance 1 over a batch, then a scale and a shift for each channel.

    Args:
        num_features: the number of channels, the size of dimension 1.
        eps: added to the variance.
        momentum: how much of its way to the statistics of a batch the running ones go; None for their mean so far.
        affine: whether there are a scale and a shift.
        track_running_stats: whether there are running statistics, by which inputs are normalized after training.
        device: where parameters and statistics live.
        dtype: of parameters and statistics.
        bias: whether there is a shift, if there is a scale.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _forget_running_stats(self) -> None:
        """Have no running statistics any more."""
        if self.track_running_stats:
            self.running_mean = self.running_var = self.num_batches_tracked = None
            self.track_running_stats = False

    def forward(self, input: Tensor) -> Tensor:
        """The input normalized; while `training`, the running statistics move."""
        self._check(input)
        part = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                part = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        follows = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if follows else None,
            self.running_var if follows else None,
            self.weight,
            self.bias,
            by_batch,
            part,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    dims = (4,)


class BatchNorm3d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of all processes of a group; here there is one process, and its batch is all.

    Args:
        num_features: the number of channels, the size of dimension 1.
        eps: added to the variance.
        momentum: how much of its way to the statistics of a batch the running ones go; None for their mean so far.
        affine: whether there are a scale and a shift.
        track_running_stats: whether there are running statistics, by which inputs are normalized after training.
        process_group: None alone.
        device: where parameters and statistics live.
        dtype: of parameters and statistics.
        bias: whether there is a shift, if there is a scale.

    Raises:
        NotImplementedError: a group of processes is given.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        if process_group is not None:
            raise NotImplementedError("SyncBatchNorm: there are no groups of processes")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: None = None) -> Module:
        """The Module with a SyncBatchNorm over the same parameters in the place of each BatchNorm in it."""
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for members in ("_parameters", "_buffers"):
                getattr(made, members).update(getattr(module, members))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_Running):
    """Each channel of each sample with mean 0 and variance 1, then a scale and a shift for each channel.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: how much of its way to new statistics the running ones go.
        affine: whether there are a scale and a shift.
        track_running_stats: whether there are running statistics, by which inputs are normalized after training.
        device: where parameters and statistics live.
        dtype: of parameters and statistics.
        bias: whether there is a shift, if there is a scale.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input normalized, with or without a batch."""
        self._check(input)
        single = input.dim() == self.dims[0]
        channels = input.shape[0 if single else 1]
        if channels != self.num_features:
            text = f"expected input's size at dim={0 if single else 1} to match num_features ({self.num_features})"
            if self.affine:
                raise ValueError(f"{text}, but got: {channels}.")
            warnings.warn(f"input's size at dim={0 if single else 1} does not match num_features.", stacklevel=2)
        out = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    __doc__ = _InstanceNorm.__doc__
    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    __doc__ = _InstanceNorm.__doc__
    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    __doc__ = _InstanceNorm.__doc__
    dims = (4, 5)


class CrossMapLRN2d(Module):
    """Each element of images divided by a power of the sum of squares of the channels around it.

    Args:
        size: the squares are multiplied by alpha / size; (size - 1) // 2 channels at each side count.
        alpha: their factor.
        beta: the exponent.
        k: added to the sum.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The input, of shape (N, C, H, W), normalized.

        Raises:
            ValueError: it has another number of dimensions.
        """
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        side = (self.size - 1) // 2
        width = 2 * side + 1
        return F.local_response_norm(input, width, self.alpha * width / self.size, self.beta, self.k)

    def extra_repr(self) -> str:
        """The size, and the numbers by name."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


@options
class LocalResponseNorm(FunctionModule):
    """Each element divided by a power of the mean square of `size` channels around it."""

    function = staticmethod(F.local_response_norm)
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        """The size, and the numbers by name."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
