"""What programs look for in PyTorch's core of C++, and has a home of its own here."""

from __future__ import annotations

from runtime import ops as _nn
from runtime.base.dtypes import dtype
from runtime.base.overriding import DisableTorchFunction, DisableTorchFunctionSubclass
from runtime.base.overriding import disabled as _disabled_torch_function_impl
from runtime.base.types import Size, device, layout, memory_format
from runtime.random import Generator

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "Size",
    "_disabled_torch_function_impl",
    "_nn",
    "device",
    "dtype",
    "layout",
    "memory_format",
]
