"""Optimizers and schedules against PyTorch: one body, run with both modules."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from two_modules import assert_same, attempt, compare, warned

import runtime

pytestmark = pytest.mark.parity

Library = Any


def network(library: Library, dtype: str = "float32") -> Any:
    """A small network with the same parameters in both modules."""
    nn = library.nn
    random = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 2)).to(getattr(library, dtype))
    model.load_state_dict(
        {
            name: library.tensor(random.standard_normal(tuple(value.shape)) / 2, dtype=value.dtype)
            for name, value in model.state_dict().items()
        }
    )
    return model


def data(library: Library, dtype: str = "float32") -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    kind = getattr(library, dtype)
    return (
        library.tensor(random.standard_normal((10, 3)), dtype=kind),
        library.tensor(random.standard_normal((10, 2)), dtype=kind),
    )


def train(library: Library, made: str, steps: int = 20, dtype: str = "float32") -> Any:
    model = network(library, dtype)
    x, y = data(library, dtype)
    optimizer = eval(f"optim.{made}", {"optim": library.optim, "P": list(model.parameters()), "torch": library})
    loss_of = library.nn.MSELoss()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict(), optimizer.state_dict()["state"]


OPTIMIZERS = """
SGD(P)
SGD(P, 0.1)
SGD(P, lr=0.1, momentum=0.9)
SGD(P, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)
SGD(P, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.05)
SGD(P, lr=0.01, weight_decay=0.1, maximize=True)
SGD(P, lr=torch.tensor(0.1), foreach=False)
SGD(P, lr=0.1, momentum=0.5, foreach=True)
SGD(P, lr=0.1, momentum=0.5, fused=True)
Adam(P)
Adam(P, lr=0.05, betas=(0.8, 0.9), eps=1e-3)
Adam(P, lr=0.05, weight_decay=0.1, amsgrad=True)
Adam(P, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)
Adam(P, lr=0.01, maximize=True, amsgrad=True)
Adam(P, lr=torch.tensor(0.05, dtype=torch.float64))
Adam(P, lr=0.05, fused=True)
AdamW(P)
AdamW(P, lr=0.05, weight_decay=0.3)
AdamW(P, lr=0.05, amsgrad=True, foreach=True)
SGD([{"params": P[:2], "lr": 0.1}, {"params": P[2:], "weight_decay": 0.1}], lr=0.01, momentum=0.9)
Adam([{"params": P[:2], "betas": (0.5, 0.6)}, {"params": P[2], "amsgrad": True}, {"params": P[3:]}], lr=0.02)
"""


@pytest.mark.parametrize("made", OPTIMIZERS.strip().splitlines())
def test_training_gives_the_same(made: str) -> None:
    compare(lambda library: train(library, made, dtype="float64"), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("made", ["SGD(P, 0.1, 0.9)", "AdamW(P, 0.01)"])
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-4), ("bfloat16", 0.1)])
def test_training_in_other_dtypes(made: str, dtype: str, rtol: float) -> None:
    def body(library: Library) -> Any:
        losses, parameters, _ = train(library, made, dtype=dtype)
        return losses, {name: value.float() for name, value in parameters.items()}

    compare(body, rtol=rtol, atol=rtol)


def complex_parameters(library: Library) -> Any:
    found = []
    for made in ("SGD([p], 0.1, 0.9, weight_decay=0.1)", "Adam([p], 0.1, amsgrad=True)", "AdamW([p], 0.1)"):
        p = library.nn.Parameter(library.tensor([[1 + 2j, -1j], [0.5 + 0j, 3 - 1j]]).t())
        optimizer = eval(f"optim.{made}", {"optim": library.optim, "p": p})
        for _ in range(5):
            optimizer.zero_grad()
            (p * p.conj()).real.sum().backward()
            optimizer.step()
        found.append(p)
    return found


def large_and_strided(library: Library) -> Any:
    values = np.random.default_rng(0).standard_normal((300, 200))
    found = []
    for made in ("SGD([p], 0.1, 0.9)", "Adam([p], 0.1)"):
        for turned in (False, True):
            p = library.tensor(values)
            p = (p.t() if turned else p).requires_grad_()
            optimizer = eval(f"optim.{made}", {"optim": library.optim, "p": p})
            for number in range(3):
                p.grad = library.tensor(values.T + number if turned else values + number)
                optimizer.step()
            found.append(p[::40, ::40])
    return found


def parameters_without_gradients(library: Library) -> Any:
    p, q = library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(2))
    p.grad = library.ones(2)
    found = []
    for made in (library.optim.SGD([p, q], lr=0.1, momentum=0.9), library.optim.Adam([p, q], lr=0.1)):
        made.step()
        found += [p, q, list(made.state_dict()["state"])]
    return found


def closures(library: Library) -> Any:
    p = library.nn.Parameter(library.ones(2))
    optimizer = library.optim.SGD([p], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with library.no_grad():
        first = optimizer.step(closure)
    return first.item(), optimizer.step(closure=closure).item(), optimizer.step(), p


def written_parameters_are_noticed(library: Library) -> Any:
    p = library.nn.Parameter(library.ones(2))
    loss = (p * p).sum()
    p.grad = library.ones(2)
    library.optim.SGD([p]).step()
    return p._version, attempt(loss.backward, message=False)


def hooks(library: Library) -> Any:
    log: list[Any] = []
    p = library.nn.Parameter(library.ones(2))
    p.grad = library.ones(2)
    optimizer = library.optim.SGD([p], lr=0.1)

    def record(name: str, out: Any = None) -> Any:
        def hook(*arguments: Any) -> Any:
            log.append((name, len(arguments), arguments[0] is optimizer))
            return out(*arguments) if out else None

        return hook

    optimizer.register_step_pre_hook(record("pre"))
    optimizer.register_step_pre_hook(record("replace", lambda o, args, kwargs: (args, {"closure": lambda: 5})))
    optimizer.register_step_post_hook(record("post"))
    optimizer.register_state_dict_pre_hook(record("state pre"))
    optimizer.register_state_dict_post_hook(record("state post", lambda o, state: {**state, "more": 1}))
    optimizer.register_state_dict_post_hook(record("first"), prepend=True)
    optimizer.register_load_state_dict_pre_hook(record("load pre", lambda o, state: {**state, "state": {}}))
    optimizer.register_load_state_dict_post_hook(record("load post"))
    results = [optimizer.step(), optimizer.state_dict(), optimizer.load_state_dict(optimizer.state_dict())]
    handle = optimizer.register_step_pre_hook(record("bad", lambda *a: 3))
    results.append(attempt(optimizer.step, message=False))
    handle.remove()
    results.append(optimizer.step())
    return results, log


def optimizer_of_ones_own(library: Library) -> Any:
    log = []

    class Halving(library.optim.Optimizer):  # type: ignore[misc,name-defined]
        def __init__(self, params: Any, factor: float = 0.5) -> None:
            super().__init__(params, {"factor": factor})

        def step(self, closure: Any = None) -> None:
            with library.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.mul_(group["factor"])

    class Twice(Halving):
        def step(self, closure: Any = None) -> None:
            super().step()
            super().step()

    p = library.nn.Parameter(library.ones(2))
    optimizer = Twice([{"params": [p], "factor": 0.1}])
    optimizer.register_step_post_hook(lambda *a: log.append(1))
    optimizer.step()
    return p, repr(optimizer), repr(Halving([p])), len(log)


def saving_and_loading(library: Library) -> Any:
    found = []
    for made in ("SGD(P, 0.1, 0.9)", "Adam(P, 0.05, amsgrad=True)"):
        model = network(library)
        x, y = data(library)

        def steps(optimizer: Any, model: Any = model, x: Any = x, y: Any = y) -> None:
            for _ in range(3):
                optimizer.zero_grad()
                library.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()

        def make(model: Any, made: str = made) -> Any:
            return eval(f"optim.{made}", {"optim": library.optim, "P": list(model.parameters())})

        first = make(model)
        steps(first)
        state = copy.deepcopy(first.state_dict())
        second = make(model)
        second.param_groups[0]["lr"] = 7.0
        second.load_state_dict(state)
        steps(second)
        found += [second.state_dict(), model.state_dict()]
        doubled = make(network(library, "float64"))
        doubled.load_state_dict(state)
        found.append(doubled.state_dict())
        again = pickle.loads(pickle.dumps(second))
        found += [again.state_dict(), repr(again), again.param_groups[0]["params"]]
        old = copy.deepcopy(state)
        del old["param_groups"][0]["maximize"]
        second.load_state_dict(old)
        found.append(second.param_groups[0]["maximize"])
    return found


def groups(library: Library) -> Any:
    p, q = library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(1))
    optimizer = library.optim.SGD([("a", p)], lr=0.5)
    optimizer.add_param_group({"params": iter([("b", q)]), "lr": 0.1, "mine": 3})
    plain = library.optim.SGD([p], lr=0.5)
    plain.add_param_group({"params": q})
    named = optimizer.state_dict()
    plain.load_state_dict(named)
    return (
        repr(optimizer),
        [list(group) for group in optimizer.param_groups],
        named,
        repr(plain),
        attempt(lambda: optimizer.add_param_group({"params": [library.nn.Parameter(library.ones(1))]})),
        attempt(lambda: optimizer.add_param_group({"params": [p]}), message=False),
        attempt(lambda: plain.add_param_group({"params": [p]})),
    )


def clearing(library: Library) -> Any:
    p, q = library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(1))
    optimizer = library.optim.SGD([p, q])
    p.grad = (library.ones(2, requires_grad=True) * 2).clone()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    same = p.grad is grad
    kept = p.grad
    optimizer.zero_grad()
    return same, kept, p.grad, q.grad


def shared_memory_of_parameters(library: Library) -> Any:
    base = library.zeros(4)
    p = library.nn.Parameter(base[1:3])
    p.grad = library.ones(2)
    library.optim.SGD([p], lr=1.0).step()
    expanded = library.zeros(1).expand(3).requires_grad_()
    expanded.grad = library.ones(3)
    return base, attempt(lambda: library.optim.SGD([expanded], lr=1.0).step(), message=False)


BODIES = [
    complex_parameters, large_and_strided, parameters_without_gradients, closures, written_parameters_are_noticed,
    hooks, optimizer_of_ones_own, saving_and_loading, groups, clearing, shared_memory_of_parameters,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_body(body: Callable[[Library], Any]) -> None:
    compare(body)


# Values, or classes of errors with their messages, and classes of warnings.
EXPRESSIONS = """
repr(optim.SGD([p], momentum=0.9)), repr(optim.Adam([p])), repr(optim.AdamW([p])), repr(optim.SGD([p]))
repr(optim.Adam([{"params": [p], "lr": 0.1}, {"params": [q], "more": 3}]))
optim.AdamW([p]).param_groups, optim.SGD([p]).defaults, optim.Adam([p, q]).state_dict()
optim.Optimizer([p], {}), optim.SGD({p})
optim.SGD(p)
optim.SGD([])
optim.SGD([{"params": {p}}])
optim.SGD([p * 2])
optim.SGD([1])
optim.SGD({"params": [p]})
optim.SGD([p, p])
optim.SGD([{"params": [p]}, {"params": [p]}])
optim.SGD([p], lr=-1)
optim.SGD([p], momentum=-1)
optim.SGD([p], weight_decay=-1)
optim.SGD([p], nesterov=True)
optim.SGD([p], nesterov=True, momentum=0.9, dampening=0.1)
optim.SGD([p], lr=torch.ones(2))
optim.Adam([p], lr=torch.ones(2))
optim.Adam([p], lr=torch.tensor(0.1), foreach=True)
optim.Adam([p], betas=(1.0, 0.9))
optim.Adam([p], betas=(0.9, 1.9))
optim.Adam([p], betas=(torch.tensor(0.9), 0.999))
optim.Adam([p], eps=-1)
optim.Adam([p], weight_decay=-1)
optim.Adam([p], lr=-1)
optim.SGD([p], fused=True, foreach=True)
optim.SGD([p], fused=True, differentiable=True)
optim.Adam([p], fused=True, foreach=True)
optim.SGD([p]).add_param_group([q])
optim.SGD([("a", p), q])
optim.SGD([("a", p), ("b", q)]).state_dict()
optim.Adam([p]).load_state_dict(optim.Adam([p, q]).state_dict())
optim.Adam([{"params": [p]}, {"params": [q]}]).load_state_dict(optim.Adam([p, q]).state_dict())
S.StepLR(3, 2)
S.LambdaLR(o, [lambda e: 1, lambda e: 2])
S.StepLR(o, 2).state_dict(), S.LambdaLR(o, lambda e: 0.5).state_dict(), S.CosineAnnealingLR(o, 10).state_dict()
S.ExponentialLR(o, 0.5).get_lr()
S.StepLR(o, 2).step()
S.StepLR(o, 2).step(3)
S.MultiStepLR(o, [3, 1, 3]).milestones
"""


def outcome(library: Library, expression: str) -> Any:
    p, q = library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(1))
    optim = library.optim
    names = {"optim": optim, "S": optim.lr_scheduler, "p": p, "q": q, "torch": library, "o": optim.SGD([p], lr=1.0)}
    return warned(lambda: eval(expression, names))


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expression(expression: str) -> None:
    assert_same(outcome(runtime, expression), outcome(torch, expression))


# -- schedules


SCHEDULES = [
    "StepLR(o, 3)",
    "StepLR(o, 2, gamma=0.5)",
    "MultiStepLR(o, [2, 5, 5, 7], 0.3)",
    "LambdaLR(o, lambda e: 0.9**e)",
    "LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: e])",
    "ExponentialLR(o, 0.8)",
    "CosineAnnealingLR(o, 5, 0.1)",
    "CosineAnnealingLR(o, 1)",
]


def rates(library: Library, made: str, epochs: int = 14, **options: Any) -> Any:
    p, q = library.nn.Parameter(library.ones(1)), library.nn.Parameter(library.ones(1))
    o = library.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.2}], lr=1.0)
    names = {"o": o, **vars(library.optim.lr_scheduler)}
    schedule = eval(made, names)
    found = [schedule.get_last_lr()]
    for epoch in range(epochs):
        o.step()
        schedule.step()
        if epoch == 6:
            o.param_groups[0]["lr"] *= 2  # a schedule goes on from the present rate where it can
        found.append(([group["lr"] for group in o.param_groups], schedule.get_last_lr()))
    state = schedule.state_dict()
    again = eval(made, names)
    again.load_state_dict(state)
    o.step()
    again.step()
    found.append((again.get_last_lr(), again.last_epoch))
    resumed = eval(made[:-1] + ", last_epoch=4)", names)
    found.append((resumed.get_last_lr(), resumed.last_epoch))
    found.append(warned(lambda: resumed.step(9)))
    found.append(resumed.get_last_lr())
    return found


@pytest.mark.parametrize("made", SCHEDULES)
def test_rates(made: str) -> None:
    compare(lambda library: rates(library, made), rtol=1e-12, atol=1e-15)


def test_two_schedules_and_a_rate_that_is_a_tensor() -> None:
    def body(library: Library) -> Any:
        p = library.nn.Parameter(library.ones(1))
        lr = library.tensor(0.5)
        o = library.optim.SGD([p], lr=lr)
        S = library.optim.lr_scheduler
        schedules = [S.ExponentialLR(o, 0.9), S.StepLR(o, 2)]
        found = []
        for _ in range(5):
            o.step()
            for schedule in schedules:
                schedule.step()
            found.append((o.param_groups[0]["lr"].item(), o.param_groups[0]["lr"] is lr))
        return found

    compare(body)


def test_resuming_needs_the_initial_rate() -> None:
    def body(library: Library) -> Any:
        o = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=1.0)
        return attempt(lambda: library.optim.lr_scheduler.StepLR(o, 2, last_epoch=3), message=False)

    compare(body)


def test_what_is_not_supported_says_so() -> None:
    p = runtime.nn.Parameter(runtime.ones(1))
    for options in ({"differentiable": True}, {"capturable": True}):
        with pytest.raises(NotImplementedError, match="does not support"):
            runtime.optim.Adam([p], **options)
    with pytest.raises(NotImplementedError, match="differentiable"):
        runtime.optim.SGD([p], differentiable=True)
