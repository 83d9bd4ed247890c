"""Neural networks: `nn.functional`, the operators that networks are made of under PyTorch's names and signatures."""

from __future__ import annotations

from runtime.nn import functional

__all__ = ["functional"]
