"""Sequences of different lengths: padded to one length, or packed one time after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences side by side, each made as long as the longest."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(each.size(0) for each in sequences)
    rest = list(sequences[0].shape[1:])
    padded = []
    for each in sequences:
        missing = longest - each.shape[0]
        if list(each.shape[1:]) != rest:
            raise RuntimeError(
                f"The size of tensor a ({longest}) must match the size of tensor b ({each.shape[0]}): all dimensions "
                "but the first have to be the same"
            )
        around = [missing, 0] if padding_side == "left" else [0, missing]
        padded.append(ops.constant_pad_nd(each, [0, 0] * len(rest) + around, padding_value) if missing else each)
    return ops.stack(padded, 0 if batch_first else 1)


def _places(lengths: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """How many sequences go on at each time, and where their elements are among all times and sequences."""
    times = ops.arange(longest, device=lengths.device).unsqueeze(1)
    present = times < lengths
    return present.sum([1]), present.reshape([-1]).nonzero().squeeze(1)


def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The elements of all sequences at the first time, then those at the second; and how many each time has."""
    if lengths.dim() != 1 or lengths.dtype is not dtypes.int64:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} "
            f"{lengths.dtype.scalar_name} tensor"
        )
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if batch_first:
        input = input.transpose(0, 1)
    if lengths.shape[0] != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.shape[0]} (batch_size="
            f"{input.shape[1]})"
        )
    values = lengths.tolist()
    if values[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(following > before for before, following in pairwise(values)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if values[0] > input.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {input.shape[0]}, but got {values[0]}")
    sizes, places = _places(lengths, values[0])
    rows = input.reshape([input.shape[0] * input.shape[1], *input.shape[2:]])
    return rows.index_select(0, places.to(input.device)), sizes


def _unpacked(data: Tensor, batch_sizes: Tensor, longest: int, value: Scalar) -> tuple[Tensor, Tensor]:
    """Packed elements at their times and sequences, `value` elsewhere; and how long the sequences are."""
    if batch_sizes.size(0) == 0:
        raise RuntimeError("batch_sizes has no elements")
    batch = int(batch_sizes[0])
    going_on = ops.arange(batch, device=batch_sizes.device).unsqueeze(0) < batch_sizes.unsqueeze(1)
    places = going_on.reshape([-1]).nonzero().squeeze(1).to(data.device)
    rows = data.new_full([longest * batch, *data.shape[1:]], value).index_copy(0, places, data)
    return rows.reshape([longest, batch, *data.shape[1:]]), going_on.sum([0])


def _pack_padded_sequence_backward(
    grad: Tensor, input_size: Sequence[int], batch_sizes: Tensor, batch_first: bool
) -> Tensor:
    """The gradient at the places that were packed, zeros elsewhere."""
    longest = input_size[1] if batch_first else input_size[0]
    padded = _unpacked(grad, batch_sizes, longest, 0)[0]
    return padded.transpose(0, 1) if batch_first else padded


def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Scalar, total_length: int
) -> tuple[Tensor, Tensor]:
    """The sequences side by side again, `padding_value` after their ends; and their lengths."""
    longest = batch_sizes.size(0)
    if total_length > 0:
        if total_length < longest:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    padded, lengths = _unpacked(data, batch_sizes, longest, padding_value)
    return (padded.transpose(0, 1) if batch_first else padded), lengths
