"""What programs tell a compiler: there is none, so functions come back as they are, and nothing is ever compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwright.settings import compile

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]


def is_compiling() -> bool:
    """Whether a function is being compiled: no."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(
    fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None
) -> Callable[..., Any]:
    """Keep a function from being compiled: it is given back as it is; also a decorator with arguments."""
    return _as_it_is if fn is None else fn


def _as_it_is(fn: Any) -> Any:
    return fn


def allow_in_graph(fn: Any) -> Any:
    """Let a function be in what is compiled: it is given back as it is."""
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let the results of a function be constants of what is compiled: it is given back as it is."""
    return fn


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The compilers that there are: none."""
    return []


def reset() -> None:
    """Forget what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins, to recordings that there are not."""


class set_stance:
    """How much is to be compiled, from now on or in a `with` block: nothing is."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        self.stance = stance

    def __call__(self, function: Any) -> Any:
        return function

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass
