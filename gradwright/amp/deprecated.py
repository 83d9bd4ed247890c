"""Questions and settings of casting that name the kind of device in their own name, as PyTorch has deprecated them."""

from __future__ import annotations

import warnings

from gradwright.amp.casting import enable
from gradwright.amp.state import get_autocast_dtype, is_autocast_enabled, set_autocast_dtype
from runtime.base.dtypes import dtype as DType

__all__ = [
    "get_autocast_cpu_dtype",
    "get_autocast_gpu_dtype",
    "get_autocast_ipu_dtype",
    "get_autocast_xla_dtype",
    "is_autocast_cpu_enabled",
    "is_autocast_ipu_enabled",
    "is_autocast_xla_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_gpu_dtype",
    "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled",
    "set_autocast_xla_dtype",
    "set_autocast_xla_enabled",
]


def _warn(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def _choose(device_type: str, dtype: DType) -> None:
    if not isinstance(dtype, DType):
        raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
    set_autocast_dtype(device_type, dtype)


def _switch(device_type: str, enabled: bool) -> None:
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    enable(device_type, enabled)


def get_autocast_cpu_dtype() -> DType:
    """`get_autocast_dtype("cpu")`."""
    _warn("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType, /) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
    _choose("cpu", dtype)
    _warn("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`."""
    _warn("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool, /) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
    _switch("cpu", enabled)
    _warn("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")


def get_autocast_gpu_dtype() -> DType:
    """`get_autocast_dtype("cuda")`."""
    _warn("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType, /) -> None:
    """`set_autocast_dtype("cuda", dtype)`."""
    _choose("cuda", dtype)
    _warn("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")


def get_autocast_ipu_dtype() -> DType:
    """`get_autocast_dtype("ipu")`."""
    _warn("get_autocast_ipu_dtype()", "get_autocast_dtype('ipu')")
    return get_autocast_dtype("ipu")


def set_autocast_ipu_dtype(dtype: DType, /) -> None:
    """`set_autocast_dtype("ipu", dtype)`."""
    _choose("ipu", dtype)
    _warn("set_autocast_ipu_dtype(dtype)", "set_autocast_dtype('ipu', dtype)")


def is_autocast_ipu_enabled() -> bool:
    """`is_autocast_enabled("ipu")`."""
    _warn("is_autocast_ipu_enabled()", "is_autocast_enabled('ipu')")
    return is_autocast_enabled("ipu")


def set_autocast_ipu_enabled(enabled: bool, /) -> None:
    """`set_autocast_enabled("ipu", enabled)`."""
    _switch("ipu", enabled)
    _warn("set_autocast_ipu_enabled(enabled)", "set_autocast_enabled('ipu', enabled)")


def get_autocast_xla_dtype() -> DType:
    """`get_autocast_dtype("xla")`."""
    _warn("get_autocast_xla_dtype()", "get_autocast_dtype('xla')")
    return get_autocast_dtype("xla")


def set_autocast_xla_dtype(dtype: DType, /) -> None:
    """`set_autocast_dtype("xla", dtype)`."""
    _choose("xla", dtype)
    _warn("set_autocast_xla_dtype(dtype)", "set_autocast_dtype('xla', dtype)")


def is_autocast_xla_enabled() -> bool:
    """`is_autocast_enabled("xla")`."""
    _warn("is_autocast_xla_enabled()", "is_autocast_enabled('xla')")
    return is_autocast_enabled("xla")


def set_autocast_xla_enabled(enabled: bool, /) -> None:
    """`set_autocast_enabled("xla", enabled)`."""
    _switch("xla", enabled)
    _warn("set_autocast_xla_enabled(enabled)", "set_autocast_enabled('xla', enabled)")
