"""Upsampling by sizes or by factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor

Sizes = Sequence[int] | None
Scales = Sequence[float] | None


def _resized(name: str, input: Tensor, output_size: Sizes, align_corners: list[bool], scale_factors: Scales) -> Tensor:
    """The operator, with the sizes that are given or follow from the factors."""
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError(f"{name}(): Must specify exactly one of output_size and scale_factors")
    lengths = input.shape[2:]
    if scale_factors is None:
        given = output_size or ()
        factors: list[float | None] = [None] * len(lengths)
    else:
        given = [math.floor(int(length) * factor) for length, factor in zip(lengths, scale_factors, strict=True)]
        factors = list(scale_factors)
    result: Tensor = getattr(ops, name)(input, given, *align_corners, *factors)
    return result


def _upsample_bilinear2d_aa_vec(
    input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Scales
) -> Tensor:
    return _resized("_upsample_bilinear2d_aa", input, output_size, [align_corners], scale_factors)


def _upsample_bicubic2d_aa_vec(input: Tensor, output_size: Sizes, align_corners: bool, scale_factors: Scales) -> Tensor:
    return _resized("_upsample_bicubic2d_aa", input, output_size, [align_corners], scale_factors)
