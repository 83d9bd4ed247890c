"""Padding by zeros, or by the elements of the padded dimensions themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime import ops
from runtime.base.array_proxies import tensor_over
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
    places = np.arange(-before, size + after)
    if mode == "replicate":
        return _on(self, places.clip(0, size - 1))
    limit = size if mode == "circular" else size - 1
    if max(before, after) > limit:
        raise RuntimeError(
            f"Padding size should be at most {limit} for mode '{mode}', but got: padding ({before}, {after}) at "
            f"dimension {dim} of size {size}"
        )
    if mode == "circular":  # what negative numbers cut off is not repeated at the other end
        first, end = max(-before, 0), size - max(-after, 0)
        return _on(self, np.remainder(places - first, max(end - first, 1)) + first)
    return _on(self, (size - 1) - np.abs((size - 1) - np.abs(places)))


def _on(like: Tensor, places: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor of places on the device of another one."""
    out = tensor_over(places)
    return out if like.device == out.device else out.to(like.device)


# One operator for each mode and number of padded dimensions, as PyTorch has them.


def reflection_pad(self: Tensor, padding: Sequence[int]) -> Tensor:
    _check_sizes(self, padding)
    return ops.pad(self, padding, "reflect")


def replication_pad(self: Tensor, padding: Sequence[int]) -> Tensor:
    _check_sizes(self, padding)
    return ops.pad(self, padding, "replicate")


def reflection_pad_backward(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
    return _unpadded(grad_output, self, padding, "reflect")


def replication_pad_backward(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
    return _unpadded(grad_output, self, padding, "replicate")


def _check_sizes(self: Tensor, padding: Sequence[int]) -> None:
    """There are channels, with or without a batch before them, and elements in each."""
    count = len(padding) // 2
    batched = self.dim() == count + 2
    if not (batched or self.dim() == count + 1) or 0 in self.shape[1 if batched else 0 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(self.shape)}"
        )


def _unpadded(grad_output: Tensor, self: Tensor, padding: Sequence[int], mode: str) -> Tensor:
    """The adjoint of padding: each gradient is added to the element that it was a copy of."""
    if self.dim() <= len(padding) // 2:
        raise RuntimeError(f"Expected {len(padding) // 2 + 1} dimensions or more for input, but got: {self.dim()}")
    wanted = list(self.shape)
    for number in range(len(padding) // 2):
        wanted[-1 - number] += padding[2 * number] + padding[2 * number + 1]
    if list(grad_output.shape) != wanted:
        raise RuntimeError(f"grad_output has sizes {list(grad_output.shape)}, expected {wanted}")
    out = grad_output
    for number in range(len(padding) // 2):
        dim = self.dim() - 1 - number
        places = _padded_places(self, mode, padding[2 * number], padding[2 * number + 1], dim)
        sizes = [*out.shape[:dim], self.shape[dim], *out.shape[dim + 1 :]]
        out = out.new_zeros(sizes).index_add(dim, places, out)
    return out


def _pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor:
    return ops.pad(self, pad, "circular")


def _pad_enum(self: Tensor, pad: Sequence[int], mode: int, value: float | None = None) -> Tensor:
    """`pad` with a number for the mode: 0 reflect, 1 replicate, 2 circular, 3 constant."""
    if not 0 <= mode < len(_MODES):
        raise RuntimeError(f"Unrecognised padding mode {mode}")
    return ops.pad(self, pad, _MODES[mode], value)


_MODES = ("reflect", "replicate", "circular", "constant")
