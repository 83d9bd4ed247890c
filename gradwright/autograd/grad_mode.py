"""PyTorch's names for what turns recording on and off: `torch.autograd.grad_mode`."""

from __future__ import annotations

from runtime.graph.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
