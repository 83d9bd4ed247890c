"""What the operators of fields compute, by what is known of it."""

import math
import subprocess
import sys

import fields
import numpy as np
import pytest

import gradwright as torch

F64 = torch.float64


def normal(*shape, seed=0, dtype=F64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=dtype, generator=generator)


# -- harmonics of the sphere


def sphere(count):
    """Points and weights of a quadrature that is exact for polynomials up to degree 2 * count - 1."""
    heights, weights = np.polynomial.legendre.leggauss(count)
    angles = np.arange(2 * count) * math.pi / count
    height, angle = np.meshgrid(heights, angles, indexing="ij")
    around = np.sqrt(1 - height**2)
    points = np.stack([around * np.cos(angle), around * np.sin(angle), height], axis=-1)
    return torch.tensor(points.reshape(-1, 3)), torch.tensor(np.repeat(weights * math.pi / count, 2 * count))


def test_harmonics_are_orthonormal():
    points, weights = sphere(8)
    harmonics = fields.solid_harmonics(points, 6)
    gram = harmonics.mT @ (weights.unsqueeze(-1) * harmonics)
    assert torch.allclose(gram, torch.eye(49, dtype=F64), atol=1e-13)


def test_harmonics_of_degree_one_and_two():
    xyz = normal(5, 3)
    x, y, z = xyz.unbind(-1)
    one = math.sqrt(3 / (4 * math.pi))
    two = math.sqrt(15 / (4 * math.pi))
    known = [
        torch.full_like(x, math.sqrt(1 / (4 * math.pi))), one * y, one * z, one * x,
        two * x * y, two * y * z, two / math.sqrt(12) * (2 * z * z - x * x - y * y), two * x * z,
        two / 2 * (x * x - y * y),
    ]  # fmt: skip
    assert torch.allclose(fields.solid_harmonics(xyz, 2), torch.stack(known, -1))


def test_harmonics_have_no_laplacian():
    point = normal(3)
    hessian = torch.func.hessian(lambda xyz: fields.solid_harmonics(xyz, 5))(point)
    assert torch.allclose(hessian.diagonal(dim1=-2, dim2=-1).sum(-1), torch.zeros(36, dtype=F64), atol=1e-10)


def test_the_theorem_of_addition():
    a, b = fields.unit_vector(normal(3)), fields.unit_vector(normal(3, seed=1))
    both = fields.solid_harmonics(a, 3) * fields.solid_harmonics(b, 3)
    sums = [both[n * n : (n + 1) ** 2].sum() * 4 * math.pi / (2 * n + 1) for n in range(4)]
    cosine = (a * b).sum()
    legendre = [1, cosine, (3 * cosine**2 - 1) / 2, (5 * cosine**3 - 3 * cosine) / 2]
    assert all(torch.allclose(s, torch.as_tensor(p, dtype=F64)) for s, p in zip(sums, legendre, strict=True))


def test_spherical_harmonics_do_not_see_the_length():
    xyz = normal(4, 3)
    assert torch.allclose(fields.spherical_harmonics(xyz, 3), fields.spherical_harmonics(7 * xyz, 3))


# -- Fourier sums


def test_fourier_sums_are_adjoint():
    points, weights, coefficients = normal(6), normal(6, dtype=torch.complex128), normal(7, dtype=torch.complex128)
    modes, series = fields.fourier_modes(points, weights, 7), fields.fourier_series(points, coefficients)
    assert torch.allclose(torch.vdot(modes, coefficients), torch.vdot(weights, series))


def test_fourier_sums_on_a_grid_are_a_transform():
    points = torch.arange(8, dtype=F64) * (2 * math.pi / 8)
    weights = normal(8, dtype=torch.complex128)
    wanted = torch.fft.fftshift(torch.fft.fft(weights))
    assert torch.allclose(fields.fourier_modes(points, weights, 8), wanted)


def test_gradients_of_real_points_and_complex_weights():
    points = normal(4).requires_grad_()
    weights = normal(4, dtype=torch.complex128).requires_grad_()
    modes = lambda points, weights: fields.fourier_modes(points, weights, 5)  # noqa: E731
    assert torch.autograd.gradcheck(modes, (points, weights), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(modes, (points, weights))


# -- geometry


def test_rotations_keep_lengths_and_follow_products():
    vectors = normal(5, 3)
    p, q = normal(4), normal(4, seed=1)
    turned = fields.rotate(vectors, p)
    assert torch.allclose(fields.hypot3(*turned.unbind(-1)), fields.hypot3(*vectors.unbind(-1)))
    assert torch.allclose(
        fields.rotate(fields.rotate(vectors, q), p), fields.rotate(vectors, fields.quaternion_product(p, q))
    )


def test_the_sum_of_squares_of_harmonics_does_not_change_by_rotation():
    xyz, q = normal(3), normal(4)
    invariant = lambda q: fields.solid_harmonics(fields.rotate(xyz, q), 2)[4:].square().sum()  # noqa: E731
    assert torch.allclose(torch.func.grad(invariant)(q), torch.zeros(4, dtype=F64), atol=1e-12)


def test_a_quaternion_times_its_conjugate_is_its_square():
    q = normal(4)
    square = fields.quaternion_product(q, fields.quaternion_conjugate(q))
    assert torch.allclose(square, torch.stack([q.square().sum(), *torch.zeros(3, dtype=F64)]), atol=1e-14)


def test_to_spherical_and_back():
    x, y, z = normal(3, 6)
    radius, polar, azimuth = fields.to_spherical(x, y, z)
    assert torch.allclose(radius * polar.sin() * azimuth.cos(), x)
    assert torch.allclose(radius * polar.sin() * azimuth.sin(), y)
    assert torch.allclose(radius * polar.cos(), z)


def test_a_quarter_of_the_equator():
    quarter = torch.tensor(math.pi / 2, dtype=F64)
    nothing = torch.zeros((), dtype=F64)
    assert torch.allclose(fields.haversine(nothing, nothing, nothing, quarter), quarter)


def test_images_are_within_half_a_box():
    box = torch.tensor([1.0, 2.0, 3.0], dtype=F64)
    away = 10 * normal(20, 3)
    image = fields.minimum_image(away, box)
    assert (image.abs() <= box / 2 + 1e-12).all()
    assert torch.allclose(fields.periodic_distance(away, away + 5 * box, box), torch.zeros(20, dtype=F64), atol=1e-13)


def test_the_nearest_site():
    sites = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    square, index = fields.nearest_site(torch.tensor([[3.0, 3.0], [0.0, 1.0]]), sites)
    assert index.tolist() == [1, 0]
    assert square.tolist() == [1.0, 1.0]
    square.sum().backward()
    assert sites.grad.tolist() == [[0.0, -2.0], [0.0, 2.0]]


# -- element by element


def test_the_vanishing_point_of_a_blaschke_factor():
    a = torch.tensor(0.3 + 0.4j)
    assert fields.blaschke(a, a).item() == 0
    on_circle = torch.exp(1j * normal(5))
    assert torch.allclose(fields.blaschke(on_circle, a).abs(), torch.ones(5, dtype=F64))


def test_a_line_has_half_its_height_at_its_width():
    center, width = torch.tensor(2.0), torch.tensor(0.5)
    assert abs(fields.lorentzian(center, center, width).item() - 2) < 1e-6
    assert abs(fields.lorentzian(center + width, center, width).real.item() - 1) < 1e-6


def test_values_of_losses():
    x = torch.tensor([-3.0, 0.5, 1000.0], dtype=F64)
    assert torch.allclose(fields.huber(x), torch.tensor([2.5, 0.125, 999.5], dtype=F64))
    assert torch.allclose(fields.log_cosh(x[:2]), x[:2].cosh().log())
    assert torch.allclose(fields.log_cosh(x[2]), x[2] - math.log(2))
    with pytest.raises(RuntimeError, match="delta has to be positive, but is -1"):
        fields.huber(x, -1)


def test_soft_clip_in_place():
    x = torch.tensor([-3.0, 0.1, 3.0])
    wanted = fields.soft_clip(x, 2)
    assert fields.soft_clip_(x, 2) is x
    assert torch.equal(x, wanted)


# -- sums


def test_a_sum_that_loses_nothing():
    assert torch.tensor([1.0, 1e100, 1.0, -1e100], dtype=F64).sum().item() == 0
    assert fields.compensated_sum(torch.tensor([1.0, 1e100, 1.0, -1e100], dtype=F64), 0).item() == 2


def test_a_mean_of_exponentials_that_are_too_large():
    x = torch.tensor([1000.0, 1000.0 + math.log(3)], dtype=F64)
    assert abs(fields.log_mean_exp(x).item() - (1000 + math.log(2))) < 1e-12
    assert fields.soft_minimum(torch.tensor([1.0, 5.0, 9.0]), 1e-3).item() == pytest.approx(1, abs=2e-3)


def test_weighted_sums():
    parts = [normal(3), normal(3, seed=1), normal(1, seed=2)]
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=F64)
    assert torch.allclose(fields.weighted_sum(parts, weights), parts[0] - 2 * parts[1] + 0.5 * parts[2])
    assert torch.allclose(fields.weighted_sum(parts), parts[0] + parts[1] + parts[2])


def test_kernel_matrices_are_positive():
    x = normal(8, 2)
    matrix = fields.gaussian_kernel(x, x, torch.tensor([0.5, 2.0], dtype=F64))
    assert torch.equal(matrix.diagonal(), torch.ones(8, dtype=F64))
    assert (torch.linalg.eigvalsh(matrix) > 0).all()


# -- splines, eigenvalues, equations


def test_splines_are_a_partition_of_unity_and_reproduce_lines():
    inside = torch.linspace(1, 6, 23, dtype=F64)
    ones, line = torch.ones(8, dtype=F64), torch.arange(8, dtype=F64)
    assert torch.allclose(fields.cubic_spline(inside, ones), torch.ones(23, dtype=F64))
    assert torch.allclose(fields.cubic_spline(inside, line), inside)
    assert torch.allclose(fields.cubic_spline(inside, line, 1), torch.ones(23, dtype=F64))
    assert torch.allclose(
        fields.cubic_spline_adjoint(inside, torch.ones(23, dtype=F64), 8).sum(), torch.tensor(23.0, dtype=F64)
    )


def test_eigenvalues():
    a, b, c = normal(3, 6)
    low, high = fields.symmetric_eigenvalues(a, b, c)
    wanted = torch.linalg.eigvalsh(torch.stack([torch.stack([a, b], -1), torch.stack([b, c], -1)], -2))
    assert torch.allclose(torch.stack([low, high], -1), wanted)


def test_an_equation_is_solved():
    A, B, C = normal(2, 3, 3), normal(2, 2, seed=1), normal(3, 2, seed=2)
    X = fields.sylvester(A, B, C)
    assert torch.allclose(A @ X + X @ B, C.expand(2, 3, 2))


# -- the package


def test_the_package_alone_imports_no_gradwright():
    program = "import sys, fields, fields.kernels; print('gradwright' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout == "False\n"
    assert "hypot3" in dir(fields)
