"""`functionalize`, for programs that ask for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_KINDS = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the results, the gradients and the effects on its arguments that `func` has.

    PyTorch's calls operators that write nothing in the place of those that do, which a trace of it shows. Here the
    function runs as it is: writes are recorded, so gradients do not ask for more.

    Args:
        func: the function.
        remove: "mutations", or "mutations_and_views".

    Raises:
        RuntimeError: `remove` is something else.
    """
    if remove not in _KINDS:
        raise RuntimeError(f"functionalize(): remove must be one of {', '.join(map(repr, _KINDS))}, not {remove!r}")

    @functools.wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functional
