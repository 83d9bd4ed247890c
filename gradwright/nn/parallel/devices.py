"""Modules on many devices, of which there are none: they run where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.nn.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """A Module that divides batches among devices; as there are none, it calls the Module that it is made of.

    Args:
        module: the Module.
        device_ids: accepted; there are no such devices.
        output_device: accepted as well.
        dim: the dimension that would be divided.
    """

    def __init__(
        self, module: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the Module gives."""
        return self.module(*inputs, **kwargs)
