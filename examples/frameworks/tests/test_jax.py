"""The operators of fields in JAX: nothing here needs Gradwright."""

import math

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fields.jax as fields  # noqa: E402
from jax.test_util import check_grads  # noqa: E402


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def normal(*shape, seed=0):
    return jax.numpy.asarray(np.random.default_rng(seed).standard_normal(shape))


def test_derivatives_of_any_order():
    check_grads(lambda xyz: fields.solid_harmonics(xyz, 3), (normal(4, 3),), order=2, modes=["rev"])
    check_grads(fields.log_cosh, (normal(4),), order=2)
    check_grads(lambda *xyz: fields.to_spherical(*xyz), tuple(normal(3, 4)), order=1)


def test_under_jit_and_vmap():
    vectors, quaternions = normal(5, 3), normal(5, 4, seed=1)
    turned = jax.jit(jax.vmap(fields.rotate))(vectors, quaternions)
    np.testing.assert_allclose(turned, fields.rotate(vectors, quaternions))
    x = normal(6, 2)
    np.testing.assert_allclose(jax.jit(fields.gaussian_kernel)(x, x), fields.gaussian_kernel(x, x))


def test_the_gradient_of_a_complex_loss():
    """JAX's gradients of real functions of complex numbers are the conjugates of PyTorch's."""
    points = jax.numpy.linspace(0, 2 * math.pi, 8, endpoint=False)
    coefficients = jax.numpy.arange(3) * (1 + 1j)
    energy = lambda c: (abs(fields.fourier_series(points, c)) ** 2).sum()  # noqa: E731
    np.testing.assert_allclose(jax.grad(energy)(coefficients), 16 * jax.numpy.conj(coefficients), atol=1e-12)
