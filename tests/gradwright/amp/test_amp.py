"""`autocast` and `GradScaler` on the CPU, and for devices that are not there."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gradwright as torch
from gradwright.nn import Linear
from gradwright.nn.functional import mse_loss
from runtime.base import modes


def test_products_are_in_half_precision() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu")
        assert (x @ x).dtype is torch.bfloat16
        assert Linear(2, 2)(x).dtype is torch.bfloat16
        assert (x + x).dtype is torch.float32
        assert mse_loss(x @ x, x).dtype is torch.float32
        assert torch.cat([x, x @ x]).dtype is torch.float32
        assert torch.stack([x @ x, x @ x]).dtype is torch.bfloat16
        assert (x.double() @ x.double()).dtype is torch.float64
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
        with torch.autocast("cpu", dtype=torch.float16):
            assert (x @ x).dtype is torch.float16
        assert (x @ x).dtype is torch.bfloat16
    assert (x @ x).dtype is torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_gradients_are_in_the_dtype_of_parameters() -> None:
    layer, x = Linear(2, 1), torch.ones(3, 2)
    with torch.autocast("cpu"):
        loss = layer(x).sum()
    loss.backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype is torch.float32
    assert layer.weight.grad.tolist() == [[3.0, 3.0]]


def test_as_a_decorator() -> None:
    @torch.autocast("cpu")
    def product(x: Any) -> Any:
        return x @ x

    assert product(torch.ones(1, 1)).dtype is torch.bfloat16


def test_other_devices_are_off() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        block = torch.autocast("cuda")
    with block:
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float32
        assert not torch.is_autocast_enabled("cuda")
    with pytest.warns(UserWarning, match="dtype is not supported"):
        torch.autocast("cpu", dtype=torch.float32)
    with pytest.raises(RuntimeError, match="foo"):
        torch.autocast("foo")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = torch.GradScaler()
    assert not scaler.is_enabled()
    assert scaler.scale(3) == 3
    assert torch.amp.is_autocast_available("cpu")


def test_functions_with_casts() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append((grad.dtype, torch.is_autocast_enabled("cpu")))
            return grad * 2

    seen: list[Any] = []
    x = torch.ones(1, 1, requires_grad=True)
    with torch.autocast("cpu"):
        loss = Product.apply(x @ x).sum()
    loss.backward()
    assert seen == [(torch.float32, False), (torch.float32, False)]


def test_gradients_are_scaled_and_steps_left_out() -> None:
    p = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale(p * 0.5).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2.0]
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [0.5]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (p.tolist(), scaler.get_scale()) == ([0.5], 8.0)
    p.grad = torch.tensor([float("inf")])
    scaler.step(optimizer)
    scaler.update()
    assert (p.tolist(), scaler.get_scale()) == ([0.5], 4.0)
    other = torch.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()


def test_casting_that_a_thread_leaves_on_ends_with_it() -> None:
    before = modes._unusual

    def run() -> None:
        torch.set_autocast_enabled("cpu", True)
        assert modes._unusual == before + 1

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert modes._unusual == before
    assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float32


def test_nothing_is_unusual_while_casting_is_off() -> None:
    before = modes._unusual
    torch.set_autocast_enabled("cpu", True)
    with torch.autocast("cpu", enabled=False):
        assert modes._unusual == before
    torch.set_autocast_enabled("cpu", False)
    assert modes._unusual == before
