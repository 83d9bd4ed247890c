"""Tensors from one device to another, differentiably."""

from __future__ import annotations

from codegen.dispatch_keys import CPU
from runtime.base import devices
from runtime.base.array_proxies import NonHostArray, tensor_over
from runtime.base.keys import key_of_device
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.graph.linear import edge_of
from runtime.graph.node import Node


def key_of(tensor: Tensor) -> str:
    """The dispatch key of the device that a Tensor lies on."""
    array = tensor._array
    return key_of_device(array.backend.device) if isinstance(array, NonHostArray) else CPU


def name_of(key: str) -> str:
    """The name of the device with this dispatch key."""
    return devices.by_key[key].device if key in devices.by_key else "cpu"


def moved(tensor: Tensor, key: str) -> Tensor:
    """The Tensor on the device with this dispatch key; itself where it lies there.

    Raises:
        NotImplementedError: it is more than one Tensor: a batch; or it is sparse.
    """
    source = key_of(tensor)
    if source == key:
        return tensor
    if tensor._batched:
        raise NotImplementedError(f"a Tensor inside of vmap can not go from {name_of(source)} to {name_of(key)}")
    array = tensor._array
    if source == CPU and isinstance(array, NonHostArray):
        raise NotImplementedError(f"a sparse Tensor can not go to {name_of(key)}")
    host = array.backend.to_host(array) if isinstance(array, NonHostArray) else array
    out = tensor_over(host if key == CPU else devices.by_key[key].from_host(host))
    if tensor._edge is not None and grad_mode.enabled:
        out._edge = ToCopyBackward0(tensor, source, out)
    return out


class ToCopyBackward0(Node):
    """The way back of a Tensor that went to another device: the gradient goes where the Tensor came from."""

    __slots__ = ("_key",)
    operator = "_to_copy"

    def __init__(self, source: Tensor, key: str, out: Tensor) -> None:
        super().__init__((edge_of(source),), out._array.shape, out._array.dtype)
        self._key = key

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient on the device of the Tensor."""
        return (moved(grad, self._key),)
