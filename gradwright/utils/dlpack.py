"""Exchange of memory with other libraries by DLPack."""

from __future__ import annotations

from runtime.methods.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
