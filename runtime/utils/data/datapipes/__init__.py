"""Data pipes: streams and sequences made of others by methods, `pipe.map(f).shuffle().batch(4)`."""

from __future__ import annotations

from runtime.utils.data.datapipes import iter, map

__all__ = ["iter", "map"]
