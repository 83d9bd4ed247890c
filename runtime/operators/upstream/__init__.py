"""Helpers under the names and with the parameters that PyTorch's formulas call them by; see `docs/upstream.md`.

A gradient may keep the shape that it was broadcast to: it is summed and cast at the edge.
"""
