"""The devices beside main memory, `meta` and those of packages, and what the lower parts of the runtime ask of one.

Programs that use one are few, and the others pay nothing for it: `named` is empty until a device is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from runtime.base.array_proxies import NonHostArray
    from runtime.base.tensor import Tensor


class Backend(Protocol):
    """A device: its dispatch key, its name, and the way of values to it and back."""

    key: str
    device: str
    listed_in: str

    @property
    def tensor_type(self) -> type[Tensor]:
        """The class of its Tensors."""

    def index_of(self, array: Any) -> int | None:
        """The number of the device that an array lies on; None where there is one of a kind."""

    def check_index(self, index: int | None) -> None:
        """Raise unless Tensors can be made on the device with this number."""

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """The NumPy dtype for one of the backend's."""

    def tensor(self, array: Any) -> Tensor:
        """A new Tensor over an array of this device."""

    def from_host(self, array: np.ndarray[Any, Any]) -> NonHostArray:
        """An array in main memory, copied to the device."""

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """An array of the device, copied to main memory."""

    def overwrite(self, target: Any, source: np.ndarray[Any, Any]) -> None:
        """Give `target` the values of an array of the same shape, which may be of another dtype or device."""

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A new Tensor of zeros."""


# The devices that somebody has asked for: as long as there are none, no call has to look where it runs.
named: set[str] = set()

# By the name of the device.
backends: dict[str, Backend] = {}
# By the dispatch key.
by_key: dict[str, Backend] = {}
