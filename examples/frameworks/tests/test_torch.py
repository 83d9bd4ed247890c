"""The operators of fields in PyTorch: nothing here needs Gradwright."""

import pytest

torch = pytest.importorskip("torch")

import fields.torch as fields  # noqa: E402


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def test_derivatives_of_any_order():
    xyz = normal(4, 3)
    harmonics = lambda xyz: fields.solid_harmonics(xyz, 3)  # noqa: E731
    assert torch.autograd.gradcheck(harmonics, (xyz,))
    assert torch.autograd.gradgradcheck(harmonics, (xyz,))
    hessian = torch.func.hessian(lambda xyz: fields.solid_harmonics(xyz, 4))(xyz[0].detach())
    laplacian = hessian.diagonal(dim1=-2, dim2=-1).sum(-1)
    assert torch.allclose(laplacian, torch.zeros(25, dtype=torch.float64), atol=1e-10)


def test_operators_are_registered():
    torch.library.opcheck(torch.ops.fields.rotate.default, (normal(5, 3), normal(4, seed=1)))
    x, y, scales = normal(4, 2), normal(3, 2, seed=1), torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.fields.gaussian_kernel.default, (x, y, scales))


def test_fourier_sums_are_fitted_to_a_signal():
    """Coefficients by gradient descent, from values at points that lie anywhere."""
    points = torch.linspace(0, 6, 40, dtype=torch.float64) ** 1.1
    wanted = torch.exp(2j * points) - 0.5 * torch.exp(-1j * points)
    coefficients = torch.zeros(5, dtype=torch.complex128, requires_grad=True)
    descent = torch.optim.Adam([coefficients], lr=0.1)
    for _ in range(200):
        descent.zero_grad()
        loss = (fields.fourier_series(points, coefficients) - wanted).abs().square().mean()
        loss.backward()
        descent.step()
    assert loss.item() < 1e-3
    assert torch.allclose(coefficients.real, torch.tensor([0, -0.5, 0, 0, 1], dtype=torch.float64), atol=0.05)
