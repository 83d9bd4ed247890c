"""Dropout of `nn.functional`: elements or whole channels left out at random."""

from __future__ import annotations

import warnings

from runtime import ops
from runtime.base.tensor import Tensor

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]


def check_probability(p: float) -> None:
    """Refuse with a ValueError what is no probability."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    check_probability(p)
    return ops.dropout_(input, p, training) if inplace else ops.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    check_probability(p)
    return ops.alpha_dropout_(input, p, training) if inplace else ops.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    check_probability(p)
    return ops.feature_alpha_dropout_(input, p, training) if inplace else ops.feature_alpha_dropout(input, p, training)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    return ops.feature_dropout_(input, p, training) if inplace else ops.feature_dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) left out with probability `p`."""
    check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _of_samples(input, 3, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, H, W) left out with probability `p`; the second dimension is theirs in any case."""
    check_probability(p)
    if input.dim() not in (3, 4):
        _warn_of_dimensions("dropout2d", input.dim(), 2, "3D or 4D")
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input, and takes it as (N, C, L), a batch with 1 spatial dimension: dropout1d "
            "is for that.",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) left out with probability `p`."""
    check_probability(p)
    if input.dim() not in (4, 5):
        _warn_of_dimensions("dropout3d", input.dim(), 3, "4D or 5D")
    return _of_samples(input, 5, p, training, inplace)


def _of_samples(input: Tensor, batched: int, p: float, training: bool, inplace: bool) -> Tensor:
    if input.dim() == batched:
        return _feature_dropout(input, p, training, inplace)
    if inplace:
        return ops.squeeze_(ops.feature_dropout_(ops.unsqueeze_(input, 0), p, training), 0)
    return ops.squeeze(ops.feature_dropout(ops.unsqueeze(input, 0), p, training), 0)


def _warn_of_dimensions(name: str, ndim: int, spatial: int, wanted: str) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input. It is for inputs with {spatial} spatial dimensions, a channel dimension, "
        f"and an optional batch dimension (i.e. {wanted} inputs).",
        stacklevel=3,
    )
