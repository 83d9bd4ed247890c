"""Activation functions of neural networks."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number, element


def hardtanh(self: Array, min_val: Number = -1, max_val: Number = 1) -> Array:
    """The element, but at least `min_val` and at most `max_val`."""
    if self.dtype.kind in "iu":
        if self.dtype.kind == "u" and (min_val.real < 0 or max_val.real < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        return np.asarray(np.minimum(np.maximum(self, element(min_val, self.dtype)), element(max_val, self.dtype)))
    return np.minimum(np.maximum(self, min_val), max_val)
