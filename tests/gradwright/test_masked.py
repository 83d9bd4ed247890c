"""Reductions of what a mask keeps, beside NumPy's masked arrays; resizing and matrices of low rank."""

from __future__ import annotations

import numpy as np
import pytest

import gradwright as torch
from gradwright.autograd import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(0)
ARRAY = RANDOM.standard_normal((3, 4))
MASK = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1]], bool)
KEPT = np.ma.array(ARRAY, mask=~MASK)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("sum", KEPT.sum(1)), ("prod", KEPT.prod(1)), ("mean", KEPT.mean(1)), ("var", KEPT.var(1, ddof=1)),
        ("std", KEPT.std(1, ddof=1)), ("amax", KEPT.max(1)), ("amin", KEPT.min(1)), ("argmax", KEPT.argmax(1)),
        ("argmin", KEPT.argmin(1)), ("norm", np.sqrt((KEPT**2).sum(1))), ("logsumexp", np.log(np.exp(KEPT).sum(1))),
        ("softmax", (np.exp(KEPT) / np.exp(KEPT).sum(1)[:, None]).filled(0)), ("cumsum", KEPT.filled(0).cumsum(1)),
        ("cumprod", KEPT.filled(1).cumprod(1)),
    ],
)  # fmt: skip
def test_what_counts(name: str, wanted: np.ndarray) -> None:
    function = getattr(torch.masked, name)
    mask = torch.tensor(MASK)
    np.testing.assert_allclose(function(torch.tensor(ARRAY), dim=1, mask=mask).numpy(), wanted, rtol=1e-12)
    if name not in ("argmax", "argmin"):
        x = torch.tensor(ARRAY, requires_grad=True)
        assert gradcheck(lambda x: function(x, dim=1, mask=mask), x)
        assert gradgradcheck(lambda x: function(x, dim=1, mask=mask), x)


def test_nothing_counts() -> None:
    x, mask = torch.ones(2), torch.tensor([False, False])
    found = [float(getattr(torch.masked, name)(x, mask=mask)) for name in ("sum", "prod", "amax", "amin", "mean")]
    np.testing.assert_array_equal(found, [0, 1, -np.inf, np.inf, np.nan])


def test_masks_that_do_not_fit() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(IndexError, match="got 3 dimensions for an input of 2"):
        torch.masked.sum(x, mask=torch.ones(1, 2, 3, dtype=torch.bool))
    with pytest.raises(RuntimeError):
        torch.masked.sum(x, mask=torch.ones(2, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="dim=1 appears multiple times"):
        torch.masked.sum(x, (1, -1))
    with pytest.raises(NotImplementedError, match=r"masked\.amax: with a mask there is no neutral element"):
        torch.masked.amax(x.bool(), 1, mask=x.bool())


def test_resizing_over_the_same_memory() -> None:
    x = torch.arange(6.0)
    y = x[1:4]
    assert y.resize_(2, 2).tolist() == [[1, 2], [3, 4]]
    y.zero_()
    assert x.tolist() == [0, 0, 0, 0, 0, 5]
    assert torch.ones(2, device="meta").resize_(1, 2).shape == (1, 2)


def test_resizing_over_new_memory() -> None:
    x = torch.arange(3.0)
    assert x.resize_(5)[:3].tolist() == [0, 1, 2]
    assert x.shape == (5,)


def test_results_of_lu_are_written_into_tensors_of_another_size() -> None:
    matrix = torch.tensor(RANDOM.standard_normal((3, 3)))
    out = torch.zeros(0, dtype=torch.float64), torch.zeros(0, dtype=torch.int32)
    torch.lu(matrix, out=out)
    for written, made in zip(out, torch.lu(matrix), strict=True):
        assert torch.equal(written, made)


def test_low_rank() -> None:
    array = RANDOM.standard_normal((6, 2)) @ RANDOM.standard_normal((2, 9))
    x = torch.tensor(array)
    U, S, V = torch.svd_lowrank(x, 3)
    np.testing.assert_allclose((U * S @ V.mT).numpy(), array, atol=1e-12)
    U, S, V = torch.pca_lowrank(x, 3)
    np.testing.assert_allclose((U * S @ V.mT).numpy(), array - array.mean(0), atol=1e-12)
