"""Derivatives of matrix functions where formulas divide by zero, and of functions that see less than they are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import gradwright as torch
from gradwright.autograd import gradcheck, gradgradcheck


def by_permutations(A: Any) -> Any:
    """The determinant as the polynomial that it is."""
    size = A.shape[-1]
    total = torch.zeros((), dtype=A.dtype)
    for order in itertools.permutations(range(size)):
        sign = (-1) ** sum(a > b for a, b in itertools.combinations(order, 2))
        total = total + sign * torch.stack([A[i, j] for i, j in enumerate(order)]).prod()
    return total


def of_rank(rank: int, size: int, dtype: Any = torch.float64) -> Any:
    random = np.random.default_rng(rank)
    left, right = random.standard_normal((2, size, max(rank, 1)))
    if dtype is torch.complex128:
        left = left + 1j * right[::-1]
    return torch.tensor(left @ right.T * (rank > 0), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(("rank", "size"), [(0, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (2, 4), (3, 4)])
def test_determinant_of_any_rank(rank: int, size: int, dtype: Any) -> None:
    weights = torch.tensor(np.random.default_rng(9).standard_normal((2, size, size)), dtype=dtype)

    def derivatives(det: Callable[[Any], Any]) -> list[np.ndarray]:
        A = of_rank(rank, size, dtype).requires_grad_()
        (first,) = torch.autograd.grad(det(A), A, torch.ones((), dtype=dtype), create_graph=True)
        (second,) = torch.autograd.grad(torch.real((first * weights[0]).sum()), A, create_graph=True)
        found = [first, second]
        if size > 2:
            found += torch.autograd.grad(torch.real((second * weights[1]).sum()), A)
        found.append(torch.func.jvp(det, (A.detach(),), (weights[0],))[1])
        return [tensor.detach().numpy() for tensor in found]

    for mine, exact in zip(derivatives(torch.det), derivatives(by_permutations), strict=True):
        np.testing.assert_allclose(mine, exact, rtol=1e-7, atol=1e-9)


def test_determinants_of_a_batch_with_singular_matrices() -> None:
    matrices = torch.stack([of_rank(rank, 3) for rank in (3, 2, 1, 0)]).requires_grad_()
    assert gradcheck(torch.det, (matrices,))
    assert gradgradcheck(torch.det, (matrices,))
    alone = torch.stack([torch.func.grad(torch.det)(matrix.detach()) for matrix in matrices])
    np.testing.assert_allclose(torch.vmap(torch.func.grad(torch.det))(matrices.detach()).numpy(), alone.numpy())
    assert torch.vmap(torch.func.jacfwd(torch.func.jacrev(torch.det)))(matrices.detach()).shape == (4, 3, 3, 3, 3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_pseudoinverse_where_the_rank_stays(shape: tuple[int, int]) -> None:
    """Along products of thin factors the rank is the same, and the pseudoinverse smooth."""
    rows, columns = shape
    random = np.random.default_rng(0)
    left = torch.tensor(random.standard_normal((rows, 1)), requires_grad=True)
    right = torch.tensor(random.standard_normal((1, columns)), requires_grad=True)

    def inverse(left: Any, right: Any) -> Any:
        return torch.linalg.pinv(left @ right, rtol=1e-8)

    assert gradcheck(inverse, (left, right))
    assert gradgradcheck(inverse, (left, right))


@pytest.mark.parametrize("upper", [False, True])
def test_a_triangle_that_is_not_read_has_no_derivative(upper: bool) -> None:
    random = np.random.default_rng(1)
    factor = torch.tensor(random.standard_normal((3, 3)) + 3 * np.eye(3), requires_grad=True)
    side = torch.tensor(random.standard_normal((3, 2)), requires_grad=True)
    for function, inputs in (
        (lambda side, factor: torch.cholesky_solve(side, factor, upper), (side, factor)),
        (lambda factor: torch.cholesky_inverse(factor, upper), (factor,)),
        (lambda side, factor: torch.triangular_solve(side, factor, upper)[0], (side, factor)),
    ):
        assert gradcheck(function, inputs, check_forward_ad=True)
        assert gradgradcheck(function, inputs)
        (grad,) = torch.autograd.grad(function(*inputs).sum(), factor)
        assert not (grad.tril(-1) if upper else grad.triu(1)).any()


def test_columns_beyond_the_singular_values() -> None:
    """They are known up to a turning among themselves; the projection on them is known, and has a gradient."""
    matrix = torch.tensor(np.random.default_rng(2).standard_normal((4, 2)), requires_grad=True)
    vector = torch.tensor(np.random.default_rng(3).standard_normal(4))

    def outside(A: Any) -> Any:
        return torch.linalg.svd(A)[0][:, 2:].mT.mv(vector).square().sum()

    def outside_of_rows(A: Any) -> Any:
        return torch.linalg.svd(A.mT)[2][2:].mv(vector).square().sum()

    for function in (outside, outside_of_rows):
        assert gradcheck(function, (matrix,), check_forward_ad=True)
        assert gradgradcheck(function, (matrix,))


def test_a_reflection_that_has_no_inverse() -> None:
    """1 - t v v^H with t v^H v = 1 is a projection."""
    vectors = torch.tensor([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    factors = torch.tensor([1 / 6, 1 / 1.25], dtype=torch.float64, requires_grad=True)
    assert gradcheck(torch.linalg.householder_product, (vectors, factors), check_forward_ad=True)
    assert gradgradcheck(torch.linalg.householder_product, (vectors, factors))


def test_a_norm_at_zero_has_finite_second_derivatives() -> None:
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(torch.linalg.vector_norm(x), x, weight, create_graph=True)
    for grad in torch.autograd.grad(first.sum(), (x, weight), allow_unused=True):
        assert grad is None or math.isfinite(float(grad.abs().sum()))


def test_a_loss_that_depends_on_a_phase_is_refused() -> None:
    matrix = of_rank(3, 3, torch.complex128).requires_grad_()
    hermitian = matrix.detach() + matrix.detach().mH
    hermitian.requires_grad_()
    for vectors, given in (
        (lambda A: torch.linalg.svd(A)[0], matrix),
        (lambda A: torch.linalg.eig(A)[1], matrix),
        (lambda A: torch.linalg.eigh(A)[1], hermitian),
    ):
        with pytest.raises(RuntimeError, match="ill-defined"):
            torch.real(vectors(given).sum()).backward()
        (vectors(given).abs() ** 2).sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("size", [100, 401])
def test_determinants_are_in_range_where_products_of_some_pivots_are_not(size: int, dtype: Any) -> None:
    random = np.random.default_rng(size)
    unitary = torch.tensor(np.linalg.qr(random.standard_normal((size, size)))[0], dtype=dtype)
    # The first pivots are small, and the last ones large.
    scales = torch.tensor(np.repeat([0.25, 4.0, 1.0], [size // 2, size // 2, size % 2]), dtype=dtype)
    A = (scales[:, None] * unitary).requires_grad_()
    det = torch.linalg.det(A)
    sign, logarithm = torch.linalg.slogdet(A)
    det.abs().backward()
    tolerance = 1e3 * torch.finfo(dtype).eps
    assert abs(abs(det.item()) - 1) < tolerance
    assert abs(sign.item() - det.item()) < tolerance
    assert abs(logarithm.item()) < tolerance
    torch.testing.assert_close(A.grad * scales[:, None], unitary, rtol=0, atol=tolerance)


def test_determinants_out_of_range() -> None:
    large = torch.eye(400) * 10
    assert torch.linalg.det(large).item() == math.inf
    assert torch.linalg.det(large / 100).item() == 0
    assert torch.linalg.det(torch.diag(torch.tensor([1e-44, 1e38, 1e6]))).item() == pytest.approx(1, rel=0.1)
    assert torch.linalg.slogdet(large)[1].item() == pytest.approx(400 * math.log(10))
    assert math.isnan(torch.linalg.det(torch.diag(torch.tensor([math.nan, 1.0]))).item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 4.0])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_exponentials_of_many_small_matrices(size: int, scale: float, dtype: Any) -> None:
    random = np.random.default_rng(size)
    given = random.standard_normal((7, 400, size, size)) * (scale / size)
    given[0, 0] *= 1e-3
    A = torch.tensor(given, dtype=dtype)
    found = torch.linalg.matrix_exp(A)
    wanted = scipy.linalg.expm(A.numpy())
    tolerance = 1e4 * torch.finfo(dtype).eps  # what SciPy loses
    bounds = tolerance * np.abs(wanted).max(axis=(-2, -1), keepdims=True)
    assert found.dtype == dtype
    assert bool((np.abs(found.numpy() - wanted) <= bounds).all())
