"""Padding by zeros, or by the elements of the padded dimensions themselves."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def pad(self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Made larger at the ends of its dimensions: `pad` holds two numbers for each, the last dimension first."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > self.dim():
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {self.dim()}"
        )
    if mode == "constant":
        return ops.constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) // 2 not in (self.dim() - 1, self.dim() - 2) or len(pad) > 6:
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: the batch, or batch and "
            f"channels, are not padded; got {len(pad)} numbers for an input of dimension {self.dim()}"
        )
    out = self
    for number in range(len(pad) // 2):
        dim = self.dim() - 1 - number
        before, after = pad[2 * number], pad[2 * number + 1]
        if before or after:
            out = out.index_select(dim, _padded_places(self, mode, before, after, dim))
    return self.clone() if out is self else out


def _padded_places(self: Tensor, mode: str, before: int, after: int, dim: int) -> Tensor:
    """Where the elements of a padded dimension come from."""
    size = self.shape[dim]
    if size + before + after < (0 if mode == "circular" else 1):
        raise RuntimeError(
            f"padding ({before}, {after}) of dimension {dim} of size {size} leaves a size of {size + before + after}"
        )
    places = ops.arange(-before, size + after, device=self.device)
    if mode == "replicate":
        return places.clamp(0, size - 1)
    limit = size if mode == "circular" else size - 1
    if max(before, after) > limit:
        raise RuntimeError(
            f"Padding size should be at most {limit} for mode '{mode}', but got: padding ({before}, {after}) at "
            f"dimension {dim} of size {size}"
        )
    if mode == "circular":  # what negative numbers cut off is not repeated at the other end
        first, end = max(-before, 0), size - max(-after, 0)
        return (places - first).remainder(max(end - first, 1)) + first
    return (size - 1) - ((size - 1) - places.abs()).abs()
