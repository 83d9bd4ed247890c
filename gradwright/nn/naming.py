"""Names of values for messages."""

from __future__ import annotations

from runtime.base.tensor import Tensor


def typename(obj: object) -> str:
    """What `obj` is called in messages: `gradwright.FloatTensor`, `int`, `package.Class`; a class by its own name."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module, name = getattr(named, "__module__", None), named.__qualname__
    return name if module in (None, "", "builtins") else f"{module}.{name}"
