"""Random number generators: objects with a seed and a state, and the default one that operators use.

They are Mersenne Twisters (`base/mersenne.py`), and a seed gives the numbers that it gives in PyTorch on a CPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.tensor import Tensor, wrap
from runtime.base.types import Device

if TYPE_CHECKING:
    from runtime.base.mersenne import Source

# The seed of a generator that gets none, so that a program without a seed is reproducible.
_FIRST_SEED = 67280421310721
_LARGEST_SEED = 2**64 - 1


class Generator:
    """A source of random numbers. Operators take one as `generator=`."""

    def __init__(self, device: Device | str = "cpu") -> None:
        self.device = Device(device)
        if self.device.type != "cpu":
            raise RuntimeError(f"a Generator lives on device cpu only, but got: {device}")
        self._seed = _FIRST_SEED
        self._numpy: Source | None = None
        self._lock = threading.Lock()

    @property
    def numpy(self) -> Source:
        """The NumPy generator behind this one, the same object after another seed too."""
        if self._numpy is None:
            from runtime.base.mersenne import Source

            with self._lock:
                if self._numpy is None:  # another thread may have come first
                    self._numpy = Source(self._seed)
        return self._numpy

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`; a negative one counts from the end of the unsigned range."""
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed <= _LARGEST_SEED:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % (_LARGEST_SEED + 1)
        if self._numpy is not None:
            self._numpy.restart(self._seed)
        return self

    def seed(self) -> int:
        """Start again from a random seed, and return it."""
        import secrets

        self.manual_seed(secrets.randbits(53))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the numbers started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as a uint8 Tensor, for `set_state`: the bytes that PyTorch has for it."""
        return wrap(self.numpy.packed(self._seed))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` returned."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a Tensor, but got {type(new_state).__name__}")
        array = new_state._array
        if array.dtype != np.uint8:
            raise TypeError("RNG state must be a ByteTensor")
        size = self.numpy.state_bytes
        if array.shape != (size,):
            raise RuntimeError(f"RNG state is wrong size: expected {size} bytes, but got {array.size}")
        self._seed = self.numpy.unpack(array)
        return self

    def clone_state(self) -> Generator:
        """A new generator in the same state."""
        other = Generator()
        other.set_state(self.get_state())
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.get_state(),)

    def __repr__(self) -> str:
        return f"<gradwright.Generator on {self.device} with seed {self._seed}>"


def _rebuild(state: Tensor) -> Generator:
    generator = Generator()
    generator.set_state(state)
    return generator


default_generator = Generator()
# What devices do when the default generator starts again: they have numbers of their own.
on_seed: list[Callable[[int], object]] = []


def manual_seed(seed: int) -> Generator:
    """Start the default generator again from `seed`, which may be anything that `int` takes, and those of devices."""
    generator = default_generator.manual_seed(int(seed))
    for start in on_seed:
        start(generator.initial_seed())
    return generator


def seed() -> int:
    """Start the default generator again from an unforeseeable seed, and those of devices, and return it."""
    number = default_generator.seed()
    for start in on_seed:
        start(number)
    return number


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)


def thread_safe_generator() -> Generator | None:
    """The generator of the thread that makes batches for a DataLoader: None, since only processes do."""
    return None


@contextmanager
def fork_rng(devices: Iterable[Any] = (), enabled: bool = True) -> Iterator[None]:
    """A block after which the default generator goes on as if the block had not drawn any numbers."""
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)
