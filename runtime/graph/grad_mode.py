"""Whether operators record a graph: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, also of generator functions, coroutine functions and asynchronous generator
functions: there the mode holds while their own code runs, and never in the code between. The setting belongs to the
thread.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, TypeVar

from runtime.base import modes
from runtime.base.errors import flag
from runtime.base.modes import grad_mode

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether this thread records operators at the moment (in inference mode: was asked to, in vain)."""
    return grad_mode.asked if grad_mode.inference else grad_mode.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return grad_mode.inference


def _ask(enabled: bool) -> None:
    if grad_mode.inference:
        grad_mode.asked = enabled
    else:
        grad_mode.enabled = enabled


class _ModeContext:
    """Sets a mode for a `with` block, or for each call of a decorated function."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        # A context may be entered again while it is open (a decorated recursive function makes its own each time).
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before.append(is_grad_enabled())
        _ask(self.mode)

    def __exit__(self, *exc_info: object) -> None:
        _ask(self._before.pop())

    def clone(self) -> _ModeContext:
        """A context with the same setting."""
        return type(self)(self.mode)

    def __call__(self, function: F) -> F:
        decorated: F = _decorated(function, self.clone)
        return decorated


def _decorated(function: Any, context: Callable[[], _ModeContext]) -> Any:
    """`function` with the mode on while its code runs; of a class, its `__init__`."""
    if inspect.isclass(function):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate the "
            "`__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        setattr(function, "__init__", _decorated(function.__init__, context))  # noqa: B010 (mypy refuses the plain one)
        return function
    if inspect.isgeneratorfunction(function):
        return _decorated_generator(function, context)
    if inspect.iscoroutinefunction(function):
        return _decorated_coroutine(function, context)
    if inspect.isasyncgenfunction(function):
        return _decorated_async_generator(function, context)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return call


def _stepped(steps: Any, context: Callable[[], _ModeContext]) -> Generator[Any, Any, Any]:
    """Runs a generator or coroutine one step at a time, each with the mode on."""
    resume: Callable[[], Any] = functools.partial(steps.send, None)
    try:
        while True:
            with context():
                value = resume()
            try:
                sent = yield value
            except GeneratorExit:
                with context():
                    steps.close()
                raise
            except BaseException as error:
                resume = functools.partial(steps.throw, error)
            else:
                resume = functools.partial(steps.send, sent)
    except StopIteration as stop:
        return stop.value


def _decorated_generator(function: Any, context: Callable[[], _ModeContext]) -> Any:
    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        return (yield from _stepped(function(*args, **kwargs), context))

    return generate


class _Awaited:
    """An awaitable that runs with the mode on, but not while it waits."""

    def __init__(self, awaitable: Awaitable[Any], context: Callable[[], _ModeContext]) -> None:
        self.awaitable = awaitable
        self.context = context

    def __await__(self) -> Generator[Any, Any, Any]:
        async def run() -> Any:
            return await self.awaitable

        return _stepped(run(), self.context)


def _decorated_coroutine(function: Any, context: Callable[[], _ModeContext]) -> Any:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await _Awaited(function(*args, **kwargs), context)

    return call


def _decorated_async_generator(function: Any, context: Callable[[], _ModeContext]) -> Any:
    @functools.wraps(function)
    async def generate(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        step = generator.__anext__()
        try:
            while True:
                value = await _Awaited(step, context)
                try:
                    sent = yield value
                except GeneratorExit:
                    await _Awaited(generator.aclose(), context)
                    raise
                except BaseException as error:
                    step = generator.athrow(error)
                else:
                    step = generator.asend(sent)
        except StopAsyncIteration:
            return

    return generate


class no_grad(_ModeContext):
    """Record nothing: as a context manager, or as a decorator with or without brackets."""

    def __new__(cls, function: Any = None) -> Any:
        return _decorated(function, no_grad) if callable(function) else super().__new__(cls)

    def __init__(self, function: None = None) -> None:
        super().__init__(False)

    def clone(self) -> no_grad:
        """Another one."""
        return no_grad()


class enable_grad(_ModeContext):
    """Record again inside of `no_grad`: as a context manager, or as a decorator with or without brackets."""

    def __new__(cls, function: Any = None) -> Any:
        return _decorated(function, enable_grad) if callable(function) else super().__new__(cls)

    def __init__(self, function: None = None) -> None:
        super().__init__(True)

    def clone(self) -> enable_grad:
        """Another one."""
        return enable_grad()


class set_grad_enabled(_ModeContext):
    """Switch recording on or off: at once when called, and back at the end of a `with` block; or as a decorator.

    Raises:
        TypeError: `mode` is no bool.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(flag("set_grad_enabled", "enabled", mode))
        self._at_call = is_grad_enabled()
        _ask(self.mode)

    def __enter__(self) -> None:
        self._before.append(self._at_call)
        _ask(self.mode)

    def __call__(self, function: F) -> F:
        _ask(self._at_call)  # only the decorated function is meant
        decorated: F = _decorated(function, functools.partial(_ModeContext, self.mode))
        return decorated


class inference_mode(_ModeContext):
    """Record nothing and keep no account of writes: results are inference tensors.

    Those must not be saved for a backward nor be written outside of the mode, which raises; `clone()` gives an ordinary
    Tensor. `enable_grad` inside records nothing. `inference_mode(False)` is the ordinary mode, also inside.
    """

    def __new__(cls, mode: Any = True) -> Any:
        return _decorated(mode, inference_mode) if callable(mode) else super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(bool(mode))

    def __enter__(self) -> None:
        self._before.append((grad_mode.enabled, grad_mode.inference, grad_mode.asked))
        # Fresh results must be told apart, which the fast path of operators does not do.
        if self.mode:
            modes.enter_unusual()
        grad_mode.enabled, grad_mode.inference, grad_mode.asked = not self.mode, self.mode, False

    def __exit__(self, *exc_info: object) -> None:
        grad_mode.enabled, grad_mode.inference, grad_mode.asked = self._before.pop()
        if self.mode:
            modes.leave_unusual()
