"""Dropout: in training, elements or channels left out at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from gradwright.nn import functional as F
from gradwright.nn.functional_dropout import check_probability
from gradwright.nn.module import Module
from runtime.base.tensor import Tensor


class _DropoutNd(Module):
    """Calls `function` on its input, in training.

    Args:
        p: the probability with which something is left out.
        inplace: whether the input is written.

    Raises:
        ValueError: `p` is no probability.
    """

    function: ClassVar[Callable[..., Tensor]]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, parts of which are left out while `training`."""
        return self.function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Both options, always."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeros in the place of a part `p` of the elements, chosen at random; the others divided by 1 - p."""

    function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """As Dropout, of whole channels of (N, C, L) or (C, L)."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """As Dropout, of whole channels of (N, C, H, W) or (N, C, L)."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """As Dropout, of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Elements at the limit of SELU with probability `p`; all are scaled, so that mean and variance stay."""

    function = staticmethod(F.alpha_dropout)

    def forward(self, input: Tensor) -> Tensor:
        """The input, parts of which are left out while `training`; never in place, as in PyTorch."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """As AlphaDropout, of whole channels."""

    function = staticmethod(F.feature_alpha_dropout)

    def forward(self, input: Tensor) -> Tensor:
        """The input, channels of which are left out while `training`; never in place, as in PyTorch."""
        return F.feature_alpha_dropout(input, self.p, self.training)
