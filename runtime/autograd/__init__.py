"""Automatic differentiation with PyTorch's names."""

from __future__ import annotations

from runtime.autograd import forward_ad, functional
from runtime.autograd.backward import backward, grad
from runtime.autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from runtime.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "GradcheckError",
    "backward",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
