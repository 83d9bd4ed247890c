"""Automatic differentiation with PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.autograd.backward import backward, grad
from runtime.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from runtime.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from runtime.later import later

if TYPE_CHECKING:
    from runtime.autograd import forward_ad, function, functional, graph, profiler, profiler_util
    from runtime.autograd.anomaly_mode import (
        detect_anomaly,
        is_anomaly_check_nan_enabled,
        is_anomaly_enabled,
        set_detect_anomaly,
    )
    from runtime.autograd.function import Function

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_MODULES = ("forward_ad", "function", "functional", "graph", "profiler", "profiler_util")
_ANOMALY_MODE = ("detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly")

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(
        __name__,
        {
            "Function": "runtime.autograd.function:Function",
            **{name: f"runtime.autograd.{name}" for name in _MODULES},
            **{name: f"runtime.autograd.anomaly_mode:{name}" for name in _ANOMALY_MODE},
        },
    )
