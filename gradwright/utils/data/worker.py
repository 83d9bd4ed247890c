"""Processes that make batches: what runs in them, and what they send."""

from __future__ import annotations

import os
import queue
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradwright.utils.data.fetch import Recipe
from runtime.native.threads import set_num_threads
from runtime.random import manual_seed

# How often, in seconds, a process looks whether those that it waits for are still there.
CHECK_EVERY = 5.0


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: of its random numbers.
        dataset: its copy of the data set.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What the worker of a DataLoader that calls this knows of itself; None in other processes."""
    return _info


@dataclass(frozen=True)
class Ended:
    """The stream of a worker has come to its end."""


class _Text(str):
    """A message that a KeyError shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Failure:
    """An error in a worker.

    Attributes:
        kind: its class.
        text: the traceback.
        where: which worker it was.
    """

    kind: type[BaseException]
    text: str
    where: str

    @staticmethod
    def of(error: BaseException, worker: int) -> Failure:
        """That of an error which is being handled."""
        return Failure(
            type(error), "".join(traceback.format_exception(error)), f"in DataLoader worker process {worker}"
        )

    def error(self) -> BaseException:
        """An error of that class, or a RuntimeError where one can not be made of a message."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        try:
            return self.kind(_Text(text) if issubclass(self.kind, KeyError) else text)
        except Exception:
            return RuntimeError(text)


@dataclass(frozen=True)
class Task:
    """A batch that is to be made.

    Attributes:
        round: which iteration over the loader it belongs to.
        number: of the batch, from 0.
        index: of which samples.
    """

    round: int
    number: int
    index: Any


def work(
    recipe: Recipe, tasks: Any, results: Any, is_over: Any, info: WorkerInfo, init: Callable[[int], None] | None
) -> None:
    """Make batches until None comes, or the process that wants them is gone.

    Args:
        recipe: how they are made.
        tasks: a queue of what comes: a Task, or None.
        results: the queue for pairs of a task's round and number, with a batch, a Failure or Ended.
        is_over: an event: nobody wants results any more.
        info: what `get_worker_info` says here.
        init: is called with the number of the worker first.
    """
    global _info
    _info = info
    set_num_threads(1)
    random.seed(info.seed)
    manual_seed(info.seed)
    base = info.seed - info.id
    np.random.seed(np.random.SeedSequence((info.id, base & 0xFFFFFFFF, base >> 32)).generate_state(4))
    parent = os.getppid()
    fetch: Callable[[Any], Any] | None = None
    current, has_ended = -1, False
    try:
        while True:
            try:
                task = tasks.get(timeout=CHECK_EVERY)
            except queue.Empty:
                if os.getppid() != parent:
                    return
                continue
            if task is None:
                return
            if is_over.is_set():
                continue
            if task.round != current:
                fetch, current, has_ended = None, task.round, False
            if has_ended:
                continue
            try:
                if fetch is None:
                    if init is not None:
                        function, init = init, None
                        function(info.id)
                    fetch = recipe.start()
                found = fetch(task.index)
            except StopIteration as error:
                has_ended = recipe.is_stream
                found = Ended() if has_ended else Failure.of(error, info.id)
            except Exception as error:
                found = Failure.of(error, info.id)
            results.put((task.round, task.number, found))
            del found, task
    except KeyboardInterrupt:
        pass  # the process that wants the results says so
    finally:
        if is_over.is_set():
            results.cancel_join_thread()
            results.close()
