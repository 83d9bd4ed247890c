"""Gradients of reductions, products and einsum against PyTorch where formulas go wrong: zeros, ties, NaN, repeats."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from gradwright.autograd import grad

INF, NAN = float("inf"), float("nan")
ZEROS = np.array([[1.0, 0, 2], [0, 3, 0], [4, 5, 6]])
TIES = np.array([[1.0, 1, 0], [2, 2, 2]])
MISSING = np.array([[1.0, NAN, 2], [3, 4, 5]])
HALF_EMPTY = np.array([[1.0, -INF], [-INF, 2]])
AT_ZERO = np.array([[0.0, 0], [1, 0], [3, -4]])


def weights(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    values = np.random.default_rng(len(shape)).uniform(0.5, 1.5, shape)
    return np.asarray(values + 0.5j * values if np.dtype(dtype).kind == "c" else values, dtype)


def check(function: Callable[..., Any], *arrays: np.ndarray, second: bool = True) -> None:
    """`function(library, *tensors)` gives the same values, gradients and gradients of gradients in both libraries."""
    ours = [gradwright.tensor(array, requires_grad=True) for array in arrays]
    theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(torch, *theirs)
        found = function(gradwright, *ours)
        same(found, expected)
        start = weights(tuple(expected.shape), expected.detach().resolve_conj().numpy().dtype)
        grads = grad(found, ours, gradwright.tensor(start), create_graph=second)
        expected_grads = torch.autograd.grad(expected, theirs, torch.tensor(start), create_graph=second)
        for one, other in zip(grads, expected_grads, strict=True):
            same(one, other)
        if not second or not expected_grads[0].requires_grad:
            return
        starts = [weights(tuple(g.shape), g.detach().resolve_conj().numpy().dtype) for g in expected_grads]
        again = grad(grads, ours, [gradwright.tensor(s) for s in starts], allow_unused=True)
        expected_again = torch.autograd.grad(
            expected_grads, theirs, [torch.tensor(s) for s in starts], allow_unused=True
        )
    for one, other in zip(again, expected_again, strict=True):
        if other is None or one is None:
            assert one is None or not one.detach().numpy().any()
            assert other is None or not other.detach().numpy().any()
        else:
            same(one, other)


def same(one: Any, other: Any) -> None:
    expected = other.detach().resolve_conj().resolve_neg().numpy()
    found = one.detach().numpy()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("scale", [1.0, 1 + 0.5j])
def test_products_with_zeros(scale: complex) -> None:
    for array in (ZEROS * scale, ZEROS[0] * scale, ZEROS[1] * scale, ZEROS[2] * scale, np.zeros(0) * scale):
        check(lambda lib, x: x.prod(), array)
    for dim in (0, 1):
        check(lambda lib, x, dim=dim: x.prod(dim), ZEROS * scale)
        check(lambda lib, x, dim=dim: x.prod(dim, keepdim=True), np.zeros((3, 0)) * scale)
        check(lambda lib, x, dim=dim: x.cumprod(dim), ZEROS * scale)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_ties_share(name: str) -> None:
    for array in (TIES, MISSING):
        check(lambda lib, x: getattr(x, name)(), array)
        check(lambda lib, x: getattr(x, name)(1, keepdim=True), array)


@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_extrema(name: str) -> None:
    for array in (TIES, MISSING):
        check(lambda lib, x: getattr(x, name)(), array)
    check(lambda lib, x: getattr(x, name)(0)[0], MISSING)
    check(lambda lib, x: getattr(x, name)(-1, keepdim=True)[0], np.array(2.0))


@pytest.mark.parametrize("order", [1, 2, 3, 1.5, 0.5, INF, -INF, -1])
def test_norms_at_zero(order: float) -> None:
    check(lambda lib, x: lib.linalg.vector_norm(x, order, 1), AT_ZERO, second=False)
    if order in (1, 2, 3):
        check(lambda lib, x: lib.linalg.vector_norm(x, order, 1), AT_ZERO * (1 + 1j), second=False)


def test_logsumexp_with_empty_weights() -> None:
    check(lambda lib, x: x.logsumexp(1), HALF_EMPTY)
    everything_empty = gradwright.tensor([-INF, -INF], requires_grad=True)
    (found,) = grad(everything_empty.logsumexp(0), everything_empty)
    assert found.tolist() == [0.0, 0.0]


def test_variance_at_its_edges() -> None:
    for correction in (0, 1, 3, 4):
        check(lambda lib, x, c=correction: lib.var(x, 1, correction=c), ZEROS)
    check(lambda lib, x: lib.std(x, 1), np.ones((2, 3)), second=False)
    check(lambda lib, x: lib.var_mean(x, 0)[1] * 2 + lib.var_mean(x, 0)[0], ZEROS)


def test_cumulative_maxima() -> None:
    check(lambda lib, x: x.cummax(1)[0], TIES)
    check(lambda lib, x: x.logcumsumexp(0), np.array([1000.0, -1000, 1, 2]))


def test_running_sums_of_exponentials_at_their_ends() -> None:
    """Long rows, values far apart and infinite ones; where all so far are -inf PyTorch has NaN, and 0 stands here."""
    long = np.random.default_rng(0).normal(scale=5, size=(3, 301))
    check(lambda lib, x: x.logcumsumexp(1), long)
    check(lambda lib, x: x.logcumsumexp(0), long[:, :5])
    for row in ([1, -200, 500, -3, 2000], [1, INF, 2, 3], [1, INF, INF, -INF], [1, NAN, 2, 3], [NAN, -INF, INF]):
        check(lambda lib, x: x.logcumsumexp(0), np.array(row, float), second=False)
    x = gradwright.tensor([-INF, -INF, 1, 2]).requires_grad_()
    np.testing.assert_allclose(grad(x.logcumsumexp(0).sum(), [x])[0].numpy(), [0, 0, 1.268941, 0.731059], rtol=1e-5)


def test_tangents_of_sums_of_large_exponentials() -> None:
    """PyTorch's tangent is NaN, though its results change by 1: the exponential is of complex numbers, and infinite."""
    point, step = np.array([1e4 + 1j, 3, 1e4 + 2j]), 1e-4

    def result(x: np.ndarray) -> np.ndarray:
        return torch.tensor(x).logcumsumexp(0).numpy()

    def tangent(library: Any) -> np.ndarray:
        with library.autograd.forward_ad.dual_level():
            x = library.autograd.forward_ad.make_dual(library.tensor(point), library.tensor(np.ones_like(point)))
            return np.asarray(library.autograd.forward_ad.unpack_dual(x.logcumsumexp(0)).tangent.numpy())

    assert np.isnan(tangent(torch)).all()
    np.testing.assert_allclose(
        tangent(gradwright), (result(point + step) - result(point - step)) / (2 * step), rtol=1e-6
    )


EQUATIONS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk", ((2, 3), (3, 4))),
    ("i,i->", ((3,), (3,))),
    ("ij->ji", ((2, 3),)),
    ("ii", ((3, 3),)),
    ("iij->ij", ((3, 3, 2),)),
    ("...i->...", ((2, 3, 4),)),
    ("a...b,b...->a...", ((2, 3, 4), (4, 3))),
    ("ij,kl->ijkl", ((2, 3), (2, 2))),
    ("bn,anm,bm->ba", ((2, 3), (4, 3, 5), (2, 5))),
    ("ij,ij->ij", ((2, 3), (1, 3))),
    ("ij,ij->i", ((2, 3), (2, 1))),
    ("A b, b c -> A c", ((2, 3), (3, 2))),
    ("ba", ((2, 3),)),
    ("bA", ((2, 3),)),
    ("i->", ((0,),)),
    (",", ((), ())),
    ("ijk,jil->kl", ((2, 3, 4), (3, 2, 5))),
    ("...ij,...jk", ((2, 1, 2, 3), (4, 3, 2))),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    for dtype in ("float64", "complex128"):
        check(lambda lib, *xs: lib.einsum(equation, list(xs)), *(weights(shape, dtype) for shape in shapes))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij", ((2,),)),
        ("ij,jk", ((2, 3),)),
        ("ij,jk", ((2, 3), (4, 2))),
        ("i->j", ((2,),)),
        ("i->ii", ((2,),)),
        ("i%", ((2, 2),)),
        ("ii", ((2, 3),)),
        ("i.j", ((2, 3),)),
    ],
)
def test_wrong_einsum(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    for library in (torch, gradwright):
        with pytest.raises(RuntimeError):
            library.einsum(equation, [library.ones(shape) for shape in shapes])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((3,), (2, 3, 2)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((2, 2, 3), (3,)),
        ((0, 2, 3), (3, 2)),
        ((2, 0, 3), (3, 2)),
        ((2, 3, 0), (0, 2)),
        ((2, 2, 0), (2, 0, 3)),
        ((5, 2, 3), (5, 3, 2)),
    ],
)
def test_matmul_of_every_rank(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    for dtype in ("float64", "complex128"):
        check(lambda lib, x, y: x @ y, weights(left, dtype), weights(right, dtype))


def test_solutions_of_linear_systems() -> None:
    matrix = np.array([[[2.0, 1], [0, 3]], [[1, -1], [2, 1]]])
    for dtype in ("float64", "complex128"):
        given = matrix.astype(dtype)
        check(lambda lib, a, b: lib.linalg.solve(a, b), given, weights((2, 3), dtype))
        check(lambda lib, a, b: lib.linalg.solve(a, b, left=False), given, weights((3, 2), dtype))
        check(lambda lib, a: lib.linalg.inv(a), given)


def test_strided_windows_over_memory() -> None:
    for size, stride, offset in (((3, 3), (1, 1), 0), ((2, 2), (0, 2), 1), ((), (), 4), ((0, 2), (1, 1), 0)):
        check(lambda lib, x, z=size, s=stride, o=offset: lib.as_strided(x.t(), z, s, o), ZEROS)
    check(lambda lib, x: lib.as_strided(x.expand(2, 3), (2, 2), (1, 1)), ZEROS[2])
