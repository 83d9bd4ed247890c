"""Results of every operator in memory, beside PyTorch's: with which arguments they share it, and how they lie in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from generated.registry import OPERATORS
from gradwright.testing import Sample, operator_function, sample_inputs
from runtime.base.dtypes import dtype as DType
from runtime.base.tensor import Tensor, wrap
from runtime.load.operator_info import OperatorInfo
from support.operator_comparison import ON_PYTORCHS_FORMULAS
from support.properties import Properties
from support.results import edge_samples, share_memory, tensors_in

pytestmark = pytest.mark.filterwarnings("ignore")

properties = Properties()

# PyTorch's kernels write behind their arrays when sizes or places do not fit, or a dimension is named twice.
UNSAFE = frozenset((
    "nll_loss_backward", "nll_loss2d_backward", "rnn_tanh.data", "rnn_relu.data", "lstm.data", "gru.data",
    "rnn_tanh.input", "rnn_relu.input", "lstm.input", "gru.input", "_pack_padded_sequence",
    "_pack_padded_sequence_backward", "_pad_packed_sequence",
    "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward",
    "adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward", "fractional_max_pool2d_backward",
    "fractional_max_pool3d_backward", "_cdist_backward", "_pdist_backward", "_fft_r2c",
    "_embedding_bag_backward", "_embedding_bag_dense_backward", "_ctc_loss", "_ctc_loss.Tensor", "_ctc_loss_backward",
    "_ctc_loss_backward.Tensor", "ctc_loss.IntList", "ctc_loss.Tensor",
))  # fmt: skip
# They are about the memory of the argument, or PyTorch reads behind arrays that lie otherwise.
CONTIGUOUS = frozenset((
    "as_strided", "as_strided_scatter", "_ctc_loss", "_ctc_loss.Tensor", "ctc_loss.IntList", "ctc_loss.Tensor",
))  # fmt: skip
# Conjugation is lazy there, and made at once here.
LAZY = frozenset(("conj", "adjoint", "matrix_H"))
# There in the order of an argument, or of what its program works with; here in the order of the indices. With batch
# sizes that do not lie side by side PyTorch's recurrent operators read others.
FORMATS = frozenset((
    "convolution", "convolution_backward", "_convolution_double_backward", "conv1d", "conv1d.padding",
    "affine_grid_generator_backward", "conv_transpose1d", "max_pool1d_with_indices", "avg_pool1d",
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "linalg_eig", "_linalg_eigh", "linalg_eigh", "linalg_eigvalsh",
    "_linalg_solve_ex", "rnn_tanh.data", "rnn_relu.data", "lstm.data", "gru.data", "rrelu_with_noise",
    "_ctc_loss_backward", "_grouped_mm", "conv_tbc_backward", "unsafe_chunk", "unsafe_split.Tensor",
    "unsafe_split_with_sizes", "_fake_quantize_learnable_per_tensor_affine_backward",
    "_fake_quantize_learnable_per_channel_affine_backward", "_scaled_dot_product_flash_attention_for_cpu",
))  # fmt: skip

# Parts share memory there and are no views all the same; here they are copies.
APART = frozenset(("unsafe_chunk", "unsafe_split.Tensor", "unsafe_split_with_sizes"))

Lay = Callable[[np.ndarray], np.ndarray]


def theirs(value: Any, lay: Lay) -> Any:
    """An argument as PyTorch takes it, with arrays laid out by `lay`."""
    if isinstance(value, Tensor):
        return torch.from_numpy(lay(value._array))
    if isinstance(value, list):
        return [theirs(item, lay) for item in value]
    return getattr(torch, value.name) if isinstance(value, DType) else value


def ours(value: Any, lay: Lay) -> Any:
    """The same for this project."""
    if isinstance(value, Tensor):
        return wrap(lay(value._array))
    return [ours(item, lay) for item in value] if isinstance(value, list) else value


def of_pytorch(info: OperatorInfo) -> Any:
    base, _, overload = info.name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


# Whether a matrix of repeated rows is singular to the last bit depends on LAPACK, and that on the machine.
SINGULAR = re.compile(r"matrix is singular|U\[\d,\d\] is zero")
# PyTorch's batch norms write running statistics whose elements are one place in memory, each over the one before. With
# its YAML, which declares what they write, that is refused here.
OVERLAPPING = "more than one element of the written-to tensor refers to a single memory location"
WRITING_OVER = {"_native_batch_norm_legit", "_batch_norm_with_update"} if ON_PYTORCHS_FORMULAS else set()


def both(info: OperatorInfo, sample: Sample, lay: Callable[[], Lay]) -> tuple[Any, ...] | None:
    """The Tensors given and returned, of PyTorch and of this project.

    None where PyTorch refuses the call, a matrix is singular, or a batch norm would write over its own statistics.
    """
    calls = []
    for convert, function in ((theirs, of_pytorch(info)), (ours, operator_function(info))):
        one = lay()
        args = [convert(value, one) for value in sample.args]
        kwargs = {name: convert(value, one) for name, value in sample.kwargs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out = function(*args, **kwargs)
            except (RuntimeError, IndexError, ValueError, TypeError) as error:
                if convert is theirs or SINGULAR.search(str(error)):
                    return None
                if info.name in WRITING_OVER and OVERLAPPING in str(error):
                    return None
                raise
        kind = torch.Tensor if convert is theirs else Tensor
        calls += [tensors_in([*args, *kwargs.values()], kind), tensors_in(out, kind)]
    return tuple(calls)


def share_torchs(one: Any, other: Any) -> bool:
    return one is other or one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


@properties.hold_for((info,) for info in OPERATORS.values() if info.name not in UNSAFE | APART)
def results_share_memory_with_the_same_arguments(info: OperatorInfo) -> None:
    for dtype in ("float64", "int64", *(() if info.name in LAZY else ("complex128",))):
        for sample in edge_samples(info, dtype):
            try:
                found = both(info, sample, lambda: np.copy)
            except (RuntimeError, IndexError, ValueError, TypeError):
                continue  # what is refused here and not there is for other tests
            if found is None or any(0 in tensor.shape for tensor in (*found[0], *found[1])):
                continue
            given, out, own_given, own_out = found
            wanted = [[share_torchs(one, other) for one in given] for other in out]
            assert [[share_memory(one, other) for one in own_given] for other in own_out] == wanted, sample.text
            wanted = [[one is other for one in given] for other in out]
            assert [[one is other for one in own_given] for other in own_out] == wanted, sample.text


# -- where elements lie


def permuted(*order: int) -> Lay:
    """The same values with dimensions in another order in memory; `order` says from which the places are counted."""

    def lay(array: np.ndarray) -> np.ndarray:
        if not array.ndim:
            return np.copy(array)
        moved = list(dict.fromkeys(dim % array.ndim for dim in order))
        places = [*[dim for dim in range(array.ndim) if dim not in moved], *moved]
        return np.ascontiguousarray(array.transpose(places)).transpose(np.argsort(places))

    return lay


def cut(dim: int, step: int) -> Lay:
    """The same values with gaps between them."""

    def lay(array: np.ndarray) -> np.ndarray:
        if not array.ndim:
            return np.copy(array)
        whole = np.zeros([size * step if i == dim % array.ndim else size for i, size in enumerate(array.shape)])
        part = whole.astype(array.dtype)[(slice(None),) * (dim % array.ndim) + (slice(step - 1, None, step),)]
        part[...] = array
        return part

    return lay


def expanded(dim: int) -> Lay:
    """The first values along a dimension, repeated."""

    def lay(array: np.ndarray) -> np.ndarray:
        if not array.size or not array.ndim:
            return np.copy(array)
        first = np.copy(np.take(array, [0], dim))
        strides = [0 if i == dim % array.ndim else stride for i, stride in enumerate(first.strides)]
        return np.ndarray(array.shape, array.dtype, first, 0, strides)

    return lay


def only(position: int, changed: Lay) -> Callable[[], Lay]:
    """One of the Tensors in another layout, the others contiguous."""

    def make() -> Lay:
        count = iter(range(1_000))
        return lambda array: changed(array) if next(count) == position else np.copy(array)

    return make


LAYOUTS: dict[str, Callable[[], Lay]] = {
    "contiguous": lambda: np.copy,
    "transposed": lambda: permuted(-1, -2),
    "columns": lambda: permuted(-1, 0),
    "turned": lambda: permuted(1, 2, 0),
    "cut": lambda: cut(-1, 2),
    "cut by rows": lambda: cut(0, 3),
    "expanded": lambda: expanded(0),
    "expanded by columns": lambda: expanded(-1),
    **{
        f"{name} {i}": only(i, lay)
        for i in (0, 1)
        for name, lay in (("turned", permuted(-1, 0)), ("flat", expanded(0)))
    },
}


def deeper(info: OperatorInfo) -> list[Sample]:
    """The samples, and those over matrices over three dimensions, too."""
    more = [re.sub(r"\b([TDBI])\(3, 4\b", r"\1(2, 3, 4", text) for text in info.samples if "2, 3, 4" not in text]
    texts = tuple(dict.fromkeys((*info.samples, *more)))
    for dtype in ("float32", "complex64"):
        if samples := sample_inputs(replace(info, samples=texts), dtype, requires_grad=False):
            return samples
    return []


@properties.hold_for((info,) for info in OPERATORS.values() if info.name not in FORMATS)
def results_lie_in_memory_as_pytorchs(info: OperatorInfo) -> None:
    """Strides say something where a dimension has several elements."""
    for sample in deeper(info):
        for name, lay in LAYOUTS.items():
            if info.name in CONTIGUOUS and name != "contiguous":
                continue
            try:
                found = both(info, sample, lay)
            except (RuntimeError, IndexError, ValueError, TypeError):
                if "2, 3, 4" not in sample.text:
                    raise
                continue
            for theirs_, ours_ in zip(found[1], found[3], strict=True) if found is not None else ():
                if not theirs_.numel():
                    continue
                told = [[s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in (theirs_, ours_)]
                assert told[0] == told[1], (sample.text, name)


test_operator, test_properties_are_checked = properties.tests(least=2_300)
