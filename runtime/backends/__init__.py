"""Tensors on devices that packages bring: see `docs/backend.md`."""
