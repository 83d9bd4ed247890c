"""Types that are stored and hardly computed with: what PyTorch does with float8, and with types of bits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from generated.registry import OPERATORS
from gradwright.testing import make_sample, operator_function
from runtime.base import dtypes
from runtime.load.operator_info import OperatorInfo
from support.properties import Properties

properties = Properties()

FLOAT8 = [kind.name for kind in dtypes.FLOAT8_DTYPES]
OPAQUE = [kind.name for kind in dtypes.OPAQUE_DTYPES]
SOURCES = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64")


def to_torch(value: Any) -> Any:
    if isinstance(value, gradwright.Tensor):
        if value.dtype in dtypes.ALL_DTYPES:
            return torch.from_numpy(np.array(value.numpy()))
        memory = np.ascontiguousarray(value._array).reshape(-1).view(np.uint8)
        return torch.from_numpy(memory.copy()).view(getattr(torch, value.dtype.name)).reshape(value.shape)
    if isinstance(value, list | tuple):
        return [to_torch(item) for item in value]
    return getattr(torch, value.name) if isinstance(value, gradwright.dtype) else value


def numbers(source: str) -> torch.Tensor:
    """Many numbers of a type: what is between elements, what is beyond them, and some without a number."""
    if source in ("float16", "bfloat16"):
        return torch.arange(-32768, 32768).to(torch.int16).view(getattr(torch, source))
    random = np.random.default_rng(0)
    if source in ("int64", "uint8", "bool"):
        return torch.tensor([*range(-1000, 1000), 2**24 + 1, 10**6, -(2**62)]).to(getattr(torch, source))
    between = [torch.arange(256, dtype=torch.uint8).view(getattr(torch, name)).double() for name in FLOAT8]
    between += [(each[1:] + each[:-1]) / 2 for each in between]
    spread = torch.from_numpy(random.normal(0, 1, 20000) * 2.0 ** random.integers(-20, 20, 20000))
    special = torch.tensor([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 464.0, 465.0, 61440.0, 61441.0])
    together = torch.cat([*between, spread, special])
    return together.to(getattr(torch, source))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_numbers_are_rounded_as_in_pytorch(name: str, source: str) -> None:
    given = numbers(source)
    mine = gradwright.frombuffer(bytearray(given.view(torch.uint8).numpy()), dtype=getattr(gradwright, source))
    expected = given.to(getattr(torch, name)).view(torch.uint8)
    found = mine.to(getattr(gradwright, name)).view(gradwright.uint8)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("wanted", ["float32", "float64", "float16", "bfloat16", "complex64", "bool"])
@pytest.mark.parametrize("name", FLOAT8)
def test_elements_are_the_same_numbers(name: str, wanted: str) -> None:
    expected = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name)).to(getattr(torch, wanted))
    found = (
        gradwright.arange(256, dtype=gradwright.uint8).view(getattr(gradwright, name)).to(getattr(gradwright, wanted))
    )
    if wanted == "bfloat16":
        expected, found = expected.float(), found.float()
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("name", FLOAT8)
def test_limits(name: str) -> None:
    mine, theirs = gradwright.finfo(getattr(gradwright, name)), torch.finfo(getattr(torch, name))
    for what in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(mine, what) == getattr(theirs, what), what


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (RuntimeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("name", [*FLOAT8, *OPAQUE])
def test_facts(name: str) -> None:
    mine, theirs = getattr(gradwright, name), getattr(torch, name)
    for what in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert outcome(getattr, mine, what) == outcome(getattr, theirs, what), what
    assert outcome(mine.to_complex) == outcome(theirs.to_complex)
    assert str(mine.to_real()) == str(theirs.to_real()).replace("torch", "gradwright")
    # The limits that PyTorch gives of float4_e2m1fn_x2 can not be shown.
    for function in ("iinfo",) if name.startswith("float4") else ("finfo", "iinfo"):
        assert isinstance(outcome(getattr(gradwright, function), mine), type) == isinstance(
            outcome(getattr(torch, function), theirs), type
        )
    for other in [kind.name for kind in dtypes.EVERY_DTYPE]:
        pair = (getattr(gradwright, other), getattr(torch, other))
        for mine_first in (True, False):
            a, b = ((mine, pair[0]), (theirs, pair[1])) if mine_first else ((pair[0], mine), (pair[1], theirs))
            assert gradwright.can_cast(*a) == torch.can_cast(*b), a
            found, expected = outcome(gradwright.promote_types, *a), outcome(torch.promote_types, *b)
            assert str(found).replace("gradwright", "torch") == str(expected), a


def error_of(function: Any, args: Any, kwargs: Any) -> type[Exception] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return type(error)
    return None


def stored(value: Any, kind: gradwright.dtype) -> Any:
    """Tensors of float32 in a type that is stored."""
    if isinstance(value, list | tuple):
        return [stored(item, kind) for item in value]
    if not isinstance(value, gradwright.Tensor) or value.dtype is not gradwright.float32:
        return value
    if kind in dtypes.FLOAT8_DTYPES:
        return value.to(kind)
    return gradwright.zeros(value.shape, dtype=kind)


# Where samples are of one element, or of none, PyTorch does not come to look at the type; some operators are made of
# others here, which take other types, and PyTorch makes some of elements without looking at them.
EVERY_FLOAT8 = [
    "_foreach_mul.Tensor",
    "_foreach_mul_.Scalar",
    "_foreach_mul_.ScalarList",
    "_foreach_mul_.Tensor",
    "_pack_padded_sequence_backward",
    "_pad_enum",
    "_pad_packed_sequence",
    "as_strided_scatter",
    "bincount",
    "count_nonzero",
    "count_nonzero.dim_IntList",
    "cummax",
    "cummin",
    "equal",
    "flipud",
    "linalg_matrix_power",
    "mv",
    "native_dropout",
    "norm.ScalarOpt_dim_dtype",
    "norm.ScalarOpt_dtype",
    "rrelu_with_noise_backward",
    "sum.dim_IntList",
    "sum_to_size",
]
KNOWN = {
    "float8_e4m3fn": frozenset([*EVERY_FLOAT8, *["addbmm", "conv_tbc", "einsum", "inner"]]),
    "float8_e5m2": frozenset([*EVERY_FLOAT8, *["addbmm", "conv_tbc", "einsum", "inner", "isfinite", "isinf"]]),
    "float8_e8m0fnu": frozenset([*EVERY_FLOAT8, *["_chunk_cat", "block_diag", "constant_pad_nd", "isfinite"]]),
    "bits8": frozenset(
        [
            "_chunk_cat",
            "_foreach_addcdiv.Tensor",
            "_foreach_addcdiv_.Tensor",
            "_foreach_addcmul.Tensor",
            "_foreach_addcmul_.Tensor",
            "_pack_padded_sequence",
            "_pack_padded_sequence_backward",
            "_pad_circular",
            "all",
            "any",
            "as_strided_scatter",
            "binomial",
            "block_diag",
            "cummax",
            "cummin",
            "embedding",
            "equal",
            "fill.Tensor",
            "flipud",
            "index_select",
            "isreal",
            "mv",
            "native_dropout",
            "repeat_interleave.self_Tensor",
            "where.ScalarOther",
            "where.ScalarSelf",
        ]
    ),
    "int4": frozenset(
        [
            "_foreach_addcdiv.Tensor",
            "_foreach_addcdiv_.Tensor",
            "_foreach_addcmul.Tensor",
            "_foreach_addcmul_.Tensor",
            "_pack_padded_sequence",
            "all",
            "any",
            "binomial",
            "cat",
            "column_stack",
            "concatenate",
            "detach_copy",
            "diag",
            "diag_embed",
            "diagflat",
            "diagonal_backward",
            "diagonal_scatter",
            "dstack",
            "embedding",
            "equal",
            "fft_fftshift",
            "fft_ifftshift",
            "flipud",
            "hstack",
            "index_select",
            "isreal",
            "mv",
            "narrow_copy",
            "positive",
            "repeat_interleave.self_Tensor",
            "roll",
            "select_backward",
            "select_scatter",
            "slice_backward",
            "slice_scatter",
            "stack",
            "unsafe_chunk",
            "unsafe_split.Tensor",
            "unsafe_split_with_sizes",
            "zero",
        ]
    ),
}


def of_pytorch(info: OperatorInfo) -> Any:
    base, _, overload = info.name.partition(".")
    return getattr(getattr(torch.ops.aten, base, None), overload or "default", None)


@properties.hold_for(
    (info, name)
    for info in OPERATORS.values()
    if info.samples and of_pytorch(info) is not None
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "bits8", "int4")
    if info.name not in KNOWN[name]
)
def an_operator_takes_what_pytorch_takes(info: OperatorInfo, name: str) -> None:
    theirs, kind = of_pytorch(info), getattr(gradwright, name)
    for text in info.samples[:2]:
        sample = make_sample(info, text, gradwright.float32, requires_grad=False)
        args = [stored(value, kind) for value in sample.args]
        kwargs = {key: stored(value, kind) for key, value in sample.kwargs.items()}
        expected = error_of(theirs, [to_torch(value) for value in args], {k: to_torch(v) for k, v in kwargs.items()})
        found = error_of(operator_function(info), args, kwargs)
        if expected is None:
            assert found is None, text
        else:
            assert found is not None, (text, expected)
            assert issubclass(found, expected), (text, expected, found)


def test_gradients_of_another_type() -> None:
    for wanted in ("float64", "bfloat16", "complex64", None):
        results = []
        for library in (gradwright, torch):
            x = library.tensor([1.0, 2.0], requires_grad=True)
            x.grad_dtype = None if wanted is None else getattr(library, wanted)
            (x * x).sum().backward()
            (x * 3).sum().backward()
            again = library.autograd.grad((x * x + x).sum(), x)[0]
            results.append((str(x.grad.dtype).rpartition(".")[2], x.grad.tolist(), str(again.dtype).rpartition(".")[2]))
        assert results[0] == results[1]


test_operator, test_properties_are_checked = properties.tests(least=5_900)
