"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from gradwright.nn.convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from gradwright.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay out the weights of all convolutions over two dimensions in `memory_format`."""
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay out the weights of all convolutions over three dimensions in `memory_format`."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: Module, memory_format: Any, kinds: tuple[type[Any], ...]) -> Module:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone().contiguous(memory_format=memory_format)
    return module
