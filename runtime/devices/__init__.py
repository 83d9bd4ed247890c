"""Tensors whose values lie on a device that a package brings, or nowhere (`meta`); docs/backend.md is for users."""
