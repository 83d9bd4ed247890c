"""Tools around training: `utils.checkpoint` saves memory by computing parts twice, `utils.data` loads data."""

from __future__ import annotations

from runtime.utils import _pytree, checkpoint, data, hooks

__all__ = ["_pytree", "checkpoint", "data", "hooks"]
