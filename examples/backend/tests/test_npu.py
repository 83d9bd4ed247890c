"""A model is trained on the device; all gradients are those of the CPU, and no value leaves the device on the way."""

import copy

import pytest
import toynpu
from toynpu import arrays

import gradwright as torch
from gradwright import nn, optim


def train(model, inputs, target):
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), target)
        loss.backward()
        optimizer.step()
    return loss


def test_training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    on_device = copy.deepcopy(model).to("npu")
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    there = x.to("npu"), y.to("npu")
    arrays.copies.clear()
    loss = train(on_device, *there)
    assert not arrays.copies
    assert arrays.launches["relu"] == 5
    assert torch.allclose(loss.cpu(), train(model, x, y))
    for one, other in zip(on_device.parameters(), model.parameters(), strict=True):
        assert torch.allclose(one.cpu(), other, atol=1e-6)


def test_an_operator_of_its_own():
    x = torch.tensor([-3.0, 0.0, 3.0], requires_grad=True)
    there = x.detach().to("npu").requires_grad_()
    toynpu.squareplus(x).sum().backward()
    there.squareplus().sum().backward()
    assert torch.allclose(there.grad.cpu(), x.grad)


def test_what_is_missing():
    x = torch.ones(2, device="npu")
    with pytest.raises(NotImplementedError, match="'exp' has no kernel for NPU"):
        x.exp()
    with pytest.raises(TypeError, match="to copy the tensor to host memory"):
        x.numpy()
