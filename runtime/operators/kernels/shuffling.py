"""Elements of images in other places: channels become pixels and back, and groups of channels mix."""

from __future__ import annotations

import math

from runtime.base.arrays import Array


def _check(self: Array, name: str, factor: int) -> None:
    if self.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)"
        )
    if factor < 1:
        raise RuntimeError(f"{name} expects a positive factor, but got {factor}")


def pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    """(*, C r^2, H, W) becomes (*, C, H r, W r): each group of channels a square of pixels."""
    _check(self, "pixel_shuffle", upscale_factor)
    outer, (channels, height, width), r = self.shape[:-3], self.shape[-3:], upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    parts = self.reshape(math.prod(outer), channels // (r * r), r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
    return parts.copy().reshape(*outer, channels // (r * r), height * r, width * r)


def pixel_unshuffle(self: Array, downscale_factor: int) -> Array:
    """The way back: (*, C, H r, W r) becomes (*, C r^2, H, W)."""
    _check(self, "pixel_unshuffle", downscale_factor)
    outer, (channels, height, width), r = self.shape[:-3], self.shape[-3:], downscale_factor
    if height % r or width % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but input.size(-2)="
            f"{height} and input.size(-1)={width} are not by {r}"
        )
    parts = self.reshape(math.prod(outer), channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.copy().reshape(*outer, channels * r * r, height // r, width // r)


def channel_shuffle(self: Array, groups: int) -> Array:
    """The first channel of each group, then the second of each, and so on."""
    if self.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups < 1:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *inner = self.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    parts = self.reshape(batch, groups, channels // groups, math.prod(inner)).swapaxes(1, 2)
    return parts.copy().reshape(self.shape)
