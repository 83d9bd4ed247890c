"""The operators by name: `ops.add(x, y)` and `ops.add.Tensor(x, y)`, or by namespace as `ops.aten.add.Tensor(x, y)`.

The generated code fills in the names of its operators when it is loaded. Helpers and composite operators call operators
through this module, so they can be read and loaded before there are any. Any other name is a namespace, to which
`gradwright.library` can add operators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from generated.packets import *  # noqa: F403

    aten: Any

    def __getattr__(name: str) -> Any: ...  # a namespace

else:

    def _lookup(names: dict[str, Any], error: type[AttributeError]) -> Any:
        """The module's `__getattr__`. All it uses are local names: an operator may be called `globals`."""

        def __getattr__(name: str) -> Any:
            if name.startswith("__") and name.endswith("__"):
                raise error(f"module 'runtime.ops' has no attribute '{name}'")
            from runtime.call.overloads import namespace

            # Kept as an attribute, which can be deleted, too; the next look makes it again.
            made = names[name] = namespace(name)
            return made

        return __getattr__

    __getattr__ = _lookup(globals(), AttributeError)
