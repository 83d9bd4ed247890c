"""Functions of modules that are loaded on first use.

Generated code names more kernels than most programs call. It holds a `DeferredFunction` for each one whose module
waits; the first call loads the module, and whoever holds a function of it takes the function itself from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from runtime.base.lazy import is_waiting, when_loaded


class DeferredFunction:
    """Stands for a function of a module that waits.

    Attributes:
        module: the module.
        name: of the function in it.
    """

    __slots__ = ("module", "name")

    def __init__(self, module: ModuleType, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.load()(*args, **kwargs)

    def load(self) -> Callable[..., Any]:
        """The function itself, of the module, which is loaded."""
        function: Callable[..., Any] = getattr(self.module, self.name)
        return function

    def when_loaded(self, callback: Callable[[], None]) -> None:
        """Call a function once the module is loaded."""
        when_loaded(self.module, callback)


def deferred(module: ModuleType, name: str, when_ready: Callable[[], None] | None = None) -> Callable[..., Any]:
    """A function of a module; what stands for it, where the module waits.

    Args:
        module: the module.
        name: of the function.
        when_ready: what is called when a module that waits is loaded.
    """
    if is_waiting(module):
        if when_ready is not None:
            when_loaded(module, when_ready)
        return DeferredFunction(module, name)
    function: Callable[..., Any] = getattr(module, name)
    return function


def loaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that this stands for; of other functions, these."""
    return function.load() if isinstance(function, DeferredFunction) else function
