"""Transforms of functions with the names of `torch.func`."""

from __future__ import annotations

from runtime.func.vectorize import vmap

__all__ = ["vmap"]
