"""Reductions of what a mask keeps, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright

RANDOM = np.random.default_rng(5)
X, Y = RANDOM.standard_normal((2, 3, 4, 2))
# The second row of the first matrix counts nowhere.
MASK = RANDOM.uniform(size=(3, 4, 2)) < 0.6
MASK[1] = False

REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "norm", "var", "std", "logsumexp")
TOLERANCES = {2: (1e-2, 1e-2), 4: (1e-5, 1e-6), 8: (1e-7, 1e-9)}  # relative and absolute, by bytes of an element
ALONG = ("softmax", "log_softmax", "softmin", "cumsum", "cumprod", "median")


def outcome(library: Any, name: str, array: np.ndarray, mask: np.ndarray | None, args: Any, options: Any) -> Any:
    """The result and its gradient; or the class of the error."""
    x = library.tensor(array)
    if array.dtype.kind in "fc":
        x.requires_grad_()
    named = {key: getattr(library, value) if key == "dtype" else value for key, value in options.items()}
    try:
        out = getattr(library.masked, name)(x, *args, mask=None if mask is None else library.tensor(mask), **named)
    except Exception as error:  # the other side has to raise the same
        return type(error)
    found = [out.detach().numpy()]
    if out.requires_grad:
        # What is not finite counts in no loss.
        kept = library.where(library.isfinite(out), out, library.zeros_like(out))
        (abs(kept).sum() if out.is_complex() else kept.sum()).backward()
        found.append(np.zeros_like(array) if x.grad is None else x.grad.numpy())
    return str(out.dtype).partition(".")[2], found


def same(name: str, array: np.ndarray, mask: np.ndarray | None, *args: Any, **options: Any) -> None:
    mine = outcome(gradwright, name, array, mask, args, options)
    other = outcome(torch, name, array, mask, args, options)
    if isinstance(other, type):
        assert mine is other
        return
    assert not isinstance(mine, type), mine
    assert mine[0] == other[0]
    assert len(mine[1]) == len(other[1])
    relative, absolute = TOLERANCES[array.dtype.itemsize] if array.dtype.kind == "f" else (1e-7, 1e-9)
    for one, another in zip(mine[1], other[1], strict=True):
        np.testing.assert_allclose(one, another, rtol=relative, atol=absolute)


@pytest.mark.parametrize("mask", [None, MASK, MASK[0], MASK[:, :1], MASK.astype(float)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, mask: np.ndarray | None) -> None:
    for dim in (None, 1, -1, (0, 2), (), [0, 1, 2]):
        for keepdim in (False, True):
            same(name, X, mask, **{"ord": 3.0} if name == "norm" else {}, dim=dim, keepdim=keepdim)


@pytest.mark.parametrize("name", [*REDUCTIONS, *ALONG])
def test_dtypes_and_refusals(name: str) -> None:
    dims: Any = {"dim": 1}
    if name in ("var", "std"):
        dims["unbiased"] = True
    same(name, X.astype(np.float32), MASK, **dims)
    same(name, X.astype(np.float32), MASK, **dims, dtype="float64")
    same(name, np.array(2.0), None, **{**dims, "dim": 0})
    same(name, np.array(2.0), np.array(False), **{**dims, "dim": 0})
    same(name, X, np.ones((1, 3, 4, 2), bool), **dims)
    same(name, X, np.ones((3, 1), bool), **dims)
    same(name, X, MASK, **{**dims, "dim": 5})
    if name in ("sum", "prod", "amax", "amin"):
        same(name, np.arange(12).reshape(3, 4), MASK[:, :, 0], **dims)
    if name in ("sum", "prod", "mean", "norm", "var", "cumsum", "cumprod"):
        same(name, X + 1j * Y, MASK, **dims)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(name: str) -> None:
    for dim in (None, 0, -1):
        for keepdim in (False, True):
            same(name, X, MASK, dim=dim, keepdim=keepdim)
            same(name, np.arange(12).reshape(3, 4), MASK[:, :, 0], dim=None if dim is None else dim % 2)


@pytest.mark.parametrize("name", ALONG)
def test_along_a_dimension(name: str) -> None:
    for dim in (0, 1, -1):
        for mask in (None, MASK, MASK[:, :1]):
            same(name, X, mask, dim)


def test_medians_of_integers() -> None:
    numbers = RANDOM.integers(-9, 9, (3, 5))
    same("median", numbers, np.eye(3, 5, dtype=bool), 1)
    same("median", numbers, numbers > 0, 0)
    same("median", numbers, np.zeros((3, 5), bool), 1)


def test_corrections_and_orders() -> None:
    for correction in (0, 1, 2, 1.5):
        same("var", X, MASK, 1, correction=correction)
        same("std", X.astype(np.float16), None, 1, correction=correction, keepdim=True)
    same("var", X, MASK, 1, True, correction=1)
    for order in (0, 1, 2, -1, float("inf"), -float("inf"), 3.5):
        same("norm", X, MASK, order, 1)
        if order >= 1:
            same("normalize", X, MASK, order, 1)
    same("normalize", X, None, 2.0, -1, eps=10.0)


@pytest.mark.parametrize("masks", [(None, None), (MASK, None), (None, MASK), (MASK, ~MASK), (MASK, MASK)])
def test_sums_of_exponentials(masks: tuple[np.ndarray | None, np.ndarray | None]) -> None:
    found = []
    for library in (gradwright, torch):
        first, second = (None if mask is None else library.tensor(mask) for mask in masks)
        x = library.tensor(X)
        out = library.masked.logaddexp(x, library.tensor(Y), input_mask=first, other_mask=second)
        found.append(out.numpy())
    np.testing.assert_allclose(*found, rtol=1e-9)
