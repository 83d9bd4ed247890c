"""Kernels: functions on arrays, named as `dispatch` in native_functions.yaml names them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def squareplus(self: Array, b: float) -> Array:
    return (self + np.sqrt(self * self + b)) / 2
