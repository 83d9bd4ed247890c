"""Resizing of images in `nn.functional`, and elements in other places."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

from runtime import ops
from runtime.base.tensor import Tensor

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "grid_sample",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

# By mode and number of dimensions; those that look at `align_corners` stand below.
_BLOCKS: dict[tuple[str, int], str] = {
    **{("nearest", dims): f"upsample_nearest{dims}d" for dims in (1, 2, 3)},
    **{("nearest-exact", dims): f"_upsample_nearest_exact{dims}d" for dims in (1, 2, 3)},
}
_SMOOTH: dict[tuple[str, int], str] = {
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("trilinear", 3): "upsample_trilinear3d",
    ("bicubic", 2): "upsample_bicubic2d",
}

_SMOOTHED = {
    ("bilinear", 2): "_upsample_bilinear2d_aa",
    ("bicubic", 2): "_upsample_bicubic2d_aa",
    ("lanczos", 2): "_upsample_lanczos2d_aa",
}


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images of shape (N, C, *) in another size, which is given, or found by a factor.

    With `antialias` a smaller image is made of all elements of the larger one; `lanczos` is a mode of that kind alone.

    Raises:
        ValueError: what is asked for contradicts itself.
        NotImplementedError: there is no such mode for so many dimensions.
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    dims = input.dim() - 2
    sizes, factors = _sizes(input, dims, size, scale_factor, recompute_scale_factor)
    if antialias:
        if (mode, dims) not in _SMOOTHED:
            raise ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and 4-D tensors, but "
                f"got mode {mode} and {input.dim()} dimensions"
            )
        if mode == "lanczos" and align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        smoothed: Callable[..., Tensor] = getattr(ops, _SMOOTHED[mode, dims])
        return smoothed(input, sizes, bool(align_corners), *factors)
    if mode == "lanczos":
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "area" and dims in (1, 2, 3):
        area: Callable[..., Tensor] = (ops.adaptive_avg_pool1d, ops.adaptive_avg_pool2d, ops.adaptive_avg_pool3d)[
            dims - 1
        ]
        return area(input, sizes)
    if (mode, dims) in _BLOCKS:
        blocks: Callable[..., Tensor] = getattr(ops, _BLOCKS[mode, dims])
        return blocks(input, sizes, *factors)
    if (mode, dims) in _SMOOTH:
        smooth: Callable[..., Tensor] = getattr(ops, _SMOOTH[mode, dims])
        return smooth(input, sizes, bool(align_corners), *factors)
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
        f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got "
        f"{mode})"
    )


def _sizes(
    input: Tensor,
    dims: int,
    size: int | Sequence[int] | None,
    scale_factor: float | Sequence[float] | None,
    recompute: bool | None,
) -> tuple[list[int], list[float | None]]:
    """The sizes of the result, and the factors by which positions are found; none where the sizes tell them."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        given = [size] * dims if isinstance(size, int) else list(size)
        if len(given) != dims:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and output size of {size}."
            )
        return given, [None] * dims
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = list(scale_factor) if isinstance(scale_factor, Sequence) else [scale_factor] * dims
    if len(factors) != dims:
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}."
        )
    sizes = [math.floor(float(length) * factor) for length, factor in zip(input.shape[2:], factors, strict=True)]
    return sizes, [None] * dims if recompute else list(factors)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """An older name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` to the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` between the four neighbours, with corners that stay."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    return ops.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    return ops.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    return ops.channel_shuffle(input, groups)


# -- images read at places that a grid gives


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images of shape (N, C, *) at the places of a grid of shape (N, *, dimensions), in coordinates from -1 to 1."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    if mode not in modes:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in paddings:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners("grid_sample")
    return ops.grid_sampler(input, grid, modes.index(mode), paddings.index(padding_mode), bool(align_corners))


def _warn_of_corners(name: str) -> None:
    warnings.warn(
        f"Default grid_sample and affine_grid behavior is align_corners=False. Please specify align_corners of {name}.",
        stacklevel=3,
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that affine maps of shape (N, dimensions, dimensions + 1) take those of images of `size` to."""
    if align_corners is None:
        _warn_of_corners("affine_grid")
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{list(size)}."
        )
    if theta.dim() != 3 or list(theta.shape[1:]) != [dims, dims + 1]:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got "
            f"{list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    return ops.affine_grid_generator(theta, list(size), bool(align_corners))
