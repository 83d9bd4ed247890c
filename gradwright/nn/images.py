"""Resizing of images, and elements in other places, as Modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.nn import functional as F
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule, options
from runtime.base.tensor import Tensor


class Upsample(Module):
    """Images in another size, which is given, or found by a factor.

    Args:
        size: of the result.
        scale_factor: by which it is larger, in the place of that.
        mode: `nearest`, `nearest-exact`, `linear`, `bilinear`, `bicubic`, `trilinear` or `area`.
        align_corners: whether the corners of the input stay in the corners.
        recompute_scale_factor: whether positions follow from the sizes, where a factor was given.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        factor: Any = scale_factor
        if isinstance(scale_factor, Sequence):
            factor = tuple(float(each) for each in scale_factor)
        elif scale_factor:
            factor = float(scale_factor)
        self.scale_factor = factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The images, of shape (N, C, *)."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        """The size or the factor, and the mode."""
        how = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images in another size, by their nearest elements."""

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images in another size, between their elements, with corners that stay."""

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


@options
class PixelShuffle(FunctionModule):
    """Groups of channels become squares of pixels."""

    function = staticmethod(F.pixel_shuffle)
    upscale_factor: int


@options
class PixelUnshuffle(FunctionModule):
    """Squares of pixels become groups of channels."""

    function = staticmethod(F.pixel_unshuffle)
    downscale_factor: int


@options
class ChannelShuffle(FunctionModule):
    """The first channel of each group, then the second of each, and so on."""

    function = staticmethod(F.channel_shuffle)
    groups: int
