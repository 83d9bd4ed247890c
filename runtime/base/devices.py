"""The devices that packages bring, and what the lower parts of the runtime ask of one.

Those that have one are few, and the others pay nothing for it: `backends` is empty as long as no package brought any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from runtime.base.stand_in import StandIn
    from runtime.base.tensor import Tensor


class Backend(Protocol):
    """A device: its dispatch key, its name, and the way of values to it and back."""

    key: str
    device: str
    listed_in: str

    @property
    def tensor_type(self) -> type[Tensor]:
        """The class of its Tensors."""

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """The NumPy dtype for one of the backend's."""

    def tensor(self, array: StandIn) -> Tensor:
        """A new Tensor over an array of this device."""

    def from_host(self, array: np.ndarray[Any, Any]) -> StandIn:
        """An array in main memory, copied to the device."""

    def to_host(self, array: StandIn) -> np.ndarray[Any, Any]:
        """An array of the device, copied to main memory."""

    def overwrite(self, target: StandIn, source: np.ndarray[Any, Any]) -> None:
        """Give `target` the values of an array of the same shape, which may be of another dtype or device."""

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A new Tensor of zeros."""


# By the name of the device.
backends: dict[str, Backend] = {}
# By the dispatch key.
by_key: dict[str, Backend] = {}
