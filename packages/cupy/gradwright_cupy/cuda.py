"""What `gradwright.cuda` has where there is a GPU: PyTorch's names, over what CuPy has for each.

Names that CuPy has nothing for raise, as they do without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn

import cupy
import cupyx
import numpy as np

import gradwright
from gradwright import Tensor, accelerator, mps, mtia, random, xpu
from gradwright import cuda as published
from gradwright_cupy import generators
from gradwright_cupy.generators import initial_seed, manual_seed, manual_seed_all, seed, seed_all

__all__ = [
    "Event", "Stream", "current_device", "current_stream", "default_stream", "device", "device_count", "device_of",
    "empty_cache", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "init",
    "initial_seed", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all",
    "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "seed", "seed_all", "set_device",
    "set_stream", "stream", "synchronize",
]  # fmt: skip

# What reads zero without a GPU, and would have to be measured with one.
_NOT_MEASURED = ("max_memory_allocated", "max_memory_cached", "max_memory_reserved", "memory_stats")


def _index(device: Any) -> int:
    """The number of a GPU: of a device, a text such as "cuda:1", a number, or None for the current one.

    Raises:
        ValueError: it is no GPU.
    """
    if device is None:
        return current_device()
    if isinstance(device, int):
        return current_device() if device < 0 else device
    place = gradwright.device(device)
    if place.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return current_device() if place.index is None else place.index


# -- devices


def is_available() -> bool:
    """Whether there is a GPU: yes."""
    return True


def init() -> None:
    """Nothing: CuPy begins with the first call."""


def is_initialized() -> bool:
    """Whether a GPU can be used: yes."""
    return True


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether Tensors on a GPU can be bfloat16: no, CuPy has no such arrays."""
    return False


def device_count() -> int:
    """The number of GPUs."""
    return int(cupy.cuda.runtime.getDeviceCount())


def current_device() -> int:
    """The number of the GPU that Tensors are made on."""
    return int(cupy.cuda.runtime.getDevice())


def set_device(device: Any) -> None:
    """Make Tensors on another GPU from now on."""
    cupy.cuda.Device(_index(device)).use()


class device:
    """The current GPU in a `with` block; a number below zero changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        self._before = current_device()
        set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        set_device(self._before)


class device_of(device):
    """The GPU of a Tensor in a `with` block; of a Tensor elsewhere, the current one."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def _properties(device: Any) -> Any:
    return cupy.cuda.runtime.getDeviceProperties(_index(device))


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    name = _properties(device)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU."""
    properties = _properties(device)
    return properties["major"], properties["minor"]


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """What is known of a GPU: `name`, `major`, `minor`, `total_memory`, `multi_processor_count`."""
    found = _properties(device)
    return SimpleNamespace(
        name=get_device_name(device),
        major=found["major"],
        minor=found["minor"],
        total_memory=found["totalGlobalMem"],
        multi_processor_count=found["multiProcessorCount"],
    )


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: that of the current GPU, when they are needed."""
    major, minor = get_device_capability()
    return [f"sm_{major}{minor}"]


def synchronize(device: Any = None) -> None:
    """Wait for all work of a GPU."""
    cupy.cuda.Device(_index(device)).synchronize()


# -- memory


@contextmanager
def _on(device: Any) -> Iterator[None]:
    with cupy.cuda.Device(_index(device)):
        yield


def memory_allocated(device: Any = None) -> int:
    """The bytes of a GPU that arrays hold."""
    with _on(device):
        return int(cupy.get_default_memory_pool().used_bytes())


def memory_reserved(device: Any = None) -> int:
    """The bytes of a GPU that CuPy's pool holds, for arrays and for arrays to come."""
    with _on(device):
        return int(cupy.get_default_memory_pool().total_bytes())


memory_cached = memory_reserved


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The bytes of a GPU that are free, and all of them."""
    with _on(device):
        free, total = cupy.cuda.runtime.memGetInfo()
    return free, total


def empty_cache() -> None:
    """Give memory back that CuPy's pool holds and no array needs."""
    cupy.get_default_memory_pool().free_all_blocks()


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"cuda.{name}: CuPy's memory pool does not keep this")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise NotImplementedError: CuPy's memory pool does not keep this."
    return refuse


# -- streams and events


class Event:
    """A moment in the work of a stream.

    Args:
        enable_timing: whether `elapsed_time` can be asked for.
        blocking: whether `synchronize` sleeps.
        interprocess: whether other processes can wait for it.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._event = cupy.cuda.Event(blocking, not enable_timing, interprocess)

    def record(self, stream: Stream | None = None) -> None:
        """Let it be the moment when the work that a stream has now is done."""
        self._event.record(_current(stream))

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream go on only after this moment."""
        _current(stream).wait_event(self._event)

    def query(self) -> bool:
        """Whether it has passed."""
        return bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until it has passed."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this moment to another."""
        return float(cupy.cuda.get_elapsed_time(self._event, end_event._event))


class Stream:
    """A queue of work of the current GPU; work of different streams may be done at the same time.

    Args:
        device: must be the current GPU.
        priority: the lower, the sooner its work comes; 0 where none is said.
        stream: CuPy's stream, by default a new one.

    Raises:
        RuntimeError: it is to be of another GPU.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, stream: Any = None) -> None:
        if device is not None and _index(device) != current_device():
            raise RuntimeError(f"a stream is of the current device, cuda:{current_device()}, and not of {device}")
        self._stream = cupy.cuda.Stream(non_blocking=True, priority=priority or None) if stream is None else stream

    @property
    def cuda_stream(self) -> int:
        """The handle of CUDA."""
        return int(self._stream.ptr)

    @property
    def device(self) -> gradwright.device:
        """The GPU."""
        return gradwright.device("cuda", max(self._stream.device_id, 0))

    def query(self) -> bool:
        """Whether all its work is done."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait for all its work."""
        self._stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """The moment when the work that it has now is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Do what comes now after the moment of an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Do what comes now after the work that another stream has now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<gradwright.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


def _current(stream: Stream | None) -> Any:
    """CuPy's stream behind one of ours, or the current one."""
    return cupy.cuda.get_current_stream() if stream is None else stream._stream


def current_stream(device: Any = None) -> Stream:
    """The stream that gets the work of operators."""
    return Stream(stream=cupy.cuda.get_current_stream(_index(device)))


def default_stream(device: Any = None) -> Stream:
    """The stream that gets it where nobody asks for another."""
    return Stream(stream=cupy.cuda.Stream.null)


def set_stream(stream: Stream) -> None:
    """Let a stream get the work of operators from now on."""
    stream._stream.use()


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """A block whose work goes to a stream; without one, a block like any other."""
    if stream is None:
        yield
        return
    with stream._stream:
        yield


# -- memory that a GPU reads itself


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned memory; itself where it lies there.

    Raises:
        RuntimeError: the Tensor does not lie in main memory.
    """
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    source = self.detach().numpy()
    pinned = cupyx.empty_pinned(source.shape, source.dtype)
    np.copyto(pinned, source)
    return gradwright.from_numpy(pinned)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the elements lie in pinned memory."""
    if self.device.type != "cpu":
        return False
    owner: Any = self.detach().numpy()
    while owner is not None and not isinstance(owner, cupy.cuda.PinnedMemoryPointer):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner is not None


# -- where programs find all this


def install() -> None:
    """Put these functions into `gradwright.cuda` and `gradwright.accelerator`, and pinned memory on Tensor."""
    for module in (accelerator, mps, mtia, xpu):
        getattr(module, "is_available")  # noqa: B009  # loads it: it has names of `cuda`, as they are without a GPU
    vars(published).update({name: globals()[name] for name in __all__})
    vars(published).update({name: _refusing(name) for name in _NOT_MEASURED})
    shared = ("current_stream", "device_count", "empty_cache", "is_available", "memory_allocated", "memory_reserved",
              "set_stream", "synchronize", "get_device_capability")  # fmt: skip
    vars(accelerator).update({name: globals()[name] for name in shared})
    vars(accelerator).update(
        current_accelerator=lambda check_available=False: gradwright.device("cuda"),
        current_device_index=current_device,
        current_device_idx=current_device,
        set_device_index=set_device,
        set_device_idx=set_device,
        get_memory_info=mem_get_info,
    )
    Tensor.pin_memory, Tensor.is_pinned = pin_memory, is_pinned  # type: ignore[method-assign]
    random.on_seed.append(generators.manual_seed_all)
