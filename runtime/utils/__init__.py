"""Tools around training: `utils.checkpoint` saves memory by computing parts twice, `utils.data` loads data,
`utils.dlpack` exchanges it with other libraries, `utils.benchmark` measures how long statements take.
"""

from __future__ import annotations

from runtime.utils import _pytree, benchmark, checkpoint, data, dlpack, hooks

__all__ = ["_pytree", "benchmark", "checkpoint", "data", "dlpack", "hooks"]
