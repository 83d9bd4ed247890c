"""Hooks of Tensors and Nodes by their handles, and whether there ever were any."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from runtime.native import core

_next_hook_id: Callable[[], int] = itertools.count().__next__

Hooks: TypeAlias = "dict[int, Callable[..., Any]]"


class Watch:
    """What was ever used in this process, so that the engine does no work for unused features."""

    __slots__ = ("hooks",)

    def __init__(self) -> None:
        self.hooks = False  # a hook can tell when a leaf's gradient is complete


# The native engine looks at it once for each leaf.
watch: Watch = Watch() if core is None else core.Watch()


def _several(dicts: Any) -> tuple[dict[int, Any], ...]:
    if dicts is None:
        return ()
    return tuple(dicts) if isinstance(dicts, (list, tuple)) else (dicts,)


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again, also at the end of a `with` block."""

    __slots__ = ("_hooks", "_others", "id")

    def __init__(self, hooks_dict: Hooks, hook: Callable[..., Any] | None = None, *, extra_dict: Any = None) -> None:
        """A number for a hook.

        Args:
            hooks_dict: where hooks are kept by their numbers.
            hook: what is put there; None where the caller does that with `id`.
            extra_dict: one or several others that lose the number with it.
        """
        self._hooks = hooks_dict
        self._others = _several(extra_dict)
        self.id = _next_hook_id()
        if hook is not None:
            hooks_dict[self.id] = hook
            watch.hooks = True

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self._hooks.pop(self.id, None)
        for other in self._others:
            other.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()
