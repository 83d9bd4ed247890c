"""Automatic differentiation with PyTorch's names."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from runtime.autograd import forward_ad, function, functional, graph
from runtime.autograd.anomaly_mode import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from runtime.autograd.backward import backward, grad
from runtime.autograd.function import Function
from runtime.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from runtime.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

if TYPE_CHECKING:
    from runtime.autograd import profiler, profiler_util

# Modules that are loaded when somebody asks for them.
_LATER = ("profiler", "profiler_util")

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


def __getattr__(name: str) -> ModuleType:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
