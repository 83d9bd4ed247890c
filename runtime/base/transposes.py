"""Transposes as properties of a Tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from generated._methods import TensorMethods
    from runtime.base.tensor import Tensor
else:

    class TensorMethods:
        """Holds the place of the generated methods, which type checkers see."""

        __slots__ = ()


class Transposes(TensorMethods):
    """Base of Tensor: T and its like, which are views made by operators."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]

    @property
    def T(self) -> Tensor:
        """The Tensor with its dimensions in reverse order."""
        return self.permute(tuple(range(self._array.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The Tensor with its last two dimensions exchanged."""
        if self._array.ndim < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self._array.ndim}-D tensor."
            )
        return self.transpose(-2, -1)

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self._array.ndim not in (0, 2):
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self._array.ndim}-D tensor."
            )
        return self.mH if self._array.ndim else self.conj()

    @property
    def mH(self) -> Tensor:
        """The conjugate of `mT`."""
        if self._array.ndim < 2:
            raise RuntimeError(
                f"tensor.mH is only supported on matrices or batches of matrices. Got {self._array.ndim}-D tensor."
            )
        return self.transpose(-2, -1).conj()
