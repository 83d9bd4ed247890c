"""The states of devices' generators, as checkpoints ask for them: every device draws from that of main memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from gradwright.accelerator import current_accelerator
from runtime.base.tensor import Tensor


class DefaultDeviceType:
    """The type of device that is meant where no Tensor says so."""

    _type: ClassVar[str | None] = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it, for the whole process."""
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        """What was set, else the type of the accelerator, else `cpu`."""
        if DefaultDeviceType._type is None:
            accelerator = current_accelerator(True)
            DefaultDeviceType._type = "cpu" if accelerator is None else accelerator.type
        return DefaultDeviceType._type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the Tensors among `args` that have generators of their own, and the states of these: none."""
    return [], []


def set_device_states(devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None) -> None:
    """Give the generators of devices states.

    Raises:
        AttributeError: one is named, and it has none.
    """
    kind = device_type if device_type is not None else DefaultDeviceType.get_device_type()
    if kind == "meta":
        return
    for device, _ in zip(devices, states, strict=False):
        raise AttributeError(f"device {device} of type '{kind}' has no generator: it draws from that of main memory")
