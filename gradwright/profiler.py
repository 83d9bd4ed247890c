"""Profiles of programs that run in steps, with the names of `torch.profiler`, over `gradwright.autograd.profiler`."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from types import TracebackType
from typing import Any

from gradwright.autograd import profiler as _profiler
from gradwright.autograd.profiler.event_list import EventList
from gradwright.autograd.profiler.events import DeviceType
from gradwright.autograd.profiler.session import ExperimentalConfig as _ExperimentalConfig
from gradwright.autograd.profiler.session import record_function

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What can be profiled; here only the CPU is there."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A plan in cycles for `profile`.

    Args:
        wait: steps at the beginning of a cycle in which nothing is done.
        warmup: steps after these in which nothing is kept.
        active: steps at the end of a cycle that are recorded.
        repeat: how many cycles; 0: without end.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle has no `wait`.

    Returns:
        A function from the number of a step to what is done in it.

    Raises:
        AssertionError: a number is negative, or `active` is 0.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        cycle, place = divmod(step, length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A function for `on_trace_ready` that writes each trace into a folder, as TensorBoard's plugin wants them.

    Args:
        dir_name: the folder; it is made if it is not there.
        worker_name: begins the names of the files; by default host and process.
        use_gzip: compress the files.

    Raises:
        RuntimeError: when called: the folder can not be made.
    """

    def write(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


def _record_always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:
    """A block in which operators, Nodes and named blocks of this thread are recorded, in all steps or in some.

        with gradwright.profiler.profile(schedule=gradwright.profiler.schedule(wait=1, warmup=1, active=3)) as prof:
            for batch in batches:
                train(batch)
                prof.step()

    With a schedule, the events hold a block `ProfilerStep*` for each step. Each cycle begins anew.

    Args:
        activities: what to profile; the CPU must be among it.
        schedule: from the number of a step to what is done in it; None: all is recorded.
        on_trace_ready: called with the profile at the end of each cycle.
        record_shapes: keep shapes and values of arguments.
        profile_memory: follow the memory of the arrays that operators return.
        with_stack: keep the Python stack of each event.
        with_flops: count floating point operations of matrix products, sums and products.
        with_modules: nothing: there are no scripted modules.
        experimental_config: see `_ExperimentalConfig`.
        acc_events: `events` and `key_averages` are of all cycles so far.
        use_cuda: there is no CUDA here: warns, and changes nothing.
        custom_trace_id_callback: makes the id of each trace.

    Raises:
        AssertionError: there is nothing to profile.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.activities = supported_activities() if activities is None else set(activities)
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if ProfilerActivity.CUDA in self.activities or use_cuda:
            warnings.warn("CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=2)
        if ProfilerActivity.CPU not in self.activities:
            raise AssertionError("No activities specified for the profiler")
        self.schedule = _record_always if schedule is None else schedule
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _profiler.profile | None = None
        self._earlier: list[Any] = []
        self._metadata: dict[str, Any] = {}
        self._running = False
        self._step: record_function | None = None

    # -- the block and its steps

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, with the first step."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End; what is being recorded is complete."""
        self._end_step()
        if self._running:
            self._end_recording()
            self._ready()

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._begin_step()

    def _change(self, before: ProfilerAction, now: ProfilerAction) -> None:
        if self._running and before is ProfilerAction.RECORD_AND_SAVE:
            self._end_recording()
            self._ready()
        elif self._running and now not in _RECORDING:
            warnings.warn(f"Incorrect schedule: {before.name} followed by {now.name}", UserWarning, stacklevel=3)
            self._end_recording()
        if not self._running and now in _RECORDING:
            self._begin_recording()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _begin_recording(self) -> None:
        if self.profiler is not None and self.acc_events:
            self._earlier += self.profiler.function_events
        self.profiler = _profiler.profile(
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules,
            experimental_config=self.experimental_config,
            custom_trace_id_callback=self.custom_trace_id_callback,
        )
        self.profiler.__enter__()
        self._running = True

    def _end_recording(self) -> None:
        assert self.profiler is not None
        self.profiler.__exit__(None, None, None)
        self._running = False

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # -- what was found

    def events(self) -> EventList:
        """All events of the newest cycle, or of all cycles with `acc_events`.

        Raises:
            AssertionError: nothing was recorded.
            RuntimeError: it is still being recorded.
        """
        newest = self._recorded("accessing events").function_events
        if not self._earlier:
            return newest
        everything = EventList(
            [*self._earlier, *newest], profile_memory=self.profile_memory, with_flops=self.with_flops
        )
        everything._tree_built = True
        return everything

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums of the events with the same name; see `EventList.key_averages`."""
        self._recorded("getting key averages")
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def _repr_svg_(self) -> str | None:
        """The events over time as a picture, for notebooks; None where nothing was recorded, or still is."""
        return None if self.profiler is None or self._running else self.events()._repr_svg_()

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the newest cycle for Chrome's trace viewer and Perfetto; compressed where `path` ends in `.gz`."""
        self._recorded("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the stacks for tools that draw flame graphs; see `EventList.export_stacks`."""
        self._recorded("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the files of traces."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, written as JSON, into the files of traces."""
        self._metadata[key] = json.loads(value)

    def get_trace_id(self) -> str | None:
        """The id of the newest cycle."""
        return None if self.profiler is None else self.profiler.trace_id

    def _recorded(self, use: str) -> _profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {use}")
        return self.profiler
