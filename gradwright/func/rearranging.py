"""`rearrange`: dimensions that are permuted, joined and taken apart, as a pattern of their names says."""

from __future__ import annotations

import keyword
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runtime import ops
from runtime.base.tensor import Tensor

# A name, "..." for dimensions that are not named, or "1" for one of size 1.
Axis: TypeAlias = str
Group: TypeAlias = tuple[Axis, ...]
_REST, _ONE = "...", "1"
_TOKEN = re.compile(r"\s*(\.\.\.|[()]|[^\s().]+|\.)")


class DimensionBindError(Exception):
    """The size of a dimension is not that of what stands for it in a pattern."""


@dataclass(frozen=True)
class _Side:
    """One side of a pattern.

    Attributes:
        groups: for each dimension what it is made of; "..." stands alone, or is a part of a dimension.
        joined: for each of them whether it stands in parentheses.
    """

    groups: tuple[Group, ...]
    joined: tuple[bool, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All that stands there, from left to right."""
        return tuple(axis for group in self.groups for axis in group)

    @property
    def names(self) -> frozenset[Axis]:
        """The names of dimensions, "..." among them."""
        return frozenset(self.axes) - {_ONE}


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A Tensor whose dimensions are permuted, joined and taken apart; a view, where there can be one.

    `rearrange(x, "b (h w) c -> b c h w", h=2)`: names stand for dimensions, parentheses for several that are one, "..."
    for those without a name, and 1 or () for one of size 1.

    Args:
        tensor: the Tensor, or several to be stacked along a first dimension.
        pattern: its dimensions, and after "->" those of the result.
        axes_lengths: sizes of named dimensions, as far as they do not follow.

    Raises:
        DimensionBindError: a size is another than what is given, or does not follow.
        TypeError: a size is no int.
        ValueError: the pattern cannot be read, its sides have different names, or another number of dimensions.
    """
    if not isinstance(tensor, Tensor):
        tensor = ops.stack(tensor, 0)
    for length in axes_lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    left, right = _sides(pattern)
    _check_sides(left, right, axes_lengths, pattern)
    shape = tensor.shape
    rest = len(shape) - len(left.groups) + 1 if (_REST,) in left.groups else 0
    if rest < 0 or (not rest and (_REST,) not in left.groups and len(shape) != len(left.groups)):
        raise ValueError(
            f"Number of dimensions in pattern ({len(left.groups)}) must be equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    sizes = _sizes(left, shape, rest, axes_lengths)
    # Taken apart, each name is a dimension of its own and those of size 1 that have none are gone.
    whole = [axis for axis in left.axes if axis != _ONE]
    apart = tensor.reshape([size for axis in whole for size in sizes[axis]])
    places, start = {}, 0
    for axis in whole:
        places[axis] = range(start, start + len(sizes[axis]))
        start += len(sizes[axis])
    order = [place for axis in right.axes if axis != _ONE for place in places[axis]]
    return apart.permute(order).reshape(list(_shape(right, sizes)))


def _shape(side: _Side, sizes: Mapping[Axis, tuple[int, ...]]) -> Iterator[int]:
    for group, joined in zip(side.groups, side.joined, strict=True):
        parts = [size for axis in group for size in ((1,) if axis == _ONE else sizes[axis])]
        yield from (math.prod(parts),) if joined else parts


def _sizes(left: _Side, shape: Sequence[int], rest: int, given: Mapping[str, int]) -> dict[Axis, tuple[int, ...]]:
    """The sizes that each name stands for: one, but for "..."."""
    found: dict[Axis, tuple[int, ...]] = {}
    dims = iter(shape)
    for group in left.groups:
        if group == (_REST,):
            found[_REST] = tuple(next(dims) for _ in range(rest))
            continue
        size = next(dims)
        known = {axis: int(given[axis]) for axis in group if axis in given}
        unknown = [axis for axis in group if axis not in known and axis != _ONE]
        if len(unknown) > 1:
            raise DimensionBindError(f"cannot infer the sizes of two dimensions at once: {', '.join(unknown)}")
        product = math.prod(known.values())
        if unknown:
            if (product == 0) or size % product:
                raise DimensionBindError(f"a dimension of size {size} is not made of parts of sizes {known}")
            known[unknown[0]] = size // product
        elif size != product:
            raise DimensionBindError(f"a dimension has size {size}, and stands for {product}: ({' '.join(group)})")
        found.update({axis: (count,) for axis, count in known.items()})
    return found


def _sides(pattern: str) -> tuple[_Side, _Side]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    return _side(parts[0]), _side(parts[1])


def _side(text: str) -> _Side:
    groups: list[Group] = []
    joined: list[bool] = []
    inside: list[Axis] | None = None
    seen = set()
    for token in _TOKEN.findall(text):
        if token == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError(f"Imbalanced parentheses in expression: {text!r}")
            groups.append(tuple(inside))
            joined.append(True)
            inside = None
        else:
            _check_axis(token)
            if token in seen and token != _ONE:
                raise ValueError(f"Indexing expression contains duplicate dimension {token!r}")
            seen.add(token)
            if inside is not None:
                inside.append(token)
            else:
                groups.append((token,))
                joined.append(False)
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: {text!r}")
    return _Side(tuple(groups), tuple(joined))


def _check_axis(token: str) -> None:
    if token in (_REST, _ONE):
        return
    if token == ".":
        raise ValueError("Expression may contain dots only inside ellipsis (...)")
    if token.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if not token.isidentifier():
        raise ValueError(f"Invalid axis identifier: {token}")
    if token.startswith("_") or token.endswith("_"):
        raise ValueError(f"Invalid axis identifier: {token}: it starts or ends with an underscore")
    if keyword.iskeyword(token):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {token}", RuntimeWarning, stacklevel=5)


def _check_sides(left: _Side, right: _Side, given: Mapping[str, int], pattern: str) -> None:
    if any(joined and _REST in group for group, joined in zip(left.groups, left.joined, strict=True)):
        raise ValueError(f"Ellipsis in parentheses on the left side is not allowed: {pattern}")
    if _REST in right.axes and _REST not in left.axes:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.names != right.names:
        names = ", ".join(sorted(left.names ^ right.names))
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {names}")
    if unknown := sorted(set(given) - left.names):
        raise ValueError(f"Identifiers not found in rearrange expression: {', '.join(unknown)}")
