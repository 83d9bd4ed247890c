"""Automatic differentiation with PyTorch's names."""

from __future__ import annotations

from runtime.autograd import forward_ad, function, graph
from runtime.autograd.backward import backward, grad
from runtime.autograd.function import Function
from runtime.autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from runtime.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "enable_grad",
    "forward_ad",
    "function",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
