"""Hooks: what registering one returns, hooks that are not saved, and gradients at the borders of a Module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gradwright.nn.hooks import Passage
from runtime.base.handles import RemovableHandle
from runtime.base.tensor import Tensor

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook, so that saving a Tensor that has it does not warn."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook of a Tensor that is not saved with it and not marked."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


class BackwardHook:
    """Hooks on the gradients of one call: `setup_input_hook` before it and `setup_output_hook` behind it."""

    def __init__(
        self, module: Any, user_hooks: Sequence[Callable[..., Any]], user_pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self._passage = Passage(module, dict(enumerate(user_hooks)), dict(enumerate(user_pre_hooks)))

    def setup_input_hook(self, args: Any) -> Any:
        """The arguments of the call, with the place where gradients leave it."""
        given = args if isinstance(args, tuple) else (args,)
        entered = self._passage.enter(given)
        return entered if isinstance(args, tuple) else entered[0]

    def setup_output_hook(self, args: Any) -> Any:
        """The results of the call, with the place where gradients come into it."""
        return self._passage.leave(args)
