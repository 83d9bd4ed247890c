"""Optimizers and schedules without PyTorch: they converge, their rules agree on all ways, and states go round."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import nn, optim
from gradwright.autograd import grad, gradcheck
from gradwright.optim import arrays, by_operators, lr_scheduler, swa_utils
from gradwright.optim.muon import orthogonalized
from runtime.operators import update_rules

Made = Callable[[Any], Any]

OPTIMIZERS: dict[str, Made] = {
    "SGD": lambda p: optim.SGD(p, lr=1e-3, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.02),
    "AdamW": lambda p: optim.AdamW(p, lr=0.02, weight_decay=0, amsgrad=True),
    "ASGD": lambda p: optim.ASGD(p, lr=1e-2, lambd=0),
    "Adadelta": lambda p: optim.Adadelta(p, lr=0.3),
    "Adafactor": lambda p: optim.Adafactor(p, lr=0.02),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.3),
    "Adamax": lambda p: optim.Adamax(p, lr=0.05),
    "NAdam": lambda p: optim.NAdam(p, lr=0.02),
    "RAdam": lambda p: optim.RAdam(p, lr=0.02),
    "RMSprop": lambda p: optim.RMSprop(p, lr=2e-3, centered=True, momentum=0.5),
    "Rprop": lambda p: optim.Rprop(p, lr=0.01, step_sizes=(1e-9, 1)),
    "LBFGS": lambda p: optim.LBFGS(p, max_iter=4, line_search_fn="strong_wolfe"),
}


def valley(point: Any) -> Any:
    """Rosenbrock's function ("An automatic method for finding the greatest or least value", 1960); lowest at (1, 1)."""
    x, y = point
    return (1 - x) ** 2 + 10 * (y - x**2) ** 2


def descend(optimizer: Any, point: Any, steps: int, loss_of: Any = valley) -> float:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(point)
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return float(loss_of(point))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_bottom_of_a_valley_is_found(name: str) -> None:
    point = nn.Parameter(gradwright.tensor([-0.5, 1.5], dtype=gradwright.float64))
    assert descend(OPTIMIZERS[name]([point]), point, 2000 if name != "LBFGS" else 20) < 0.02
    assert point.tolist() == pytest.approx([1, 1], abs=0.15)


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "LBFGS"])
def test_maximize_goes_upwards(name: str) -> None:
    kind = getattr(optim, name)
    point = nn.Parameter(gradwright.tensor([0.5, -0.5]))
    optimizer = kind([point], maximize=True)
    start = float((point**2).sum())
    assert descend(optimizer, point, 20, lambda p: (p**2).sum()) > start


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_state_goes_round(name: str) -> None:
    """A copy that loads the state, with Tensors or with arrays, takes the same steps."""

    def start() -> Any:
        return nn.Parameter(gradwright.tensor([-0.5, 1.5]))

    first, second, third = start(), start(), start()
    one, other, by_arrays = (OPTIMIZERS[name]([point]) for point in (first, second, third))
    descend(one, first, 5)
    state = copy.deepcopy(one.state_dict())
    for point, optimizer, kept in ((second, other, state), (third, by_arrays, in_arrays(state))):
        with gradwright.no_grad():
            point.copy_(first)
        optimizer.load_state_dict(kept)
    for _ in range(5):
        descend(one, first, 1)
        descend(other, second, 1)
        descend(by_arrays, third, 1)
        assert first.tolist() == second.tolist() == third.tolist()


def in_arrays(value: Any) -> Any:
    if isinstance(value, gradwright.Tensor):
        return value.numpy().copy()
    if isinstance(value, dict):
        return {key: in_arrays(item) for key, item in value.items()}
    return [in_arrays(item) for item in value] if isinstance(value, list) else value


RULES: dict[str, tuple[int, dict[str, Any]]] = {
    "sgd": (1, {"momentum": 0.9, "dampening": 0.1, "nesterov": True, "first": False, "weight_decay": 0.1}),
    "adam": (3, {"step": 3.0, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.1, "decoupled": True}),
    "nadam": (
        2,
        {"step": 3.0, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "momentum": 0.5, "following": 0.6, "product": 0.3},
    ),
    "radam": (2, {"step": 30.0, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3}),
    "adamax": (2, {"step": 3.0, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3}),
    "adadelta": (2, {"rho": 0.9, "eps": 1e-3, "maximize": True}),
    "adagrad": (1, {"eps": 1e-3}),
    "rmsprop": (3, {"alpha": 0.9, "eps": 1e-3, "momentum": 0.9}),
    "rprop": (2, {"shrink": 0.5, "grow": 1.2, "smallest": 1e-3, "largest": 2.0}),
    "asgd": (1, {"shrink": 0.1, "share": 0.3}),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_a_rule_is_the_same_on_arrays_and_by_operators(name: str, dtype: Any) -> None:
    """In blocks and whole, of real numbers and of both parts of complex ones."""
    number, options = RULES[name]
    random = np.random.default_rng(0)
    # The means of squares are large enough for the square of the mean of gradients (`rmsprop`).
    values = [random.uniform(0.1, 1, 20_000) + index for index in range(number + 2)]
    start = [(value + 1j * value[::-1]).astype(dtype) if dtype is np.complex128 else value for value in values]
    start = [value.astype(dtype) for value in start]
    if name == "rmsprop":
        start[4] *= 0.1
    here = [value.copy() for value in start]
    options = {"lr": 0.1, **options}
    arrays.step(getattr(update_rules, name), options, *here)
    there = [gradwright.tensor(value) for value in start]
    by_operators.step(getattr(update_rules, name), options, *there)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    for one, other, before in zip(here[1:], there[1:], start[1:], strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=tolerance, atol=tolerance)
        assert np.isfinite(one).all()
        assert other._version == 1
        assert not np.array_equal(one, before) or name == "adam"


DIFFERENTIABLE: dict[str, Made] = {
    "SGD": lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=0.1, differentiable=True),
    "Nesterov": lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True, differentiable=True),
    "Adam": lambda p: optim.Adam(p, 0.1, amsgrad=True, weight_decay=0.1, differentiable=True),
    "AdamW": lambda p: optim.AdamW(p, 0.1, differentiable=True),
    "ASGD": lambda p: optim.ASGD(p, 0.1, t0=1, differentiable=True),
    "Adadelta": lambda p: optim.Adadelta(p, differentiable=True),
    "Adagrad": lambda p: optim.Adagrad(p, 0.1, differentiable=True),
    "Adamax": lambda p: optim.Adamax(p, 0.1, differentiable=True),
    "NAdam": lambda p: optim.NAdam(p, 0.1, differentiable=True),
    "RAdam": lambda p: optim.RAdam(p, 0.1, betas=(0.5, 0.6), differentiable=True),
    "RMSprop": lambda p: optim.RMSprop(p, 0.1, momentum=0.5, centered=True, eps=0.1, differentiable=True),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_go_through_several_steps(name: str) -> None:
    def after(start: Any, gradients: Any) -> Any:
        point = start.clone()
        optimizer = DIFFERENTIABLE[name]([point])
        for row in gradients:
            point.grad = row
            optimizer.step()
        return point

    start = gradwright.tensor([1.0, -2.0, 0.5], dtype=gradwright.float64, requires_grad=True)
    rows = [[0.3, -1.0, 2.0], [0.2, 0.4, 1.0], [-0.5, 0.1, 0.7]]
    gradients = gradwright.tensor(rows, dtype=gradwright.float64, requires_grad=True)
    assert gradcheck(after, (start, gradients))


def test_a_learning_rate_is_learned() -> None:
    lr = gradwright.tensor(0.1, dtype=gradwright.float64, requires_grad=True)
    decay = gradwright.tensor(0.2, dtype=gradwright.float64, requires_grad=True)
    betas = tuple(gradwright.tensor(beta, dtype=gradwright.float64, requires_grad=True) for beta in (0.8, 0.9))

    def after(lr: Any, decay: Any, one: Any, other: Any) -> Any:
        points = [
            gradwright.tensor([1.0, -2.0], dtype=gradwright.float64, requires_grad=True).clone() for _ in range(2)
        ]
        optimizers = (
            optim.Adam([points[0]], lr, betas=(one, other), weight_decay=decay, differentiable=True),
            optim.SGD([points[1]], lr, momentum=0.9, weight_decay=decay, differentiable=True),
        )
        for point, optimizer in zip(points, optimizers, strict=True):
            for factor in (1.0, -0.5, 2.0):
                point.grad = gradwright.tensor([0.3, 1.0], dtype=gradwright.float64) * factor
                optimizer.step()
        return points[0], points[1]

    assert gradcheck(after, (lr, decay, *betas))
    assert grad(after(lr, decay, *betas)[1].sum(), lr)[0] != 0


def test_singular_values_come_near_to_1() -> None:
    gradwright.manual_seed(0)
    for shape in ((8, 5), (5, 8), (4, 4), (3, 0)):
        matrix = gradwright.randn(shape)
        found = orthogonalized(matrix, (3.4445, -4.775, 2.0315), 5, 1e-7)
        assert found.dtype is gradwright.bfloat16
        assert tuple(found.shape) == shape
        if found.numel():
            values = gradwright.linalg.svdvals(found.float())
            assert values.min() > 0.4
            assert values.max() < 1.4
    with pytest.raises(ValueError, match="less than 100"):
        orthogonalized(gradwright.ones(2, 2), (1, 1, 1), 100, 1e-7)
    with pytest.raises(ValueError, match="3 values"):
        orthogonalized(gradwright.ones(2, 2), (1, 1), 1, 1e-7)


def test_muon_trains_a_network() -> None:
    gradwright.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    x = gradwright.randn(32, 4)
    y = x[:, :2] * x[:, 2:]
    matrices = [parameter for parameter in net.parameters() if parameter.dim() == 2]
    others = [parameter for parameter in net.parameters() if parameter.dim() != 2]
    optimizers = [optim.Muon(matrices, lr=0.02, weight_decay=0), optim.AdamW(others, lr=0.01)]
    losses = []
    for _ in range(150):
        net.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        losses.append(loss.item())
        for optimizer in optimizers:
            optimizer.step()
    assert losses[-1] < 0.1 * losses[0]


def test_parameters_without_elements_stay() -> None:
    for kind in (optim.Adafactor, optim.Adam, optim.LBFGS, optim.Muon):
        point = nn.Parameter(gradwright.ones(0, 3))
        point.grad = gradwright.ones(0, 3)
        assert kind([point]).step(lambda: 3) == 3


def test_lbfgs_needs_a_closure_and_one_group() -> None:
    point = nn.Parameter(gradwright.ones(2))
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([point]).step()
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": [point]}, {"params": [nn.Parameter(gradwright.ones(2))]}])


def test_options_that_begin_later_have_a_state() -> None:
    """Momentum that a schedule switches on, or that a user does."""
    point = nn.Parameter(gradwright.ones(2))
    optimizer = optim.RMSprop([point])
    point.grad = gradwright.ones(2)
    optimizer.step()
    optimizer.param_groups[0].update(momentum=0.5, centered=True)
    optimizer.step()
    assert sorted(optimizer.state[point]) == ["grad_avg", "momentum_buffer", "square_avg", "step"]


# -- schedules


def optimizer(*rates: float, **options: Any) -> Any:
    return optim.SGD([{"params": [nn.Parameter(gradwright.ones(1))], "lr": rate} for rate in rates], **options)


def test_rates_of_schedules() -> None:
    def follow(schedule: Any, steps: int) -> list[float]:
        found = list(schedule.get_last_lr())
        for _ in range(steps):
            schedule.optimizer.step()
            schedule.step()
            found += schedule.get_last_lr()
        return found

    S = lr_scheduler
    assert follow(S.ConstantLR(optimizer(1.0), 0.5, 2), 3) == [0.5, 0.5, 1, 1]
    assert follow(S.LinearLR(optimizer(1.0), 0.2, 1.0, 4), 5) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1])
    assert follow(S.PolynomialLR(optimizer(1.0), 4), 5) == pytest.approx([1, 0.75, 0.5, 0.25, 0, 0])
    assert follow(S.MultiplicativeLR(optimizer(1.0), lambda e: 0.5), 2) == [1, 0.5, 0.25]
    cyclic = S.CyclicLR(optimizer(1.0, momentum=0.9), 0.0, 1.0, 2, cycle_momentum=True)
    assert follow(cyclic, 6) == pytest.approx([0, 0.5, 1, 0.5, 0, 0.5, 1])
    assert cyclic.optimizer.param_groups[0]["momentum"] == pytest.approx(0.8)
    restarts = follow(S.CosineAnnealingWarmRestarts(optimizer(1.0), 2, 2), 6)
    assert restarts == pytest.approx([1, 0.5, 1, *((1 + math.cos(math.pi * part / 4)) / 2 for part in range(1, 4)), 1])
    once = follow(S.OneCycleLR(optimizer(1.0, momentum=0.9), 1.0, total_steps=10, anneal_strategy="linear"), 9)
    assert max(once) == once[2] == 1
    assert once[0] == pytest.approx(1 / 25)
    assert once[-1] == pytest.approx(1 / 25e4)
    o = optimizer(1.0)
    assert follow(S.SequentialLR(o, [S.ConstantLR(o, 0.5, 9), S.ExponentialLR(o, 0.5)], [2]), 4) == [
        0.5, 0.5, 1, 0.5, 0.25,
    ]  # fmt: skip
    o = optimizer(1.0)
    assert follow(S.ChainedScheduler([S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.5)]), 3) == [0.5, 0.25, 0.25, 0.125]
    assert follow(swa_utils.SWALR(optimizer(1.0), 0.5, 2, "linear"), 3) == pytest.approx([1, 0.75, 0.5, 0.5])


def _rates(make: Any, steps: int = 7) -> list[float]:
    o = optimizer(1.0)
    schedule, found = make(o), []
    for _ in range(steps):
        found.append(o.param_groups[0]["lr"])
        o.step()
        schedule.step()
        assert schedule.get_last_lr() == [o.param_groups[0]["lr"]]
    return found


S = lr_scheduler


def _two(o: Any) -> Any:
    return S.SequentialLR(o, [S.ConstantLR(o, 0.5, 2), S.ConstantLR(o, 0.25, 10)], [2])


def _chain(o: Any) -> Any:
    return S.ChainedScheduler([S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.5)])


@pytest.mark.parametrize(
    "inner", [_two, _chain, lambda o: S.LinearLR(o, 0.5, 1.0, 3), lambda o: S.LambdaLR(o, lambda e: 0.5**e)]
)
def test_a_schedule_inside_of_others_takes_the_same_steps(inner: Any) -> None:
    alone = _rates(inner)
    assert _rates(lambda o: S.SequentialLR(o, [inner(o)], [])) == alone
    assert _rates(lambda o: S.SequentialLR(o, [S.SequentialLR(o, [inner(o)], [])], [])) == alone
    assert _rates(lambda o: S.SequentialLR(o, [S.ChainedScheduler([inner(o)])], [])) == alone
    assert _rates(lambda o: S.ChainedScheduler([inner(o)])) == alone
    later = _rates(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 1.0, 9), inner(o)], [3]), 10)
    assert later == pytest.approx([1.0, 1.0, 1.0, *alone])
    both = _rates(lambda o: S.SequentialLR(o, [inner(o), S.ConstantLR(o, 1.0, 9), inner(o)], [2, 3]), 10)
    assert both == pytest.approx([*alone[:2], 1.0, *alone])


def test_a_chain_of_sequences_goes_on_from_its_state() -> None:
    def make(o: Any) -> Any:
        return S.SequentialLR(o, [S.ConstantLR(o, 1.0, 9), S.SequentialLR(o, [_chain(o), _two(o)], [2])], [1])

    first, second = optimizer(1.0), optimizer(1.0)
    schedule, other = make(first), make(second)
    for step in range(8):
        if step == 4:
            other.load_state_dict(schedule.state_dict())
            second.load_state_dict(first.state_dict())
        assert step < 4 or first.param_groups[0]["lr"] == second.param_groups[0]["lr"]
        for o, s in ((first, schedule), (second, other))[: 1 if step < 4 else 2]:
            o.step()
            s.step()


def test_a_plateau_lowers_the_rate() -> None:
    o = optimizer(1.0, 2.0)
    schedule = lr_scheduler.ReduceLROnPlateau(o, patience=1, factor=0.5, min_lr=[0.6, 0.1])
    for value in (1.0, 0.5, 0.5, 0.5, 0.4, 0.5, 0.6, 0.7):
        schedule.step(gradwright.tensor(value))
    assert schedule.get_last_lr() == [0.6, 0.5]
    assert schedule.best == pytest.approx(0.4)


def test_an_average_of_models_is_the_mean_of_their_parameters() -> None:
    model = nn.Linear(2, 1)
    mean, running = (
        swa_utils.AveragedModel(model),
        swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5)),
    )
    weights = []
    for number in range(4):
        with gradwright.no_grad():
            model.weight.fill_(float(number))
        weights.append(float(number))
        mean.update_parameters(model)
        running.update_parameters(model)
    assert mean.module.weight.tolist() == [[pytest.approx(1.5)] * 2]
    assert running.module.weight.tolist() == [[pytest.approx(2.125)] * 2]
    assert mean.n_averaged == 4
    assert mean(gradwright.ones(1, 2)).shape == (1, 1)
