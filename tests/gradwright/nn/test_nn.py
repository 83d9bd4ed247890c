"""Modules and optimizers without PyTorch: what only this library promises, and that networks learn."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import nn, optim
from runtime.base.handles import watch
from runtime.base.modes import plain, unusual


def test_parameters_and_buffers_stay_on_the_straight_path() -> None:
    assert {nn.Parameter, nn.Buffer} <= plain
    with unusual():
        assert not plain
        assert isinstance(nn.Parameter(gradwright.ones(2)) * 2, gradwright.Tensor)
    assert {nn.Parameter, nn.Buffer} <= plain


def test_a_parameter_gives_the_same_through_the_general_path() -> None:
    layer = nn.Linear(3, 2)
    x = gradwright.rand(4, 3)
    straight = layer(x)
    with unusual():
        general = layer(x)
    assert gradwright.equal(straight, general)
    assert type(general) is gradwright.Tensor


def test_hooks_of_modules_do_not_slow_down_backward() -> None:
    before, watch.hooks = watch.hooks, False
    try:
        layer = nn.Linear(2, 2)
        layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
        layer.register_forward_hook(lambda module, args, out: None)
        layer(gradwright.ones(2, requires_grad=True)).sum().backward()
        assert not watch.hooks
    finally:
        watch.hooks = before


def test_a_hook_of_a_loaded_module_is_not_replaced() -> None:
    layer = nn.Linear(2, 2)
    for _ in range(3):
        layer.register_forward_hook(print)
    again = pickle.loads(pickle.dumps(layer))
    numbers = set(again._forward_hooks)
    handle = again.register_forward_hook(print)
    assert handle.id not in numbers
    assert len(again._forward_hooks) == 4


def test_initial_values_follow_the_generator() -> None:
    def values(seed: int) -> list[Any]:
        generator = gradwright.Generator().manual_seed(seed)
        fill = [
            nn.init.uniform_, nn.init.normal_, nn.init.trunc_normal_, nn.init.xavier_uniform_, nn.init.xavier_normal_,
            nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.orthogonal_,
        ]  # fmt: skip
        made = [function(gradwright.empty(4, 3), generator=generator) for function in fill]
        made.append(nn.init.sparse_(gradwright.empty(4, 3), 0.5, generator=generator))
        return [tensor.tolist() for tensor in made]

    state = gradwright.get_rng_state()
    assert values(1) == values(1)
    assert all(one != two for one, two in zip(values(1), values(2), strict=True))
    assert gradwright.equal(gradwright.get_rng_state(), state)


def test_orthogonal_rows_and_columns() -> None:
    tall = nn.init.orthogonal_(gradwright.empty(7, 2, 2, dtype=gradwright.float64), gain=2).reshape(7, 4).numpy()
    np.testing.assert_allclose(tall.T @ tall, 4 * np.eye(4), atol=1e-12)
    wide = nn.init.orthogonal_(gradwright.empty(3, 8, dtype=gradwright.float64)).numpy()
    np.testing.assert_allclose(wide @ wide.T, np.eye(3), atol=1e-12)


def test_initialization_keeps_the_parameter_a_leaf() -> None:
    parameter = nn.Parameter(gradwright.empty(3, 3))
    assert nn.init.orthogonal_(nn.init.xavier_normal_(parameter)) is parameter
    assert parameter.is_leaf
    assert parameter.requires_grad


def test_a_copy_of_a_buffer_is_a_buffer() -> None:
    buffer = nn.Buffer(gradwright.ones(2), persistent=False)
    for again in (copy.deepcopy(buffer), pickle.loads(pickle.dumps(buffer))):
        assert isinstance(again, nn.Buffer)
        assert not again.persistent
    assert not isinstance(gradwright.ones(2), nn.Buffer)


def test_dropout_in_training_and_evaluation() -> None:
    layer = nn.Dropout(0.25)
    x = gradwright.ones(10_000)
    kept = layer(x)
    np.testing.assert_allclose(np.unique(kept.numpy()), [0, 4 / 3], rtol=1e-6)
    assert 0.2 < float((kept == 0).float().mean()) < 0.3
    assert layer.eval()(x) is x


def test_an_error_in_forward_names_the_module_that_has_none() -> None:
    with pytest.raises(NotImplementedError, match=r"Module \[Empty\] is missing the required"):
        type("Empty", (nn.Module,), {})()()


def test_all_differences_are_in_one_message() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    state = model.state_dict()
    state["0.weight"] = gradwright.ones(1)
    state["0.other"] = gradwright.ones(1)
    del state["1.bias"]
    with pytest.raises(RuntimeError) as error:
        model.load_state_dict(state)
    message = str(error.value)
    assert message.startswith("Error(s) in loading state_dict for Sequential:\n\t")
    for part in ('Missing key(s) in state_dict: "1.bias". ', 'Unexpected key(s) in state_dict: "0.other". '):
        assert part in message
    assert "size mismatch for 0.weight: copying a param with shape gradwright.Size([1])" in message


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, lr=0.3, momentum=0.8),
        lambda p: optim.SGD(p, lr=0.3, momentum=0.8, nesterov=True),
        lambda p: optim.Adam(p, lr=0.03),
        lambda p: optim.AdamW(p, lr=0.03, amsgrad=True),
    ],
    ids=["SGD", "Nesterov", "Adam", "AdamW"],
)
def test_a_network_learns(make: Any) -> None:
    gradwright.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    x = gradwright.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = gradwright.tensor([0, 1, 1, 0])
    optimizer = make(model.parameters())
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.999)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
    assert loss.item() < 0.05
    assert model(x).argmax(1).tolist() == target.tolist()


@pytest.mark.parametrize("dtype", [gradwright.float32, gradwright.float64, gradwright.float16, gradwright.bfloat16])
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_a_step_keeps_dtype_and_memory(kind: Any, dtype: Any) -> None:
    parameter = nn.Parameter(gradwright.ones(3, dtype=dtype))
    other = parameter.detach()
    optimizer = kind([parameter], lr=0.5)
    for _ in range(2):
        parameter.grad = gradwright.ones(3, dtype=dtype)
        optimizer.step()
    assert parameter.dtype is dtype
    assert other.float().tolist() == parameter.float().tolist() == pytest.approx([0, 0, 0], abs=1e-2)
    assert other._version == parameter._version == 2


def test_blocks_cover_an_array_of_any_size() -> None:
    from gradwright.optim.arrays import update

    def count(grad: Any, array: Any) -> tuple[Any]:
        return (array + grad,)

    for size in (0, 1, 16384, 16385, 50_000):
        array = np.zeros(size)
        update(count, np.ones(size), array)
        assert (array == 1).all()


def test_a_number_of_numpy_as_learning_rate_keeps_the_dtype() -> None:
    parameter = nn.Parameter(gradwright.ones(2))
    parameter.grad = gradwright.ones(2)
    optim.Adam([parameter], lr=np.float64(0.1), weight_decay=np.float64(0.1)).step()
    optim.SGD([parameter], lr=np.float64(0.1)).step()
    assert parameter.dtype is gradwright.float32
