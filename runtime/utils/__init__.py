"""Tools around training: `utils.checkpoint` saves memory by computing parts twice, `utils.data` loads data,
`utils.dlpack` exchanges it with other libraries.
"""

from __future__ import annotations

from runtime.utils import checkpoint, data, dlpack

__all__ = ["checkpoint", "data", "dlpack"]
