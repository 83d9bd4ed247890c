"""The operators of planar: their derivatives by the samples of their entries, and what they compute."""

import planar
import pytest
from planar._generated.registry import OPERATORS

import gradwright as torch
from gradwright.testing import gradcheck_operator


@pytest.mark.parametrize("name", OPERATORS)
def test_derivatives_agree_with_finite_differences(name):
    result = gradcheck_operator(OPERATORS[name])
    assert result.passed, "\n".join(result.failures)


def test_hypot3():
    x = torch.tensor([2.0, 0.0], requires_grad=True)
    y = planar.hypot3(x, torch.tensor([3.0, 0.0]), torch.tensor([6.0, 0.0]))
    assert y.tolist() == [7.0, 0.0]
    y.sum().backward()
    assert torch.allclose(x.grad, torch.tensor([2 / 7, 0.0]))


def test_to_polar_there_and_back():
    x, y = torch.randn(5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    radius, angle = planar.to_polar(x, y)
    assert torch.allclose(radius * angle.cos(), x)
    assert torch.allclose(radius * angle.sin(), y)
    tangents = (torch.ones_like(x), torch.zeros_like(y))
    _, (toward, turn) = torch.func.jvp(planar.to_polar, (x, y), tangents)
    assert torch.allclose(toward, angle.cos())
    assert torch.allclose(turn, -angle.sin() / radius)


def test_charbonnier_loss_is_a_method_and_nearly_the_mean_of_distances():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    loss = x.charbonnier_loss(torch.zeros(2))
    assert abs(loss.item() - 1.5) < 1e-5
    loss.backward()
    assert torch.allclose(x.grad, torch.tensor([0.5, -0.5]))


def test_batches():
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    assert torch.equal(torch.vmap(planar.to_polar)(x, y)[0], planar.to_polar(x, y)[0])
