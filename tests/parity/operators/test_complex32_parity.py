"""complex32: what PyTorch's CPU computes of it and what it refuses, on the samples of its own tests, and files."""

from __future__ import annotations

import contextlib
import io
import itertools
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from runtime.base import dtypes
from tools.opinfo.arrays import NotApplicable, array_of, flatten, is_tensor
from tools.opinfo.comparing import compare_results
from tools.opinfo.entries import entries
from tools.opinfo.measuring import UNDETERMINED, Call
from tools.opinfo.sides import Side

SAMPLES = 6
# Computed here, where PyTorch refuses: what it is made of is other operators.
MORE = {
    "nn_functional_dropout", "nn_functional_dropout2d", "nn_functional_dropout3d", "nn_functional_alpha_dropout",
    "nn_functional_feature_alpha_dropout_with_train", "nn_functional_pad_reflect", "nn_functional_pad_replicate",
    "nn_functional_pad_replicate_negative", "to_sparse", "masked_norm", "flip", "rot90",
}  # fmt: skip
# Refused here by another error, or made of operators that refuse.
OTHERS = {
    "as_strided_scatter", "nn_functional_soft_margin_loss", "nn_functional_linear_cross_entropy_chunked",
    "nn_functional_linear_cross_entropy_chunked_none", "masked_amax", "masked_amin", "masked_argmax", "masked_argmin",
    "masked_softmax", "masked_log_softmax", "masked_softmin", "masked_logaddexp", "masked_median",
}  # fmt: skip


def of_complex32(value: Any) -> Any:
    """A value with complex32 in the place of floating and complex dtypes."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise NotApplicable("sparse")
        computed = value.is_complex() or value.is_floating_point()
        return value.detach().to(torch.complex32) if computed else value.detach()
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(of_complex32(item) for item in value)
    return {key: of_complex32(item) for key, item in value.items()} if isinstance(value, dict) else value


def samples_of(op: Any) -> list[Any]:
    """Some of those of complex64, or of float32 where there are none, in complex32."""
    dtype = torch.complex64 if torch.complex64 in op.supported_dtypes("cpu") else torch.float32
    known = list(itertools.islice(op.sample_inputs("cpu", dtype), 64)) if dtype in op.supported_dtypes("cpu") else []
    made = []
    for sample in known[:: max(1, len(known) // SAMPLES)]:
        with contextlib.suppress(NotApplicable):
            sample.input, sample.args = of_complex32(sample.input), of_complex32(sample.args)
            sample.kwargs = of_complex32(sample.kwargs)
            made.append(sample)
    return made


def outcome(side: Side, op: Any, sample: Any) -> list[Any] | Exception:
    """The results, or the error."""
    try:
        results = Call(side, op, sample).run()[1]
        for each in results:
            if is_tensor(each):
                array_of(each)
    except NotApplicable:
        raise
    except Exception as error:
        return error
    return results


@pytest.mark.parametrize("name", entries())
@pytest.mark.filterwarnings("ignore")
def test_functions(name: str) -> None:
    """The same results, and errors of the same class or of one below it.

    PyTorch looks at dtypes where it computes, so it gives a result where there is nothing to compute.
    """
    op = entries()[name]
    ours, theirs = Side(gradwright), Side(torch)
    outcomes = []
    for sample in samples_of(op):
        with contextlib.suppress(NotApplicable):
            outcomes.append((sample, outcome(theirs, op, sample)))
    refused = {type(wanted) for _, wanted in outcomes if isinstance(wanted, Exception)}
    for sample, wanted in outcomes:
        found = outcome(ours, op, sample)
        if isinstance(wanted, Exception) and isinstance(found, Exception):
            assert isinstance(found, type(wanted)) or name in OTHERS, (wanted, found)
        elif isinstance(wanted, Exception):
            assert name in MORE, wanted
        elif isinstance(found, Exception):
            assert isinstance(found, tuple(refused)) or name in OTHERS or not computes(sample), found
        else:
            compare_results(wanted, found, name, values=op.name not in UNDETERMINED)


def computes(sample: Any) -> bool:
    """Whether there is more than one element to compute with."""
    tensors = [each for each in flatten([sample.input, sample.args, sample.kwargs]) if is_tensor(each)]
    return all(each.numel() > 1 for each in tensors)


NAMES = [kind.name for kind in (*dtypes.ALL_DTYPES, *dtypes.FLOAT8_DTYPES)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_conversions(name: str) -> None:
    random = np.random.default_rng(0)
    numbers = random.normal(0, 1, (2000, 2)) * 2.0 ** random.integers(-26, 18, (2000, 2))
    pairs = [torch.tensor(numbers).half(), torch.tensor([[np.inf, np.nan], [-0.0, 0.0], [65504, -65504]]).half()]
    theirs = torch.view_as_complex(torch.cat(pairs))
    mine = gradwright.view_as_complex(gradwright.tensor(torch.cat(pairs).numpy()))
    if not name.startswith(("int", "uint")):  # what does not fit is anything
        wanted, found = theirs.to(getattr(torch, name)), mine.to(getattr(gradwright, name))
        same_bits(found, wanted)
    small = torch.tensor(numbers[:, 0]).clamp(0, 100).to(getattr(torch, name))
    same_bits(bits_of(small, name).to(gradwright.complex32), small.to(torch.complex32))
    wide = torch.tensor(numbers[:, 0] + 1j * numbers[:, 1]).to(torch.complex128)
    same_bits(gradwright.tensor(wide.numpy()).to(gradwright.complex32), wide.to(torch.complex32))


def bits_of(tensor: torch.Tensor, name: str) -> gradwright.Tensor:
    """A Tensor of PyTorch as one of ours."""
    memory = bytearray(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return gradwright.frombuffer(memory, dtype=getattr(gradwright, name))


def same_bits(found: gradwright.Tensor, wanted: torch.Tensor) -> None:
    assert str(found.dtype).rpartition(".")[2] == str(wanted.dtype).rpartition(".")[2]
    if wanted.is_complex():
        found, wanted = gradwright.view_as_real(found), torch.view_as_real(wanted)
    first, second = found.double().numpy(), wanted.double().numpy()
    np.testing.assert_array_equal(first, second)


def test_files_are_exchanged() -> None:
    theirs, mine = io.BytesIO(), io.BytesIO()
    torch.save(torch.tensor([1 + 2j, 3.5]).to(torch.complex32), theirs)
    gradwright.save(gradwright.tensor([1 + 2j, 3.5]).to(gradwright.complex32), mine)
    theirs.seek(0)
    mine.seek(0)
    assert gradwright.load(theirs).tolist() == torch.load(mine).tolist() == [1 + 2j, 3.5]
    shared = torch.tensor([1j, 2]).to(torch.complex32)
    gradwright.from_dlpack(shared)[0] = 7
    torch.from_dlpack(gradwright.from_dlpack(shared))[1] = 8
    assert shared.tolist() == [7, 8]


@pytest.mark.parametrize("function", ["rand", "randn"])
@pytest.mark.parametrize("count", [3, 16, 21])
def test_random_numbers_are_those_of_pytorch(function: str, count: int) -> None:
    torch.manual_seed(3)
    gradwright.manual_seed(3)
    wanted = getattr(torch, function)(count, dtype=torch.complex32)
    assert getattr(gradwright, function)(count, dtype=gradwright.complex32).tolist() == pytest.approx(
        wanted.tolist(), abs=2e-3
    )


GRADIENTS = [
    lambda x: x * x, lambda x: x * 2j, lambda x: x * x.conj(), lambda x: x.abs(), lambda x: x.real, lambda x: x.imag,
    lambda x: x + x, lambda x: x - x * x, lambda x: x[1:], lambda x: x[[1, 1]], lambda x: x.cfloat().exp(),
    lambda x: x.sgn(), lambda x: x.to(x.real.dtype), lambda x: x.repeat(2), lambda x: x.sum(),
    lambda x: x.expand(3, 2).clone(), lambda x: x.view(1, 2).tril(),
]  # fmt: skip


@pytest.mark.parametrize("function", GRADIENTS, ids=range(len(GRADIENTS)))
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_gradients(function: Any) -> None:
    def gradient(library: Any) -> Any:
        x = library.tensor([1 + 2j, 3 - 1j]).to(library.complex32).requires_grad_()
        try:
            out = function(x)
            (grad,) = library.autograd.grad(out, x, library.ones_like(out))
        except Exception as error:
            return type(error)
        assert grad.dtype is library.complex32
        return grad.tolist()

    wanted = gradient(torch)
    assert gradient(gradwright) == (wanted if isinstance(wanted, type) else pytest.approx(wanted, rel=5e-3, abs=5e-3))
