"""The loader of batches: in this process, or in workers."""

from __future__ import annotations

import contextlib
import itertools
import math
import multiprocessing
import multiprocessing.context
import os
import queue
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from gradwright.utils.data.collate import default_collate, default_convert
from gradwright.utils.data.dataset import Dataset, IterableDataset
from gradwright.utils.data.fetch import Recipe
from gradwright.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, random_seed
from gradwright.utils.data.worker import CHECK_EVERY, Ended, Failure, Task, WorkerInfo, get_worker_info, work
from runtime.random import Generator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class DataLoader(Generic[T_co]):
    """Batches of a data set.

    Args:
        dataset: a data set by index, or a stream.
        batch_size: how many samples a batch has; None for samples instead of batches.
        shuffle: whether samples come by chance, anew in every iteration.
        sampler: gives the indices instead.
        batch_sampler: gives lists of indices instead.
        num_workers: how many processes make batches; 0 for this one.
        collate_fn: makes a batch of a list of samples; `default_collate` without it.
        pin_memory: accepted; there is no memory to pin.
        drop_last: leave a last batch out that is smaller.
        timeout: how many seconds to wait for a worker; 0 for ever.
        worker_init_fn: is called in each worker with its number.
        multiprocessing_context: how workers are started: a name as "spawn", or a context of `multiprocessing`.
        generator: the source of random numbers, of `shuffle` and of the seeds of workers.
        prefetch_factor: how many batches each worker makes ahead; None for 2.
        persistent_workers: keep the workers after an iteration.
        pin_memory_device: see `pin_memory`.
        in_order: whether batches of workers come in the order of their indices.

    Raises:
        ValueError: options do not go together, or are out of their range.
        TypeError: `multiprocessing_context` is none.
    """

    _is_complete = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        is_stream = isinstance(dataset, IterableDataset)
        if is_stream:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if is_stream:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self._expected: int | None = None  # what `len` said of a stream
        self._iterator: _ByWorkers | None = None
        self._is_complete = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started; None for the way of the platform."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            known = multiprocessing.get_all_start_methods()
            if context not in known:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                    f"multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        elif context is not None and not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start "
                f"method, but got multiprocessing_context={context}"
            )
        self._context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_complete and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return _Here(self)
        if not self.persistent_workers:
            self.check_worker_number_rationality()
            return _ByWorkers(self)
        if self._iterator is None:
            self._iterator = _ByWorkers(self)
        else:
            self._iterator.begin(self)
        return self._iterator

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        self._expected = length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            part = length / self.batch_size
            length = math.floor(part) if self.drop_last else math.ceil(part)
        return length

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _recipe(self) -> Recipe:
        return Recipe(self.dataset, self.batch_sampler is not None, self.collate_fn, self.drop_last)

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors."""
        here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (here is None or self.num_workers > here):
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total, but there are {here} "
                "processors: more workers than that may make it slow",
                stacklevel=3,
            )


def _check_workers(number: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if number < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if number == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and number == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


class _Endless(Sampler[None]):
    """The indices of a stream, which say nothing."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class _Batches:
    """An iteration over a loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=3,
            )
        self._dataset = loader.dataset
        self._index_sampler = loader._index_sampler
        self._seed = random_seed(loader.generator)
        self.begin(loader)

    def begin(self, loader: DataLoader[Any]) -> None:
        """Start a new round."""
        self._indices = iter(loader._index_sampler)
        self._expected = loader._expected
        self._given = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        batch = self._next()
        self._given += 1
        if isinstance(self._dataset, IterableDataset) and self._expected is not None and self._given > self._expected:
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {self._expected}(when accessing "
                f"len(dataloader)), but {self._given} samples have been fetched.",
                stacklevel=2,
            )
        return batch

    def _next(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _Here(_Batches):
    """In this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("a timeout is for workers: it must be 0 where num_workers is 0")
        self._fetch = loader._recipe().start()

    def _next(self) -> Any:
        return self._fetch(next(self._indices))


class _ByWorkers(_Batches):
    """By processes, each of which has a queue of tasks; results come through one queue.

    A task goes to the next worker in turn, so that with an order the batches do not depend on which worker is fast.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._processes: list[Any] = []
        self._owner = os.getpid()
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._is_persistent = loader.persistent_workers
        self._number = loader.num_workers
        self._ahead = max(1, loader.prefetch_factor or 0) * self._number
        context = loader.multiprocessing_context or multiprocessing
        self._results = context.Queue()
        self._is_over = context.Event()
        self._tasks = [context.Queue() for _ in range(self._number)]
        self._round = -1
        super().__init__(loader)

    def begin(self, loader: DataLoader[Any]) -> None:
        """Start a new round; the results of the one before are no longer wanted."""
        super().begin(loader)
        if not self._processes:
            self._start(loader)
        self._round += 1
        self._sent = 0
        self._working = [True] * self._number
        self._turns = itertools.cycle(range(self._number))
        self._pending: dict[int, int] = {}  # for each batch that is not given yet its worker
        self._arrived: dict[int, Any] = {}
        for _ in range(self._ahead):
            self._send()

    def _start(self, loader: DataLoader[Any]) -> None:
        context = loader.multiprocessing_context or multiprocessing
        for number, tasks in enumerate(self._tasks):
            info = WorkerInfo(number, self._number, self._seed + number, loader.dataset)
            arguments = (loader._recipe(), tasks, self._results, self._is_over, info, loader.worker_init_fn)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            self._processes.append(process)

    def _send(self) -> None:
        """Give the next task to a worker, if there is one."""
        worker = next((turn for turn in itertools.islice(self._turns, self._number) if self._working[turn]), None)
        if worker is None:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        self._tasks[worker].put(Task(self._round, self._sent, index))
        self._pending[self._sent] = worker
        self._sent += 1

    def _next(self) -> Any:
        while True:
            first = next(iter(self._pending), None)
            if first is None:
                if not self._is_persistent:
                    self.close()
                raise StopIteration
            if first in self._arrived:
                return self._give(first, self._arrived.pop(first))
            if not self._working[self._pending[first]]:
                del self._pending[first]  # its worker has come to the end before
                continue
            number, found = self._receive()
            if isinstance(found, Ended):
                self._working[self._pending.pop(number)] = False
                self._send()
            elif self._in_order and number != first:
                self._arrived[number] = found
            else:
                return self._give(number, found)

    def _give(self, number: int, found: Any) -> Any:
        del self._pending[number]
        self._send()
        if isinstance(found, Failure):
            raise found.error()
        return found

    def _receive(self) -> tuple[int, Any]:
        """The next result of this round.

        Raises:
            RuntimeError: a worker has died, or none was in time.
        """
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else math.inf
        while True:
            try:
                wait = max(0.0, min(CHECK_EVERY, deadline - time.monotonic()))
                found_in, number, found = self._results.get(timeout=wait)
            except queue.Empty:
                dead = [process for process in self._processes if not process.is_alive()]
                if dead:
                    self.close()
                    ids = ", ".join(str(process.pid) for process in dead)
                    raise RuntimeError(f"DataLoader worker (pid(s) {ids}) exited unexpectedly") from None
                if time.monotonic() >= deadline:
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
                continue
            if found_in == self._round:
                return number, found

    def close(self) -> None:
        """End the workers."""
        if not self._processes or self._owner != os.getpid():
            return  # a process that was forked has a copy of this, but not the workers
        processes, self._processes = self._processes, []
        self._pending = {}
        self._is_over.set()
        for tasks in self._tasks:
            tasks.put(None)
        for process in processes:
            process.join(CHECK_EVERY)
            if process.is_alive():
                process.terminate()
                process.join()
        for one in (*self._tasks, self._results):
            one.cancel_join_thread()
            one.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
