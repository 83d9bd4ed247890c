"""Whose memory an array is a part of."""

from __future__ import annotations

from typing import Any

import numpy as np


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The outermost array over the memory that `array` lies in: itself, if it is a view of none."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # NumPy's as_strided puts an object of its own between
        if not isinstance(base, np.ndarray):
            return array
        array = base
