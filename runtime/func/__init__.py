"""Transforms of functions with the names of `torch.func`."""

from __future__ import annotations

from runtime.func.reverse import grad, grad_and_value, jacrev, vjp
from runtime.func.vectorize import vmap

__all__ = ["grad", "grad_and_value", "jacrev", "vjp", "vmap"]
