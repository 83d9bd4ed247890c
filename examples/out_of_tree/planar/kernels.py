"""Functions on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def hypot3(x: Array, y: Array, z: Array) -> Array:
    return np.hypot(np.hypot(x, y), z)


def to_polar(x: Array, y: Array) -> tuple[Array, Array]:
    return np.hypot(x, y), np.arctan2(y, x)
