"""The operators by name, `ops.add(x, y)` and `ops.add.Tensor(x, y)`: filled by the generated code when it is loaded.

Helpers and composite operators call operators through this module, so they can be read and loaded before there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generated.packets import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        raise AttributeError(f"there is no operator '{name}'; operators are declared in native_functions.yaml")
