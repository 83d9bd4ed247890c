"""Mixed precision on CUDA devices: without one, blocks and scalers that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwright import amp
from runtime.base.dtypes import dtype as DType
from runtime.base.dtypes import float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler("cuda")`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """`amp.custom_fwd` for CUDA devices."""
    return amp.custom_fwd(fwd, device_type="cuda", **kwargs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """`amp.custom_bwd` for CUDA devices."""
    return amp.custom_bwd(bwd, device_type="cuda")
