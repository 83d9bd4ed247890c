"""PyTorch's names for operators that are written in Python: `torch.autograd.function`."""

from __future__ import annotations

from runtime.graph.function import Function, FunctionCtx, FunctionNode, InplaceFunction, once_differentiable

__all__ = ["Function", "FunctionCtx", "FunctionNode", "InplaceFunction", "once_differentiable"]
