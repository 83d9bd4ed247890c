"""Windows that move over the last dimensions of arrays, and what is spread back over where they were."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from runtime.operators.array_api._common import Array, Namespace, Number, index_along

Sizes = Sequence[int]


def surrounded(xp: Namespace, self: Array, before: Sizes, after: Sizes, value: Number = 0) -> Array:
    """The array with so many elements of one value around its last dimensions; a negative number cuts off."""
    first = self.ndim - len(before)
    for dim, (low, high) in enumerate(zip(before, after, strict=True), first):
        size = self.shape[dim]
        if low < 0 or high < 0:
            self = self[index_along(self.ndim, dim, slice(max(-low, 0), size - max(-high, 0), 1))]
        parts = [self]
        for count, place in ((low, 0), (high, 2)):
            if count > 0:
                shape = (*self.shape[:dim], count, *self.shape[dim + 1 :])
                parts.insert(place, xp.full(shape, value, dtype=self.dtype))
        self = xp.concat(parts, axis=dim) if len(parts) > 1 else self
    return self


def windows(xp: Namespace, self: Array, kernel: Sizes, stride: Sizes, dilation: Sizes, count: Sizes) -> Array:
    """(*outer, *kernel, *count): at each place of a window, what lies there in all the windows."""
    dims = len(kernel)
    outer = self.ndim - dims
    for number, (width, far, wide, places) in enumerate(zip(kernel, stride, dilation, count, strict=True)):
        axis = outer + 2 * number  # each dimension before became two
        starts = xp.reshape(xp.arange(places, dtype=xp.int64) * far, (1, places))
        within = xp.reshape(xp.arange(width, dtype=xp.int64) * wide, (width, 1))
        taken = xp.take(self, xp.reshape(within + starts, (width * places,)), axis=axis)
        self = xp.reshape(taken, (*self.shape[:axis], width, places, *self.shape[axis + 1 :]))
    pairs = range(outer, outer + 2 * dims)
    return xp.permute_dims(self, (*range(outer), *pairs[::2], *pairs[1::2]))


def stretched(xp: Namespace, self: Array, steps: Sizes) -> Array:
    """The array with `step - 1` zeros between neighbours, for each of its last dimensions."""
    for dim, step in enumerate(steps, self.ndim - len(steps)):
        size = self.shape[dim]
        if step == 1 or size < 2:
            continue
        zeros = xp.zeros((*self.shape[: dim + 1], step - 1, *self.shape[dim + 1 :]), dtype=self.dtype)
        apart = xp.concat([xp.expand_dims(self, axis=dim + 1), zeros], axis=dim + 1)
        whole = xp.reshape(apart, (*self.shape[:dim], size * step, *self.shape[dim + 1 :]))
        self = whole[index_along(self.ndim, dim, slice(0, (size - 1) * step + 1, 1))]
    return self


def laid_over(
    xp: Namespace, parts: Iterator[Array], kernel: Sizes, stride: Sizes, dilation: Sizes, padding: Sizes, sizes: Sizes
) -> Array:
    """The adjoint of `windows`: what lies at each place of a window, (*outer, *count), added up where windows were."""
    total = None
    for place, part in zip(itertools.product(*map(range, kernel)), parts, strict=False):
        apart = stretched(xp, part, stride)
        before = [at * wide - pad for at, wide, pad in zip(place, dilation, padding, strict=True)]
        after = [
            size - low - length
            for size, low, length in zip(sizes, before, apart.shape[part.ndim - len(sizes) :], strict=True)
        ]
        here = surrounded(xp, apart, before, after)
        total = here if total is None else total + here
    return total


def flat_places(xp: Namespace, rows: Sequence[Array], sizes: Sizes) -> Array:
    """Places along each dimension as places in an image of these sizes, counted through."""
    total = 0
    for dim, row in enumerate(rows):
        total = total + row * math.prod(sizes[dim + 1 :])
    return total
