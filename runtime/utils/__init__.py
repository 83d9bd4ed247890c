"""Tools around training: `utils.checkpoint` saves memory by computing parts of a model twice."""

from __future__ import annotations

from runtime.utils import checkpoint

__all__ = ["checkpoint"]
