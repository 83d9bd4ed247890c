"""Helpers under the names and with the parameters that PyTorch's formulas call them by; see `docs/upstream.md`."""
