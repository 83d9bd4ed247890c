"""Tensors of either library, and their elements as arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


class NotApplicable(Exception):
    """A sample is not about dense Tensors in main memory that NumPy has a dtype for."""


def is_tensor(value: Any) -> bool:
    """Whether it is a Tensor of either library."""
    return hasattr(value, "detach") and hasattr(value, "shape") and hasattr(value, "dtype")


def flatten(value: Any) -> list[Any]:
    """All that collections hold, in order."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value, key=repr)]
    if isinstance(value, list | tuple) and not is_tensor(value):
        return [item for each in value for item in flatten(each)]
    return [value]


def name_of(dtype: Any) -> str:
    """The name of a dtype of either library."""
    return str(dtype).rpartition(".")[2]


def array_of(x: Any) -> np.ndarray:
    """The elements of a Tensor of either library."""
    if isinstance(x, np.ndarray):
        return x
    if "strided" not in str(getattr(x, "layout", "strided")):
        raise NotApplicable("a sparse result")
    x = x.detach()
    for method in ("resolve_conj", "resolve_neg"):
        x = getattr(x, method)() if hasattr(x, method) else x
    if name_of(x.dtype) == "complex32":  # which NumPy has not
        return array_of(x.cfloat())
    if name_of(x.dtype) == "bfloat16":  # which neither library gives NumPy
        return array_of(x.float()).astype(ml_dtypes.bfloat16)
    try:
        return np.asarray(x.numpy())
    except RuntimeError:
        return np.asarray(x.numpy(force=True))  # PyTorch's zeros that stand for a gradient
