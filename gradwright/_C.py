"""What programs look for in PyTorch's core of C++, and has a home of its own here."""

from __future__ import annotations

from runtime import ops
from runtime.base.class_dispatch import DisableTorchDispatch as _DisableTorchDispatch
from runtime.base.dtypes import dtype
from runtime.base.overriding import DisableTorchFunction, DisableTorchFunctionSubclass
from runtime.base.overriding import disabled as _disabled_torch_function_impl
from runtime.base.types import Size, device, layout, memory_format
from runtime.random import Generator

# Modules of the core that have operators, which are all in one place here.
_fft = _linalg = _nn = _special = ops

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "Size",
    "_DisableTorchDispatch",
    "_disabled_torch_function_impl",
    "_fft",
    "_linalg",
    "_nn",
    "_special",
    "device",
    "dtype",
    "layout",
    "memory_format",
]
