"""What a profile consists of: events, and sums of events that belong together.  Times are microseconds, sizes bytes."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

MEMORY_EVENT_NAME = "[memory]"


class DeviceType(enum.Enum):
    """Where an event took place."""

    CPU = 0
    CUDA = 1


class Scope(enum.IntEnum):
    """What kind of code an event is, with PyTorch's numbers (`RecordScope`)."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    USER_SCOPE = 7


class Interval:
    """A stretch of time.

    Args:
        start: in microseconds.
        end: in microseconds, not before `start`.
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """The length in microseconds."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"


class Kernel(NamedTuple):
    """What an operator ran on a device; `duration` in microseconds."""

    name: str
    device: int
    duration: float


def format_time(time_us: float, time_unit: str | None = None) -> str:
    """`time_us` in s, ms or us: the largest unit that fits, or `time_unit`."""
    units = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if time_unit not in units:
        time_unit = next((unit for unit, size in units.items() if time_us >= size), "us")
    return f"{time_us / units[time_unit]:.3f}{time_unit}"


def format_memory(nbytes: int) -> str:
    """`nbytes` in B, KB, MB or GB."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


class _FormattedTimes:
    """The times of an event as text, and its averages over the calls."""

    count: int
    # Attributes of sums, properties of events.
    cpu_time_total: Any
    device_time_total: Any
    self_cpu_time_total: Any
    self_device_time_total: Any

    @property
    def cpu_time(self) -> float:
        """The average time of a call."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """The average time on the device of a call."""
        return 0.0 if self.count == 0 else self.device_time_total / self.count

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class FunctionEvent(_FormattedTimes):
    """One call of an operator, one Node that ran, or one named block.

    Args:
        id: number of the event in its profile, in the order in which events began.
        name: such as `aten::add`.
        thread: number of the thread.
        start_us: when it began.
        end_us: when it ended.
        overload_name: such as `Tensor`; empty unless overloads are told apart.
        fwd_thread: for a Node, the thread that recorded it.
        input_shapes: for each argument its shape, empty for what is no Tensor.
        stack: the Python code that called, innermost first.
        scope: a number of `Scope`.
        use_device: the device that `kernels` ran on.
        cpu_memory_usage: bytes allocated less bytes freed, in this event and those inside of it.
        device_memory_usage: the same on the device.
        is_async: began in one place and ended in another, so that it has no part in the nesting.
        is_remote: ran in another process.
        sequence_nr: of the Node that ran or was recorded; -1 if there is none.
        node_id: the process, where there are several.
        device_type: where it took place.
        device_index: which of the devices.
        device_resource_id: the thread as the operating system knows it.
        is_legacy: came from the tools of an older time.
        flops: how many floating point operations it took.
        trace_name: what a trace calls it; without one it is left out of traces.
        concrete_inputs: for each argument its value, None for Tensors.
        kwinputs: arguments by keyword.
        is_user_annotation: a named block.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: list[Any] | None = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: list[Any] | None = None,
        kwinputs: dict[str, Any] | None = None,
        is_user_annotation: bool = False,
    ) -> None:
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation

    @property
    def key(self) -> str:
        """What events are put together by: the name."""
        return self.name

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add something that this event ran on a device.

        Raises:
            AssertionError: the event did not take place on the CPU.
        """
        if self.device_type is not DeviceType.CPU:
            raise AssertionError("Expected device_type to be CPU")
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Put an event inside of this one.

        Raises:
            AssertionError: `child` is no event, or one of the two did not take place on the CPU.
        """
        self._check_relative(child, "child")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say which event this one is directly inside of.

        Raises:
            AssertionError: `parent` is no event, or one of the two did not take place on the CPU.
        """
        self._check_relative(parent, "parent")
        self.cpu_parent = parent

    def _check_relative(self, other: object, role: str) -> None:
        if not isinstance(other, FunctionEvent):
            raise AssertionError(f"Expected {role} to be a FunctionEvent")
        if self.device_type is not DeviceType.CPU or other.device_type is not DeviceType.CPU:
            raise AssertionError(f"Expected the event and its {role} to have device_type CPU")

    @property
    def _nests(self) -> bool:
        return not self.is_async and self.device_type is DeviceType.CPU

    @property
    def cpu_time_total(self) -> float:
        """How long it took."""
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """How long it took without the events inside of it."""
        if not self._nests:
            return 0
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated less bytes freed, without the events inside of it."""
        if not self._nests:
            return 0
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children])

    @property
    def device_time_total(self) -> float:
        """How long its kernels took, and those of the events inside of it."""
        if self.is_async or self.use_device is None:
            return 0
        return sum([kernel.duration for kernel in self.kernels]) + sum(
            [child.device_time_total for child in self.cpu_children]
        )

    @property
    def self_device_time_total(self) -> float:
        """How long its own kernels took."""
        if self.is_async or self.use_device is None:
            return 0
        return self.device_time_total - sum([child.device_time_total for child in self.cpu_children])

    @property
    def self_device_memory_usage(self) -> int:
        """Bytes allocated less bytes freed on the device, without the events inside of it."""
        if not self._nests:
            return 0
        return self.device_memory_usage - sum([child.device_memory_usage for child in self.cpu_children])

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(_FormattedTimes):
    """The sum of events that belong together, from which averages are made.  The first one says which they are."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.is_legacy = False
        self.is_user_annotation = False
        self.flops = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or another sum, and return this one.

        Raises:
            AssertionError: `other` is something else, or of another key.
        """
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            self._describe_as(other)
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        self._sum(other)
        return self

    __iadd__ = add

    def _describe_as(self, other: FunctionEvent | FunctionEventAvg) -> None:
        for name in (
            "key",
            "node_id",
            "is_async",
            "is_remote",
            "use_device",
            "input_shapes",
            "overload_name",
            "stack",
            "scope",
            "cpu_children",
            "cpu_parent",
            "device_type",
            "is_legacy",
            "is_user_annotation",
        ):
            setattr(self, name, getattr(other, name))

    def _sum(self, other: FunctionEvent | FunctionEventAvg) -> None:
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.device_time_total += other.device_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.self_device_time_total += other.self_device_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.device_memory_usage += other.device_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.self_device_memory_usage += other.self_device_memory_usage
        self.flops += other.flops or 0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


def total(events: Sequence[FunctionEvent | FunctionEventAvg]) -> FunctionEventAvg:
    """The sum of all events of every kind."""
    result = FunctionEventAvg()
    result.key, result.input_shapes = "Total", ""
    for event in events:
        result._sum(event)
    return result
