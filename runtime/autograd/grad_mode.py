"""Whether operators record a graph: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, also of generator functions; the setting belongs to the thread.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from runtime.modes import grad_mode

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether this thread records operators at the moment."""
    return grad_mode.enabled


class _GradModeContext:
    """Sets grad mode for a `with` block, or for each call of a decorated function."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        # A context may be entered again while it is open (a decorated recursive function makes its own each time).
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(grad_mode.enabled)
        grad_mode.enabled = self.mode

    def __exit__(self, *exc_info: object) -> None:
        grad_mode.enabled = self._before.pop()

    def clone(self) -> _GradModeContext:
        """A context with the same setting."""
        return _GradModeContext(self.mode)

    def __call__(self, function: F) -> F:
        decorated: F = _decorated(function, self.mode)
        return decorated


def _decorated(function: Any, mode: bool) -> Any:
    if inspect.isclass(function):
        raise TypeError("a class cannot be decorated with a grad mode; decorate its methods")
    if inspect.isgeneratorfunction(function):
        return _decorated_generator(function, mode)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = grad_mode.enabled
        grad_mode.enabled = mode
        try:
            return function(*args, **kwargs)
        finally:
            grad_mode.enabled = before

    return call


def _decorated_generator(function: Any, mode: bool) -> Any:
    """The mode holds inside the generator and never in the code between its values."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        with _GradModeContext(mode):
            generator = function(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(next, generator)
        try:
            while True:
                with _GradModeContext(mode):
                    value = resume()
                try:
                    sent = yield value
                except GeneratorExit:
                    with _GradModeContext(mode):
                        generator.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)
                else:
                    resume = functools.partial(generator.send, sent)
        except StopIteration as stop:
            return stop.value

    return generate


class no_grad(_GradModeContext):
    """Record nothing: as a context manager, or as a decorator with or without brackets."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else _decorated(function, False)

    def __init__(self, function: None = None) -> None:
        super().__init__(False)


class enable_grad(_GradModeContext):
    """Record again inside of `no_grad`: as a context manager, or as a decorator with or without brackets."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else _decorated(function, True)

    def __init__(self, function: None = None) -> None:
        super().__init__(True)


class set_grad_enabled(_GradModeContext):
    """Switch recording on or off: at once when called, and back at the end of a `with` block; or as a decorator."""

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self._at_call = grad_mode.enabled
        grad_mode.enabled = self.mode

    def __enter__(self) -> None:
        self._before.append(self._at_call)
        grad_mode.enabled = self.mode

    def __call__(self, function: F) -> F:
        grad_mode.enabled = self._at_call  # only the decorated function is meant
        return super().__call__(function)


class inference_mode(_GradModeContext):
    """Record nothing, as `no_grad` does; `inference_mode(False)` records.

    Tensors made inside are ordinary ones and may be used in recorded code later.
    """

    def __new__(cls, mode: Any = True) -> Any:
        return _decorated(mode, False) if callable(mode) else super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)
