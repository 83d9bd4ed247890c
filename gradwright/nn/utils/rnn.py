"""Sequences of different lengths, padded to one length or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from runtime import ops
from runtime.base import dtypes
from runtime.base.creation import tensor
from runtime.base.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Parts(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Parts):
    """Sequences without padding: all elements of the first time, longest sequence first, then those of the second.

    Made by `pack_padded_sequence` and `pack_sequence`. `batch_sizes` counts the elements of each time; the two
    permutations sort the sequences by length, and bring them back.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor | Sequence[Tensor],
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # both in one pair
            if not isinstance(data, list | tuple) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)  # type: ignore[arg-type]

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With data of another dtype or on another device; `batch_sizes` stays where it is."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return type(self)(
            data, self.batch_sizes, _moved(self.sorted_indices, data), _moved(self.unsorted_indices, data)
        )

    def cpu(self) -> Self:
        """`to("cpu")`."""
        return self.to("cpu")

    def double(self) -> Self:
        """As float64."""
        return self.to(dtypes.float64)

    def float(self) -> Self:
        """As float32."""
        return self.to(dtypes.float32)

    def half(self) -> Self:
        """As float16."""
        return self.to(dtypes.float16)

    def long(self) -> Self:
        """As int64."""
        return self.to(dtypes.int64)

    def int(self) -> Self:
        """As int32."""
        return self.to(dtypes.int32)

    def short(self) -> Self:
        """As int16."""
        return self.to(dtypes.int16)

    def char(self) -> Self:
        """As int8."""
        return self.to(dtypes.int8)

    def byte(self) -> Self:
        """As uint8."""
        return self.to(dtypes.uint8)


def _moved(indices: Tensor | None, data: Tensor) -> Tensor | None:
    return None if indices is None else indices.to(data.device)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another one."""
    if permutation is None:
        return None
    places = ops.arange(permutation.numel(), device=permutation.device)
    return ops.empty_like(permutation).scatter(0, permutation, places.to(permutation.dtype))


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Padded sequences without their padding.

    Args:
        input: of shape (time, batch, *).
        lengths: how much of each sequence counts.
        batch_first: the input is of shape (batch, time, *).
        enforce_sorted: the sequences come sorted, longest first; else they are sorted here.

    Raises:
        RuntimeError: lengths that do not fit, or that are not sorted.
    """
    wanted = lengths.to(dtypes.int64) if isinstance(lengths, Tensor) else tensor(list(lengths), dtype=dtypes.int64)
    order = None
    if not enforce_sorted:
        wanted, order = ops.sort(wanted, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = ops._pack_padded_sequence(input, wanted, batch_first)
    return PackedSequence(data, batch_sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The sequences, padded and in the order in which they were packed, and their lengths.

    Args:
        sequence: what `pack_padded_sequence` returned.
        batch_first: the result is to be of shape (batch, time, *).
        padding_value: what stands after the end of a sequence.
        total_length: the length to pad to; that of the longest one, if left out.

    Raises:
        ValueError: `total_length` is less than the longest sequence.
    """
    longest = sequence.batch_sizes.shape[0]
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = ops._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length
    )
    order = sequence.unsorted_indices
    if order is not None:
        padded = padded.index_select(0 if batch_first else 1, order)
        lengths = lengths.index_select(0, order.to("cpu"))
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of shape (length, *) side by side, each padded to the longest.

    Raises:
        RuntimeError: no sequences.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return ops.pad_sequence(list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Each sequence without its padding."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    if rows.shape[0] != lengths.shape[0]:
        raise ValueError(f"{rows.shape[0]} sequences, but {lengths.shape[0]} lengths")
    return [row[:length] for row, length in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of different lengths packed; `enforce_sorted` as in `pack_padded_sequence`."""
    lengths = [each.shape[0] for each in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def permuted(state: tuple[Tensor, ...], order: Tensor | None) -> tuple[Tensor, ...]:
    """States, whose second dimension is the batch, in another order of it."""
    return state if order is None else tuple(each.index_select(1, order) for each in state)
