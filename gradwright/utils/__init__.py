"""Tools around training: `utils.checkpoint` saves memory by computing parts twice, `utils.data` loads data
and `utils.dlpack` exchanges it with other libraries.
"""

from __future__ import annotations

from gradwright.utils import _pytree, checkpoint, data, dlpack, hooks

__all__ = ["_pytree", "checkpoint", "data", "dlpack", "hooks"]
