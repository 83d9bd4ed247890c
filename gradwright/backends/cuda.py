"""Flags of products and attention, by PyTorch's names for CUDA devices: those of attention count for the CPU, too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace

from runtime.operators import attention_kernels
from runtime.operators.attention_kernels import SDPBackend

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = SimpleNamespace(size=0, max_size=0, clear=lambda: None)


def is_built() -> bool:
    """Whether there is code for CUDA: no."""
    return False


def is_flash_attention_available() -> bool:
    """Whether there is a kernel of attention for CUDA: no."""
    return False


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> AbstractContextManager[None]:
    """Allow kernels of attention in a `with` block; `nn.attention.sdpa_kernel` is what PyTorch has for it now."""
    chosen = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return attention_kernels.sdpa_kernel([backend for backend, wanted in chosen.items() if wanted])


def _switch(name: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        attention_kernels.enabled[name] = enabled

    def is_enabled() -> bool:
        return attention_kernels.enabled[name]

    enable.__doc__ = f"Allow the {name} kernel of attention."
    is_enabled.__doc__ = f"Whether the {name} kernel of attention is allowed."
    return enable, is_enabled


enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")
enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
