"""Flags of products and attention on CUDA devices: programs may set them, and nothing looks at them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = SimpleNamespace(size=0, max_size=0, clear=lambda: None)
_enabled = {"cudnn": True, "flash": True, "math": True, "mem_efficient": True}


def is_built() -> bool:
    """Whether there is code for CUDA: no."""
    return False


def is_flash_attention_available() -> bool:
    """Whether there is a kernel of attention for CUDA: no."""
    return False


def sdp_kernel(*args: Any, **kwargs: Any) -> AbstractContextManager[None]:
    """Choose kernels of attention in a `with` block; there is one."""
    return nullcontext()


def _switch(name: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        _enabled[name] = enabled

    def is_enabled() -> bool:
        return _enabled[name]

    enable.__doc__ = f"Allow the {name} kernel of attention on CUDA devices."
    is_enabled.__doc__ = f"Whether the {name} kernel of attention was allowed."
    return enable, is_enabled


enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")
enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
