"""Automatic differentiation with PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from runtime.autograd.variable import Variable, is_multithreading_enabled, set_multithreading_enabled
from runtime.base.lazy import load_lazily

if TYPE_CHECKING:
    from runtime.autograd import forward_ad, function, functional, graph, profiler, profiler_util
else:
    load_lazily(__name__, ("forward_ad", "functional", "graph", "profiler", "profiler_util"))

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
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
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
