"""Products of groups of matrices beside PyTorch, which wants rows of a multiple of 16 bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gradwright
from support.kernel_cases import cases, compare

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "a": _RANDOM.standard_normal((6, 8)),
    "b": _RANDOM.standard_normal((8, 12)),
    "sa": _RANDOM.standard_normal((3, 4, 8)),
    "sb": _RANDOM.standard_normal((3, 8, 12)),
    "bias": _RANDOM.standard_normal(12),
    "O": np.array([2, 3, 6], np.int32),
    "P": np.array([1, 1, 8], np.int32),
    "Q": np.array([4, 4, 12], np.int32),
    "TOO_FAR": np.array([2, 3, 9], np.int32),
}

CASES = """
T._grouped_mm(a, sb, O) | T._grouped_mm(sa, b, Q) | T._grouped_mm(sa, sb)
T._grouped_mm(sa[0], b, P) | T._grouped_mm(a, sb, TOO_FAR)
T._grouped_mm(a.bfloat16(), sb.bfloat16()[:, :, :8].clone(), O)
T._grouped_mm(a.half(), sb.half()[:, :, :8].clone(), O)
T._grouped_mm(sa.detach().bfloat16(), sa.detach().bfloat16().mT)
T._grouped_mm(a, sb, O, None, T.float32) | T._grouped_mm(a, sb, O, None, T.float64) | T._grouped_mm(a, sb, O, bias)
T._grouped_mm(a, sb, O, None, T.bfloat16) | T._grouped_mm(sa.bfloat16(), sa.bfloat16().mT, out_dtype=T.float32)
T._grouped_mm(a, sb.mT.contiguous().mT, O) | T._grouped_mm(a, sb, O.long()) | T._grouped_mm(a, sb, O.float())
T._grouped_mm(a, sb) | T._grouped_mm(sa, sb, O) | T._grouped_mm(a, sb, O[None]) | T._grouped_mm(a, sb, O[:2])
T._grouped_mm(sa, b, Q[:2]) | T._grouped_mm(sa, sb[:2]) | T._grouped_mm(sa, sa) | T._grouped_mm(a, sb[:, :4], O)
T._grouped_mm(a[0], sb, O) | T._grouped_mm(a, sb[None], O) | T._grouped_mm(a * 1j, sb * 1j, O)
T._grouped_mm(a.long(), sb.long(), O) | T._grouped_mm(a, sb.bfloat16()[:, :, :8].clone(), O)
T._grouped_mm(a > 0, sb > 0, O)
F.grouped_mm(a, sb, offs=O) | F.grouped_mm(sa, sb) | F.grouped_mm(a, sb, O) | F.grouped_mm(a, sb, offs=O, bias=bias)
F.grouped_mm(sa, sb, out_dtype=T.float32) | F.grouped_mm(sa, sb, out_dtype=T.float64)
"""


@pytest.mark.parametrize("text", cases(CASES))
def test_case(text: str) -> None:
    compare(text, ARRAYS)


def test_second_derivatives() -> None:
    results = []
    for library in (gradwright, torch):
        a, b = (library.tensor(ARRAYS[name].astype(np.float32), requires_grad=True) for name in ("a", "sb"))
        offs = library.tensor(ARRAYS["O"])
        out = library._grouped_mm(a, b, offs)
        assert out.grad_fn.name() == "GroupedMmBackward0"
        grads = library.autograd.grad(out.square().sum(), (a, b), create_graph=True)
        results.append(library.autograd.grad(sum(grad.square().sum() for grad in grads), (a, b)))
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-4)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_batches_of_groups() -> None:
    results = []
    for library in (gradwright, torch):
        a, b = (library.tensor(ARRAYS[name].astype(np.float32)) for name in ("sa", "sb"))
        ends = library.tensor([1, 2, 4], dtype=library.int32)
        results.append(library.func.vmap(lambda x, b=b, ends=ends, f=library._grouped_mm: f(x, b, ends))(a))
    np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-5, atol=1e-6)
