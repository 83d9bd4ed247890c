"""Normalization."""

from __future__ import annotations

from collections.abc import Sequence

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule, options
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class _Affine(Module):
    """A normalization followed by a learned scale and shift, where these are asked for."""

    weight: Tensor | None
    bias: Tensor | None

    def _make_affine(
        self, shape: Sequence[int], weight: bool, bias: bool, device: Device | str | None, dtype: DType | None
    ) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            values = Parameter(ops.empty(shape, dtype=dtype, device=device)) if wanted else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)  # type: ignore[arg-type]


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions, then a scale and a shift for each place in them.

    Args:
        normalized_shape: the last dimensions.
        eps: added to the variance.
        elementwise_affine: whether there are a scale and a shift.
        bias: whether there is a shift, if there is a scale.
        device: where the parameters live.
        dtype: of the parameters.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The input, of shape (*, normalized_shape), normalized."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divided by the root of the mean square over the last dimensions, then a scale for each place in them.

    Args:
        normalized_shape: the last dimensions.
        eps: added to the mean square; the dtype's epsilon if left out.
        elementwise_affine: whether there is a scale.
        device: where the scale lives.
        dtype: of the scale.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        scale = Parameter(ops.empty(self.normalized_shape, dtype=dtype, device=device)) if elementwise_affine else None
        self.register_parameter("weight", scale)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The input, of shape (*, normalized_shape), normalized."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The shape and the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over groups of channels, then a scale and a shift for each channel.

    Args:
        num_groups: how many groups.
        num_channels: the size of dimension 1, a multiple of that.
        eps: added to the variance.
        affine: whether there are a scale and a shift.
        device: where the parameters live.
        dtype: of the parameters.
        bias: whether there is a shift, if there is a scale.

    Raises:
        ValueError: the channels cannot be divided into that many groups.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_affine([num_channels], affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The input, of shape (N, num_channels, *), normalized."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The numbers and the options."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


@options
class CosineSimilarity(FunctionModule):
    """The cosine of the angle between two inputs along `dim`; norms below `eps` count as `eps`."""

    function = staticmethod(F.cosine_similarity)
    dim: int = 1
    eps: float = 1e-8

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
