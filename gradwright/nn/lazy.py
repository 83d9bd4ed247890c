"""Lazy Modules: they take the sizes of their parameters from their first input."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from gradwright.autograd import no_grad
from gradwright.nn.batch_norm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from gradwright.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Sizes,
)
from gradwright.nn.hooks import HookHandle
from gradwright.nn.linear import Linear
from gradwright.nn.module import Module
from gradwright.nn.parameter import UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin, is_lazy
from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class LazyModuleMixin(Module):
    """Base of Modules whose first call makes their parameters, before it is performed.

    A subclass registers an UninitializedParameter or UninitializedBuffer for each, and defines
    `initialize_parameters`, which gets the arguments of the call. Its state can be saved and loaded before that and
    after; what is loaded makes the parameters as well.
    """

    # The class that the Module is of from its first call on.
    cls_to_become: ClassVar[type[Any] | None] = None

    _load_hook: HookHandle
    _initialize_hook: HookHandle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Make the parameters that a state has values for."""
        for name, tensor in self._lazy_members():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and not is_lazy(loaded):
                with no_grad():
                    tensor.materialize(loaded.shape)

    def _lazy_members(self) -> list[tuple[str, UninitializedTensorMixin]]:
        members: Iterable[tuple[str, Any]] = itertools.chain(self._parameters.items(), self._buffers.items())
        return [(name, tensor) for name, tensor in members if isinstance(tensor, UninitializedTensorMixin)]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Make the parameters for a call with these arguments; every subclass defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether there is a parameter or buffer that is not made yet."""
        return bool(self._lazy_members())

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Before the first call: make the parameters, and be a Module as any other from now on.

        Raises:
            RuntimeError: one of them was not made.
        """
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class _Waiting(LazyModuleMixin):
    """A Module that waits for one size: the attribute of this name is 0 until the first input tells it."""

    _size: ClassVar[str]

    def _be_lazy(self, weight: bool, bias: bool, device: Device | str | None, dtype: DType | None) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            if wanted:
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """As of the Module that it becomes, once there are parameters."""
        if not self.has_uninitialized_params() and getattr(self, self._size) != 0:
            super().reset_parameters()  # type: ignore[misc]


class LazyLinear(_Waiting, Linear):
    """Linear whose `in_features` is the last size of its first input.

    Args:
        out_features: what the last dimension becomes.
        bias: whether something is added.
        device: where the parameters live.
        dtype: of the parameters.
    """

    cls_to_become = Linear
    _size = "in_features"

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._be_lazy(True, bias, device, dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        """Make the parameters for this input, or take over the sizes of those that were loaded.

        Raises:
            AssertionError: these are of another size than the input.
        """
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                for name, tensor in self._lazy_members():
                    sizes = [self.out_features, self.in_features]
                    tensor.materialize(sizes if name == "weight" else sizes[:1])
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


class _LazyConvolution(_Waiting):
    """A convolution whose `in_channels` are those of its first input; else as the Module that it becomes."""

    _size = "in_channels"

    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    dims: ClassVar[int]
    transposed: ClassVar[bool]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Make the parameters for this input, or take over the sizes of those that were loaded.

        Raises:
            RuntimeError: it has another number of dimensions.
            ValueError: its channels cannot be divided into that many groups.
        """
        if self.has_uninitialized_params():
            self.in_channels = self._channels_of(input)
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            ends = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
            with no_grad():
                for name, tensor in self._lazy_members():
                    weight = [ends[0], ends[1] // self.groups, *self.kernel_size]
                    tensor.materialize(weight if name == "weight" else [self.out_channels])
                self.reset_parameters()
        if self.in_channels == 0:
            self.in_channels = self._channels_of(input)

    def _channels_of(self, input: Tensor) -> int:
        without = self.dims + 1
        if input.dim() not in (without, without + 1):
            raise RuntimeError(
                f"Expected {without}D (unbatched) or {without + 1}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        return int(input.shape[-without])


class _LazyConv(_LazyConvolution):
    """A convolution whose `in_channels` are those of its first input.

    The arguments are those of the Module that it becomes, without `in_channels`.
    """

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self.out_channels = out_channels
        self._be_lazy(True, bias, device, dtype)


class _LazyConvTranspose(_LazyConvolution):
    """The adjoint of a convolution whose `in_channels` are those of its first input.

    The arguments are those of the Module that it becomes, without `in_channels`.
    """

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self.out_channels = out_channels
        self._be_lazy(True, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    __doc__ = _LazyConv.__doc__
    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    __doc__ = _LazyConv.__doc__
    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    __doc__ = _LazyConv.__doc__
    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    __doc__ = _LazyConvTranspose.__doc__
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    __doc__ = _LazyConvTranspose.__doc__
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    __doc__ = _LazyConvTranspose.__doc__
    cls_to_become = ConvTranspose3d


class _LazyNorm(_Waiting):
    """A normalization whose `num_features` is the size of dimension 1 of its first input.

    Args:
        eps: added to the variance.
        momentum: how much of its way to the statistics of a batch the running ones go.
        affine: whether there are a scale and a shift.
        track_running_stats: whether there are running statistics.
        device: where parameters and statistics live.
        dtype: of parameters and statistics.
        bias: whether there is a shift, if there is a scale.
    """

    _size = "num_features"

    num_features: int
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._be_lazy(affine, affine and bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = ops.zeros([], dtype=dtypes.int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        """Make parameters and statistics for this input, or take over the sizes of those that were loaded."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            with no_grad():
                for _, tensor in self._lazy_members():
                    tensor.materialize([self.num_features])
                self.reset_parameters()
        if self.num_features == 0:
            self.num_features = input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    __doc__ = _LazyNorm.__doc__
    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    __doc__ = _LazyNorm.__doc__
    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    __doc__ = _LazyNorm.__doc__
    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    __doc__ = _LazyNorm.__doc__
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    __doc__ = _LazyNorm.__doc__
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    __doc__ = _LazyNorm.__doc__
    cls_to_become = InstanceNorm3d
