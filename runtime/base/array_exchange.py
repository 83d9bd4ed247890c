"""The data of a Tensor for NumPy and other array libraries."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from runtime.base.dtypes import from_numpy
from runtime.base.modes import grad_mode


class ArrayExchange:
    """Base of Tensor: the data as an array over the same memory."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]
    _edge: Any
    _opaque: ClassVar[bool]

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The data as an array over the same memory; `force` also takes it from a Tensor that requires a gradient."""
        if self._opaque:
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if self._edge is not None and grad_mode.enabled and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._array.dtype.kind == "V":
            raise TypeError(f"Got unsupported ScalarType {from_numpy(self._array.dtype).scalar_name}")
        # Another array object, so that assigning to its shape does not change this Tensor.
        view: np.ndarray[Any, Any] = self._array.view()
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
