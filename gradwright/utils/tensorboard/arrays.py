"""What is written, as arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from runtime.base.dtypes import bfloat16, float16
from runtime.base.tensor import Tensor

Array = npt.NDArray[Any]


def as_array(x: Any) -> Array:
    """A Tensor, an array or a number as an array; of bfloat16, which NumPy does not have, one of float16.

    Raises:
        NotImplementedError: it is nothing of that.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        plain = x.detach().cpu()
        found: Array = (plain.to(float16) if plain.dtype is bfloat16 else plain).numpy()
        return found
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
