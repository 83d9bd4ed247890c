"""What the generator itself makes of calls of operators, in formulas."""

from __future__ import annotations

import enum


class Meaning(enum.Enum):
    ZEROS = "zeros"  # zeros whatever the arguments hold: only their shapes and dtypes count
    CONJUGATE = "conjugate"  # the complex conjugate of its only Tensor, which is that Tensor where it is real
