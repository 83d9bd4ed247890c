"""What draws random numbers: the Mersenne Twister of Matsumoto and Nishimura (1998), as PyTorch's CPU generator has it.

NumPy computes the words. How they become numbers is PyTorch's way: the low bits of a word count, and 64 bits are two
words, the first of which is the high one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.native import core

Array = np.ndarray

_WORDS = 624
_LOW_24, _LOW_53, _LOW_32 = np.uint32(2**24 - 1), np.uint64(2**53 - 1), 2**32 - 1
_HALF = np.uint64(32)
# In the order of the bytes: the seed; how many words are left, whether there was a seed, the next word; the words; two
# numbers without a use beside the normal number that waits, and whether one does; the same for single precision.
_STATE = np.dtype(
    [
        ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", _WORDS),
        ("normal_x", "<f8"), ("spare", "<f8"), ("normal_rho", "<f8"), ("has_spare", "<i8"), ("float_spare", "<i8"),
    ]
)  # fmt: skip
_BLOCK = 1 << 15


class Source(np.random.Generator):
    """A generator of NumPy with PyTorch's words, and the second normal number of a pair, which waits for its turn."""

    spare: float | None
    state_bytes = _STATE.itemsize

    def __init__(self, seed: int) -> None:
        self._bits: Any = np.random.MT19937()
        super().__init__(self._bits)
        self.restart(seed)

    def restart(self, seed: int) -> None:
        """Start from `seed`, of which the low 32 bits count."""
        self._bits._legacy_seeding(seed & _LOW_32)
        self.spare = None

    def words(self, count: int) -> Array:
        """Whole numbers of 32 bits."""
        return self._drawn(count, np.uint32) if core is not None else self.integers(0, 2**32, count, np.uint32)

    def long_words(self, count: int) -> Array:
        """Whole numbers of 64 bits."""
        if core is not None:
            return self._drawn(count, np.uint64)
        pairs = self.words(2 * count).view(np.uint64)
        return pairs << _HALF | pairs >> _HALF

    def unit32(self, count: int) -> Array:
        """Uniform in [0, 1), multiples of 2^-24, in float32."""
        if core is not None:
            return self._drawn(count, np.float32)
        out = np.empty(count, np.float32)
        for start in range(0, count, _BLOCK):
            part = out[start : start + _BLOCK]
            words = self.words(len(part))
            np.bitwise_and(words, _LOW_24, out=words)
            np.multiply(words.view(np.int32), np.float32(2**-24), out=part, casting="same_kind", dtype=np.float32)
        return out

    def unit64(self, count: int) -> Array:
        """Uniform in [0, 1), multiples of 2^-53, in float64."""
        if core is not None:
            return self._drawn(count, np.float64)
        out = np.empty(count)
        for start in range(0, count, _BLOCK):
            part = out[start : start + _BLOCK]
            words = self.long_words(len(part))
            np.bitwise_and(words, _LOW_53, out=words)
            np.multiply(words.view(np.int64), 2.0**-53, out=part)
        return out

    def _drawn(self, count: int, dtype: Any) -> Array:
        out = np.empty(count, dtype)
        with self._bits.lock:
            core.draw_words(self._bits.capsule, out)
        return out

    def packed(self, seed: int) -> Array:
        """The state in the bytes that PyTorch writes."""
        state = self._bits.state["state"]
        packed = np.zeros((), _STATE)
        place = int(state["pos"])
        fresh = place == _WORDS and np.array_equal(state["key"], _first_words(seed))
        packed["seed"], packed["seeded"], packed["words"] = seed, 1, state["key"]
        packed["left"], packed["next"] = (1, 0) if fresh else (_WORDS + 1 - place, place)
        if self.spare is not None:
            packed["spare"], packed["has_spare"] = self.spare, 1
        return np.frombuffer(packed.tobytes(), np.uint8).copy()

    def unpack(self, state: Array) -> int:
        """Go on from such bytes; the seed that they began with."""
        packed = np.frombuffer(state.tobytes(), _STATE)[0]
        place = _WORDS + 1 - int(packed["left"])
        self.go_to((packed["words"].astype(np.uint32), place, float(packed["spare"]) if packed["has_spare"] else None))
        return int(packed["seed"])

    def place(self) -> tuple[Any, ...]:
        """Where the numbers are, for `go_to`."""
        state = self._bits.state["state"]
        return state["key"], state["pos"], self.spare

    def go_to(self, place: tuple[Any, ...]) -> None:
        """Go on from a place."""
        key, position, self.spare = place
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}


def _first_words(seed: int) -> Array:
    words: Array = Source(seed).place()[0]
    return words
