"""`no_grad` and its kin: as context managers, as decorators, on generators, on threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

import gradwright
from gradwright.autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled


def test_contexts_nest() -> None:
    assert is_grad_enabled()
    with no_grad():
        assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
            with set_grad_enabled(False):
                assert not is_grad_enabled()
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_mode_comes_back_after_an_error() -> None:
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert is_grad_enabled()


def test_one_context_used_again_and_inside_itself() -> None:
    context = no_grad()
    with context:
        with context:
            assert not is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()
    with context.clone():
        assert not is_grad_enabled()


@pytest.mark.parametrize("decorator", [no_grad, no_grad(), inference_mode, inference_mode()])
def test_decorators(decorator: object) -> None:

    @decorator  # type: ignore[operator]
    def function(value: int) -> tuple[int, bool]:
        """Says what it was given."""
        return value, is_grad_enabled()

    assert function(3) == (3, False)
    assert function.__doc__ == "Says what it was given."
    assert is_grad_enabled()


def test_enable_grad_as_decorator() -> None:
    @enable_grad
    def function() -> bool:
        return is_grad_enabled()

    with no_grad():
        assert function()


def test_set_grad_enabled_works_at_once() -> None:
    set_grad_enabled(False)
    assert not is_grad_enabled()
    set_grad_enabled(True)
    assert is_grad_enabled()

    @set_grad_enabled(False)
    def function() -> bool:
        return is_grad_enabled()

    assert is_grad_enabled()
    assert not function()


def test_inference_mode_can_be_off() -> None:
    with no_grad(), inference_mode(False):
        assert is_grad_enabled()
    with inference_mode():
        assert not is_grad_enabled()


def test_generators() -> None:
    seen: list[bool] = []

    @no_grad()
    def numbers() -> Iterator[int]:
        seen.append(is_grad_enabled())
        got = yield 1
        seen.append(is_grad_enabled())
        try:
            yield got
        except ValueError:
            seen.append(is_grad_enabled())
            yield 3
        return 4

    generator = numbers()
    assert next(generator) == 1
    assert is_grad_enabled()
    assert generator.send(20) == 20
    assert generator.throw(ValueError()) == 3
    assert is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == 4
    assert seen == [False, False, False]
    assert is_grad_enabled()


def test_closing_a_generator() -> None:
    seen: list[bool] = []

    @no_grad()
    def numbers() -> Iterator[int]:
        try:
            yield 1
        finally:
            seen.append(is_grad_enabled())

    generator = numbers()
    next(generator)
    generator.close()
    assert seen == [False]


def test_mode_belongs_to_the_thread() -> None:
    seen: list[bool] = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_coroutines_keep_the_mode_to_themselves() -> None:
    seen: list[tuple[str, bool]] = []

    @no_grad()
    async def silent() -> int:
        seen.append(("silent", is_grad_enabled()))
        await asyncio.sleep(0)
        seen.append(("silent", is_grad_enabled()))
        return 3

    async def recording() -> None:
        for _ in range(3):
            seen.append(("recording", is_grad_enabled()))
            await asyncio.sleep(0)

    async def both() -> int:
        return (await asyncio.gather(silent(), recording()))[0]

    assert asyncio.run(both()) == 3
    assert set(seen) == {("silent", False), ("recording", True)}
    assert len(seen) == 5


def test_errors_reach_a_coroutine() -> None:
    @no_grad()
    async def waiting() -> bool:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return is_grad_enabled()
        return True

    async def cancelling() -> bool:
        task = asyncio.ensure_future(waiting())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(cancelling()) is False


def test_asynchronous_generators() -> None:
    closed: list[bool] = []

    @no_grad()
    async def numbers() -> AsyncIterator[bool]:
        try:
            yield is_grad_enabled()
            await asyncio.sleep(0)
            yield is_grad_enabled()
        finally:
            closed.append(is_grad_enabled())

    async def collect() -> list[bool]:
        found = []
        async for value in numbers():
            found.append(value)
            found.append(is_grad_enabled())
        return found

    assert asyncio.run(collect()) == [False, True, False, True]
    assert closed == [False]


def test_inference_mode_of_one_thread_leaves_others_alone() -> None:
    seen: list[bool] = []
    with inference_mode():
        thread = threading.Thread(target=lambda: seen.append(gradwright.ones(1).is_inference()))
        thread.start()
        thread.join()
        assert gradwright.ones(1).is_inference()
    assert seen == [False]
