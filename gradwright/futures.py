"""Futures: values that are not there yet, for one thread to set and others to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, Never, TypeVar

from runtime.base.types import Device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value, or an error, that is set once.

    Args:
        devices: of Tensors in the value: numbered ones, of which there are none.
    """

    _value: T
    _error: BaseException | None = None

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        for each in devices or ():
            if Device(each).index is None:
                raise ValueError(f"Expected devices to have indices, got {each}")
        self._changed = threading.Condition()
        self._done = False
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Whether there is a value or an error."""
        return self._done

    def wait(self) -> T:
        """The value, once it is there; an error is raised."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self._result()

    def value(self) -> T:
        """The value, which must be there; an error is raised.

        Raises:
            RuntimeError: it is not there yet.
        """
        if not self._done:
            raise RuntimeError("the Future is not done: wait for it")
        return self._result()

    def _result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Set the value, and call who waits for it.

        Raises:
            RuntimeError: it is done.
        """
        with self._changed:
            self._check_new()
            self._value = result
            callbacks = self._complete()
        for callback in callbacks:
            callback()

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` and `value` raise.

        Raises:
            AssertionError: it is no error.
            RuntimeError: it is done.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        with self._changed:
            self._check_new()
            self._error = result
            callbacks = self._complete()
        for callback in callbacks:
            callback()

    def _check_new(self) -> None:
        if self._done:
            raise RuntimeError("the Future is done, and can only be completed once")

    def _complete(self) -> list[Callable[[], None]]:
        self._done = True
        self._changed.notify_all()
        callbacks, self._callbacks = self._callbacks, []
        return callbacks

    def _when_done(self, callback: Callable[[], None]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A Future of what a function makes of this one, once it is done.

        Its error is a RuntimeError, if the function raises one.
        """
        _check_callable("then", callback)
        following: Future[S] = Future()

        def follow() -> None:
            try:
                made = callback(self)
            except Exception as error:
                problem = RuntimeError(
                    f"Got the following error when running the callback: {type(error).__name__}: {error}"
                )
                problem.__cause__ = error
                following.set_exception(problem)
            else:
                following.set_result(made)

        self._when_done(follow)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this Future once it is done; what it raises is logged."""
        _check_callable("add_done_callback", callback)

        def call() -> None:
            try:
                callback(self)
            except Exception:
                import logging  # few programs come by here, and it takes long to import

                logging.getLogger(__name__).exception("Got the following error when running the callback:")

        self._when_done(call)


def _check_callable(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{name}(): the callback must be callable, not {type(callback).__name__}")


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A Future of a list of Futures, which is done when all of them are; it has the first error among them.

    Raises:
        TypeError: they are not Futures.
    """
    if not isinstance(futures, Sequence) or not all(isinstance(each, Future) for each in futures):
        raise TypeError("collect_all(): a sequence of Futures is expected")
    everything, listed = Future[list[Future[Any]]](), list(futures)
    left, lock = len(listed), threading.Lock()

    def count() -> None:
        nonlocal left
        with lock:
            left -= 1
            if left:
                return
        finish()

    def finish() -> None:
        failed = next((each._error for each in listed if each._error is not None), None)
        if isinstance(failed, Exception):
            everything.set_exception(failed)
        else:
            everything.set_result(listed)

    for each in listed:
        each._when_done(count)
    if not listed:
        finish()
    return everything


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of all Futures, once they are there; the first error among them is raised."""
    return [each.wait() for each in collect_all(futures).wait()]


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """A Future of what a function gives. It runs at once, as a function in Python does in PyTorch."""
    future: Future[T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """The value of a Future, once it is there.

    Raises:
        TypeError: it is no Future.
    """
    if not isinstance(future, Future):
        _refuse(future)
    return future.wait()


def _refuse(value: Any) -> Never:
    raise TypeError(f"wait(): a Future is expected, not {type(value).__name__}")
