"""Automatic differentiation with PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwright.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from gradwright.autograd.function import Function
from gradwright.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from gradwright.autograd.variable import Variable, is_multithreading_enabled, set_multithreading_enabled
from runtime.base.lazy import load_lazily
from runtime.graph.backward import backward, grad
from runtime.graph.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

if TYPE_CHECKING:
    from gradwright.autograd import (
        anomaly_mode,
        forward_ad,
        function,
        functional,
        grad_mode,
        graph,
        profiler,
        profiler_util,
    )
else:
    _LAZY = "anomaly_mode forward_ad functional grad_mode graph profiler profiler_util"
    load_lazily(__name__, _LAZY.split())

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
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
