"""Marks on operators."""

from __future__ import annotations

import enum
from collections.abc import Sequence


class Tag(enum.Enum):
    """What an operator's author promises beyond its schema.

    `inplace` and `out` decide how `infer_schema` reads the results of a function that writes its arguments; the others
    are kept, and have no effect here.
    """

    core = enum.auto()
    cudagraph_unsafe = enum.auto()
    data_dependent_output = enum.auto()
    dynamic_output_shape = enum.auto()
    flexible_layout = enum.auto()
    generated = enum.auto()
    inplace = enum.auto()
    inplace_view = enum.auto()
    maybe_aliasing_or_mutating = enum.auto()
    needs_contiguous_strides = enum.auto()
    needs_exact_strides = enum.auto()
    needs_fixed_stride_order = enum.auto()
    nondeterministic_bitwise = enum.auto()
    nondeterministic_seeded = enum.auto()
    out = enum.auto()
    out_variant = enum.auto()
    pointwise = enum.auto()
    pt2_compliant_tag = enum.auto()
    reduction = enum.auto()
    view_copy = enum.auto()

    def __repr__(self) -> str:
        return f"<Tag.{self.name}: {self.value}>"


def as_tags(tags: Tag | Sequence[Tag] | None) -> tuple[Tag, ...]:
    """One tag, several or None, as a tuple."""
    return () if tags is None else (tags,) if isinstance(tags, Tag) else tuple(tags)
