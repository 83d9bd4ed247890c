"""Optimizers and schedules against PyTorch: one body, run with both modules."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.two_modules import assert_same, attempt, compare, warned

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
ASGD(P)
ASGD(P, lr=0.1, lambd=0.01, alpha=0.6, t0=3, weight_decay=0.1)
ASGD(P, lr=torch.tensor(0.01, dtype=torch.float64), foreach=False)
Adadelta(P)
Adadelta(P, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1)
Adadelta(P, maximize=True, foreach=True)
Adafactor(P)
Adafactor(P, lr=0.1, beta2_decay=-0.5, eps=(1e-5, 1e-2), d=1.5, weight_decay=0.1)
Adafactor(P, lr=0.05, maximize=True, foreach=True)
Adagrad(P)
Adagrad(P, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.3, eps=1e-4)
Adagrad(P, lr=0.1, maximize=True, fused=True)
Adamax(P)
Adamax(P, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1)
Adamax(P, maximize=True, foreach=True)
NAdam(P)
NAdam(P, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, momentum_decay=0.01)
NAdam(P, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True)
RAdam(P)
RAdam(P, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1)
RAdam(P, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, foreach=True)
RMSprop(P)
RMSprop(P, lr=0.05, alpha=0.8, eps=1e-3, weight_decay=0.1, momentum=0.9, centered=True)
RMSprop(P, lr=0.05, centered=True, maximize=True)
Rprop(P)
Rprop(P, lr=0.1, etas=(0.3, 1.5), step_sizes=(1e-3, 0.5))
Rprop(P, maximize=True, foreach=True)
Muon([P[0], P[4]])
Muon([P[0], P[4]], lr=0.1, weight_decay=0.0, momentum=0.8, nesterov=False, adjust_lr_fn="match_rms_adamw")
RMSprop([{"params": P[:2], "momentum": 0.5}, {"params": P[2:], "centered": True}], lr=0.02)
NAdam([{"params": P[:3], "weight_decay": 0.1}, {"params": P[3:], "maximize": True, "lr": 0.1}])
"""


@pytest.mark.parametrize("made", OPTIMIZERS.strip().splitlines())
def test_training_gives_the_same(made: str) -> None:
    compare(lambda library: train(library, made, dtype="float64"), rtol=1e-7, atol=1e-9)


IN_OTHER_DTYPES = """
SGD(P, 0.1, 0.9)
AdamW(P, 0.01)
ASGD(P, 0.1)
Adadelta(P)
Adafactor(P)
Adagrad(P)
Adamax(P)
NAdam(P)
RAdam(P)
RMSprop(P, 0.001, momentum=0.9, weight_decay=0.1)
Rprop(P, 0.001)
"""


@pytest.mark.parametrize("made", IN_OTHER_DTYPES.strip().splitlines())
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-4), ("bfloat16", 0.1)])
def test_training_in_other_dtypes(made: str, dtype: str, rtol: float) -> None:
    def body(library: Library) -> Any:
        losses, parameters, _ = train(library, made, dtype=dtype)
        return losses, {name: value.float() for name, value in parameters.items()}

    compare(body, rtol=rtol, atol=rtol)


LBFGS = [
    ("LBFGS(P)", 2),
    ("LBFGS(P, lr=0.5, max_iter=4, history_size=3)", 5),
    ("LBFGS(P, lr=torch.tensor(0.5), max_iter=4, max_eval=2)", 5),
    ('LBFGS(P, line_search_fn="strong_wolfe")', 2),
    ('LBFGS(P, lr=30, line_search_fn="strong_wolfe", max_iter=5, max_eval=20, history_size=2)', 4),
    ('LBFGS(P, lr=1e-3, line_search_fn="strong_wolfe", max_iter=5, max_eval=7, history_size=2)', 3),
    ("LBFGS(P, tolerance_grad=0.5)", 3),
    ("LBFGS(P, tolerance_change=0.1)", 3),
]

# What rounding changes grows with each iteration: one in the last place of the data moves the twentieth of PyTorch by
# more than any tolerance, and the sixth by 5e-5.  So float32 is compared in one step, and in few iterations of it.
LBFGS_IN_FLOAT32 = [
    "LBFGS(P, max_iter=6)",
    "LBFGS(P, lr=0.5, max_iter=4, history_size=3)",
    "LBFGS(P, lr=torch.tensor(0.5), max_iter=4, max_eval=2)",
    'LBFGS(P, line_search_fn="strong_wolfe", max_iter=6)',
    'LBFGS(P, lr=30, line_search_fn="strong_wolfe", max_iter=5, max_eval=20, history_size=2)',
    "LBFGS(P, tolerance_grad=0.5)",
    "LBFGS(P, tolerance_change=0.1)",
]


def train_with_closures(library: Library, made: str, steps: int, dtype: str) -> Any:
    model = network(library, dtype)
    x, y = data(library, dtype)
    optimizer = eval(f"optim.{made}", {"optim": library.optim, "P": list(model.parameters()), "torch": library})
    losses = []
    for _ in range(steps):

        def closure() -> Any:
            optimizer.zero_grad()
            loss = library.nn.functional.mse_loss(model(x), y)
            losses.append(loss.item())
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
    state = optimizer.state_dict()["state"][0]
    numbers = {name: float(state[name]) for name in ("func_evals", "n_iter", "t", "H_diag", "prev_loss")}
    return losses, model.state_dict(), sorted(state), numbers, [len(state["old_dirs"]), state["d"], state["old_stps"]]


@pytest.mark.parametrize(
    ("made", "steps", "dtype"),
    [(*case, "float64") for case in LBFGS] + [(made, 1, "float32") for made in LBFGS_IN_FLOAT32],
)
def test_training_with_closures(made: str, steps: int, dtype: str) -> None:
    rtol = 1e-5 if dtype == "float64" else 1e-3
    compare(lambda library: train_with_closures(library, made, steps, dtype), rtol=rtol, atol=rtol / 100)


def complex_parameters(library: Library) -> Any:
    found = []
    for made in (
        "SGD([p], 0.1, 0.9, weight_decay=0.1)",
        "Adam([p], 0.1, amsgrad=True)",
        "AdamW([p], 0.1)",
        "ASGD([p], 0.1, t0=2, weight_decay=0.1)",
        "Adadelta([p], weight_decay=0.1)",
        "Adagrad([p], 0.1, initial_accumulator_value=0.2)",
        "Adamax([p], 0.1)",
        "NAdam([p], 0.1)",
        "RAdam([p], 0.1, weight_decay=0.1)",
        "RMSprop([p], 0.1, momentum=0.5, centered=True)",
        "Rprop([p], 0.1)",
    ):
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
    for kind in (
        "SGD",
        "Adam",
        "ASGD",
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adamax",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
    ):
        made = getattr(library.optim, kind)([p, q], lr=0.1)
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
    for made in (
        "SGD(P, 0.1, 0.9)",
        "Adam(P, 0.05, amsgrad=True)",
        "ASGD(P, 0.05, t0=2)",
        "Adadelta(P)",
        "Adafactor(P)",
        "Adagrad(P)",
        "Adamax(P)",
        "NAdam(P)",
        "RAdam(P)",
        "RMSprop(P, 0.001, momentum=0.5, weight_decay=0.1)",
        "Rprop(P)",
    ):
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
        found.append(second.param_groups[0].get("maximize", False))
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


def states_with_numbers_of_steps(library: Library) -> Any:
    """State dicts of old versions, where the number of steps was a number."""
    found = []
    for kind in ("Adam", "ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adafactor"):
        p = library.nn.Parameter(library.ones(2))
        p.grad = library.ones(2)
        optimizer = getattr(library.optim, kind)([p], lr=0.1)
        optimizer.step()
        state = optimizer.state_dict()
        state["state"][0]["step"] = 3
        optimizer.load_state_dict(state)
        optimizer.step()
        found.append((p, optimizer.state_dict()["state"][0]["step"]))
    return found


def parameters_without_elements(library: Library) -> Any:
    found = []
    for kind in ("SGD", "Adam", "ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "LBFGS"):
        p, q = library.nn.Parameter(library.ones(0, 2)), library.nn.Parameter(library.ones(2))
        optimizer = getattr(library.optim, kind)([p, q], lr=0.1)

        def closure(p: Any = p, q: Any = q) -> Any:
            p.grad, q.grad = library.ones(0, 2), q.detach().clone()
            return (q * q).sum()

        closure()
        optimizer.step(closure)
        found.append((p, q, sorted(optimizer.state_dict()["state"].get(0, ()))))
    return found


def complex_parameters_of_lbfgs(library: Library) -> Any:
    p = library.nn.Parameter(library.tensor([1 + 2j, -1j], dtype=library.complex128))
    q = library.nn.Parameter(library.tensor([[3.0, 1.0]], dtype=library.float64))
    unused = library.nn.Parameter(library.ones(2, dtype=library.float64))
    optimizer = library.optim.LBFGS([p, unused, q], lr=0.1, line_search_fn="strong_wolfe", max_iter=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p.conj()).real.sum() + (q**4).sum() + (p.real * q).sum()
        loss.backward()
        return loss

    return optimizer.step(closure), optimizer.step(closure), p, q, unused


def differentiable_steps(library: Library) -> Any:
    """Gradients of what comes after steps, to the first parameter and to the gradients.

    After several steps PyTorch fails where a saved state has been written to; the momentum of SGD it detaches.
    """
    found = []
    for made, steps in (
        ("SGD([p], 0.1, weight_decay=0.1, **d)", 3),
        ("Adam([p], 0.1, weight_decay=0.1, amsgrad=True, **d)", 1),
        ("AdamW([p], 0.1, **d)", 3),
        ("ASGD([p], 0.1, t0=1, **d)", 3),
        ("Adadelta([p], **d)", 3),
        ("Adagrad([p], 0.1, **d)", 3),
        ("Adamax([p], 0.1, **d)", 1),
        ("NAdam([p], 0.1, weight_decay=0.1, **d)", 3),
        ("RAdam([p], 0.1, betas=(0.5, 0.6), **d)", 3),
        ("RMSprop([p], 0.1, momentum=0.5, centered=True, **d)", 1),
        ("Rprop([p], 0.1, **d)", 1),
    ):
        start = library.tensor([1.0, -2.0, 0.5], dtype=library.float64, requires_grad=True)
        grads = library.tensor([[0.3, -1.0, 2.0], [0.2, 0.4, 1.0], [-0.5, 0.1, 0.7]], dtype=library.float64)
        grads.requires_grad_()
        p = start.clone()
        optimizer = eval(f"optim.{made}", {"optim": library.optim, "p": p, "d": {"differentiable": True}})
        for number in range(steps):
            p.grad = grads[number]
            optimizer.step()
        found.append((p, *library.autograd.grad((p**2).sum(), (start, grads), materialize_grads=True)))
    return found


def gradients_of_options(library: Library) -> Any:
    """A learning rate, a weight decay and betas that are differentiated."""
    found = []
    for made in (
        "SGD([p], lr, weight_decay=decay, **d)",
        "Adam([p], lr, betas=(one, other), weight_decay=decay, **d)",
        "AdamW([p], lr, betas=(one, other), **d)",
    ):
        lr, decay, one, other = (
            library.tensor(value, dtype=library.float64, requires_grad=True) for value in (0.1, 0.2, 0.8, 0.9)
        )
        p = library.tensor([1.0, -2.0, 0.5], dtype=library.float64).requires_grad_().clone()
        names = {"p": p, "d": {"differentiable": True}, "lr": lr, "decay": decay, "one": one, "other": other}
        optimizer = eval(f"optim.{made}", {"optim": library.optim, **names})
        p.grad = library.tensor([0.3, -1.0, 2.0], dtype=library.float64)
        optimizer.step()
        found.append(library.autograd.grad((p**2).sum(), (lr, decay, one, other), allow_unused=True))
    return found


def steps_that_are_refused(library: Library) -> Any:
    found = []
    for made in (
        "Adam([p], capturable=True)",
        "ASGD([p], capturable=True)",
        "RMSprop([p], capturable=True)",
        "NAdam([p], foreach=True, differentiable=True)",
        "SGD([p], differentiable=True)",
        "Adafactor([c])",
        "LBFGS([p], line_search_fn='other')",
    ):
        p = library.ones(2, requires_grad=True)
        c = library.ones(2, dtype=library.complex64, requires_grad=True)
        p.grad, c.grad = library.ones(2), library.ones(2, dtype=library.complex64)
        optimizer = eval(f"optim.{made}", {"optim": library.optim, "p": p, "c": c})
        found.append(attempt(lambda optimizer=optimizer: optimizer.step(lambda: library.ones(())), message=False))
    return found


BODIES = [
    states_with_numbers_of_steps, parameters_without_elements, complex_parameters_of_lbfgs, differentiable_steps,
    gradients_of_options, steps_that_are_refused,
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
repr(optim.ASGD([p])), repr(optim.Adadelta([p])), repr(optim.Adafactor([p])), repr(optim.Adagrad([p]))
repr(optim.Adamax([p])), repr(optim.LBFGS([p])), repr(optim.NAdam([p])), repr(optim.RAdam([p]))
repr(optim.RMSprop([p]))
repr(optim.Rprop([p])), repr(optim.Muon([m])), optim.Adagrad([p, q]).state_dict(), optim.RMSprop([p]).defaults
list(optim.NAdam([p]).defaults), list(optim.Adamax([p]).defaults), list(optim.LBFGS([p], max_iter=8).defaults.items())
optim.ASGD([p], lr=-1)
optim.ASGD([p], lr=torch.ones(2))
optim.ASGD([p], weight_decay=-1)
optim.Adadelta([p], rho=1.5)
optim.Adadelta([p], eps=-1)
optim.Adafactor([p], lr=-1)
optim.Adafactor([p], lr=torch.ones(2))
optim.Adafactor([p], beta2_decay=1)
optim.Adafactor([p], eps=(-1, 1))
optim.Adafactor([p], eps=(1, -1))
optim.Adafactor([p], d=0.5)
optim.Adafactor([p], weight_decay=-1)
optim.Adagrad([p], lr_decay=-1)
optim.Adagrad([p], initial_accumulator_value=-1)
optim.Adagrad([p], eps=-1)
optim.Adagrad([p], fused=True, foreach=True)
optim.Adagrad([p], fused=True, differentiable=True)
optim.Adamax([p], betas=(0.5, 1.0))
optim.NAdam([p], momentum_decay=-1)
optim.NAdam([p], betas=(-0.5, 1.0))
optim.RAdam([p], eps=-1)
optim.RMSprop([p], alpha=-1)
optim.RMSprop([p], momentum=-1)
optim.Rprop([p], etas=(1.5, 1.2))
optim.Rprop([p], lr=-1)
optim.Muon([m], lr=-1)
optim.Muon([m], momentum=-1)
optim.Muon([m], weight_decay=-1)
optim.Muon([m], adjust_lr_fn="other")
optim.LBFGS([p], lr=-1)
optim.LBFGS([{"params": [p]}, {"params": [q]}])
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
S.MultiplicativeLR(o, 3)
S.MultiplicativeLR(o, [lambda e: 1, lambda e: 2])
S.ConstantLR(o, factor=1.5)
S.LinearLR(o, start_factor=0)
S.LinearLR(o, end_factor=2)
S.CosineAnnealingWarmRestarts(o, 0)
S.CosineAnnealingWarmRestarts(o, 2, 0)
S.CosineAnnealingWarmRestarts(o, 2, eta_min="a")
S.CyclicLR(o, 0.1, 1, mode="other", cycle_momentum=False)
S.CyclicLR(o, [0.1, 0.2], 1)
S.CyclicLR(optim.Adagrad([p]), 0.1, 1)
S.CyclicLR(3, 0.1, 1)
S.OneCycleLR(o, 1.0)
S.OneCycleLR(o, 1.0, epochs=3)
S.OneCycleLR(o, 1.0, 0)
S.OneCycleLR(o, 1.0, 2.5)
S.OneCycleLR(o, 1.0, epochs=0, steps_per_epoch=2)
S.OneCycleLR(o, 1.0, epochs=1, steps_per_epoch=2.5)
S.OneCycleLR(o, 1.0, 10, pct_start=2.0)
S.OneCycleLR(o, 1.0, 10, pct_start=1)
S.OneCycleLR(o, 1.0, 10, anneal_strategy="other")
S.OneCycleLR(optim.Rprop([p]), 1.0, 10)
S.OneCycleLR(o, 1.0, 10).state_dict(), S.CyclicLR(o, 0.1, 1.0).state_dict(), S.ReduceLROnPlateau(o).state_dict()
[S.OneCycleLR(o, 1.0, 10).step() for _ in range(3)]
S.ReduceLROnPlateau(o, factor=1.0)
S.ReduceLROnPlateau(o, mode="other")
S.ReduceLROnPlateau(o, threshold_mode="other")
S.ReduceLROnPlateau(o, min_lr=[1, 2])
S.ReduceLROnPlateau(3)
S.SequentialLR(o, [], [])
S.SequentialLR(o, [S.StepLR(o, 2)], [3])
S.SequentialLR(o, [S.StepLR(o, 2), S.ReduceLROnPlateau(o)], [3])
S.SequentialLR(o, [S.StepLR(o, 2), 3], [3])
S.ChainedScheduler([])
S.ChainedScheduler([S.ReduceLROnPlateau(o)])
W.SWALR(o, [0.1, 0.2])
W.SWALR(o, 0.1, anneal_strategy="other")
W.SWALR(o, 0.1, anneal_epochs=-1)
W.SWALR(o, 0.1).state_dict()
W.get_ema_avg_fn(1.5)
W.get_ema_multi_avg_fn(-1)
W.AveragedModel(torch.nn.Linear(1, 1), avg_fn=W.get_swa_avg_fn(), multi_avg_fn=W.get_swa_multi_avg_fn())
"""


def outcome(library: Library, expression: str) -> Any:
    p, q = library.nn.Parameter(library.ones(2)), library.nn.Parameter(library.ones(1))
    optim = library.optim
    m = library.nn.Parameter(library.ones(2, 3))
    names = {
        "optim": optim,
        "S": optim.lr_scheduler,
        "m": m,
        "p": p,
        "q": q,
        "torch": library,
        "o": optim.SGD([p], lr=1.0),
    }
    return warned(lambda: eval(expression, names))


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expression(expression: str) -> None:
    assert_same(outcome(gradwright, expression), outcome(torch, expression))


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
    "MultiplicativeLR(o, lambda e: 0.95)",
    "MultiplicativeLR(o, [lambda e: 1 / (e + 1), lambda e: 1.01])",
    "ConstantLR(o)",
    "ConstantLR(o, factor=0.5, total_iters=3)",
    "LinearLR(o)",
    "LinearLR(o, start_factor=0.2, end_factor=0.6, total_iters=4)",
    "PolynomialLR(o)",
    "PolynomialLR(o, total_iters=8, power=2.0)",
    "PolynomialLR(o, total_iters=20, power=0.5)",
    "CosineAnnealingWarmRestarts(o, 3)",
    "CosineAnnealingWarmRestarts(o, 2, T_mult=2, eta_min=0.05)",
    "CyclicLR(o, 0.1, 1.0, step_size_up=3)",
    "CyclicLR(o, [0.1, 0.2], [1.0, 2.0], step_size_up=2, step_size_down=3, mode='triangular2')",
    "CyclicLR(o, 0.1, 1.0, 2, mode='exp_range', gamma=0.9, base_momentum=0.5, max_momentum=0.7)",
    "CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda x: 1 / x, cycle_momentum=False)",
    "CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda x: 0.9**x, scale_mode='iterations')",
    "OneCycleLR(o, 1.0, total_steps=20)",
    "OneCycleLR(o, [1.0, 2.0], epochs=4, steps_per_epoch=6, pct_start=0.4, anneal_strategy='linear')",
    "OneCycleLR(o, 1.0, total_steps=20, three_phase=True, div_factor=10.0, final_div_factor=100.0)",
    "OneCycleLR(o, 1.0, total_steps=18, cycle_momentum=False)",
    "OneCycleLR(o, 1.0, total_steps=18, base_momentum=[0.5, 0.6], max_momentum=0.8)",
    "SWALR(o, 0.05)",
    "SWALR(o, [0.05, 0.5], anneal_epochs=4, anneal_strategy='linear')",
    "SWALR(o, 0.05, anneal_epochs=0)",
]


def rates(library: Library, made: str, kind: str, epochs: int = 14) -> Any:
    p, q = library.nn.Parameter(library.ones(1)), library.nn.Parameter(library.ones(1))
    o = getattr(library.optim, kind)([{"params": [p]}, {"params": [q], "lr": 0.2}], lr=1.0)
    names = {"o": o, **vars(library.optim.lr_scheduler), "SWALR": library.optim.swa_utils.SWALR}
    schedule = eval(made, names)
    found = [schedule.get_last_lr()]
    for epoch in range(epochs):
        o.step()
        schedule.step()
        if epoch == 6:
            o.param_groups[0]["lr"] *= 2  # a schedule goes on from the present rate where it can
        shown = [{name: value for name, value in group.items() if name != "params"} for group in o.param_groups]
        found.append((shown, schedule.get_last_lr()))
    state = schedule.state_dict()
    found.append({name: value for name, value in state.items() if not isinstance(value, dict)})
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
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_rates(made: str, kind: str) -> None:
    compare(lambda library: rates(library, made, kind), rtol=1e-12, atol=1e-15)


COMBINED = [
    "S.SequentialLR(o, [S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)], milestones=[4])",
    "S.SequentialLR(o, [S.LinearLR(o), S.CosineAnnealingLR(o, 5), S.StepLR(o, 2)], milestones=[3, 8])",
    "S.SequentialLR(o, [S.LinearLR(o), S.CosineAnnealingWarmRestarts(o, 3)], milestones=[3])",
    "S.SequentialLR(o, [S.PolynomialLR(o), S.MultiplicativeLR(o, lambda e: 0.9)], milestones=[5])",
    "S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)])",
    "S.ChainedScheduler([S.LinearLR(o), S.StepLR(o, 3), S.MultiStepLR(o, [4, 6])], optimizer=o)",
]


def test_combined_schedules_have_one_optimizer() -> None:
    def body(library: Library) -> Any:
        S = library.optim.lr_scheduler
        one, other = (library.optim.SGD([library.nn.Parameter(library.ones(1))]) for _ in range(2))
        members = [S.StepLR(one, 2), S.StepLR(other, 2)]
        return (
            attempt(lambda: S.SequentialLR(one, members, [2]), message=False),
            attempt(lambda: S.ChainedScheduler(members), message=False),
            attempt(lambda: S.ChainedScheduler(members[:1], other), message=False),
        )

    compare(body)


def combined(library: Library, made: str) -> Any:
    p, q = library.nn.Parameter(library.ones(1)), library.nn.Parameter(library.ones(1))
    o = library.optim.SGD([{"params": [p]}, {"params": [q], "lr": library.tensor(0.25)}], lr=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # schedules that are not the first member make their first step early
        schedule = eval(made, {"o": o, "S": library.optim.lr_scheduler})
    found = [schedule.get_last_lr(), schedule.state_dict()]
    for _ in range(12):
        o.step()
        schedule.step()
        found.append(([group["lr"] for group in o.param_groups], schedule.get_last_lr()))
    state = schedule.state_dict()
    found.append(state)
    again = eval(made, {"o": o, "S": library.optim.lr_scheduler})
    again.load_state_dict(state)
    o.step()
    again.step()
    return [*found, again.get_last_lr()]


@pytest.mark.parametrize("made", COMBINED)
def test_combined_schedules(made: str) -> None:
    compare(lambda library: combined(library, made), rtol=1e-6, atol=1e-9)


PLATEAUS = [
    "(o)",
    "(o, patience=1)",
    "(o, 'max', factor=0.5, patience=0, cooldown=2)",
    "(o, patience=1, threshold=0.1, threshold_mode='abs', min_lr=0.05)",
    "(o, 'max', patience=0, threshold=0.1, threshold_mode='abs', min_lr=[0.5, 0.01])",
    "(o, patience=0, threshold=0.2, factor=0.9, eps=0.05)",
]


@pytest.mark.parametrize("made", PLATEAUS)
def test_plateaus(made: str) -> None:
    def body(library: Library) -> Any:
        p, q = library.nn.Parameter(library.ones(1)), library.nn.Parameter(library.ones(1))
        o = library.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.2}], lr=1.0)
        schedule = eval(f"optim.lr_scheduler.ReduceLROnPlateau{made}", {"o": o, "optim": library.optim})
        found = [schedule.get_last_lr(), schedule.state_dict()]
        values = [1.0, 0.9, 0.95, 0.9, 1.2, 0.5, 0.49, float("nan"), 0.6, 0.7, -1.0, -1.05, -1.1, 3.0, 3.0, 3.0]
        for number, value in enumerate(values):
            o.step()
            schedule.step(library.tensor(value) if number % 2 else value)
            found.append((schedule.get_last_lr(), schedule.num_bad_epochs, schedule.in_cooldown, schedule.best))
        again = eval(f"optim.lr_scheduler.ReduceLROnPlateau{made}", {"o": o, "optim": library.optim})
        again.load_state_dict(schedule.state_dict())
        again.step(7.0)
        found += [again.state_dict(), again.get_last_lr(), warned(lambda: again.step(7.0, 3))]
        o.add_param_group({"params": [library.nn.Parameter(library.ones(1))]})
        for _ in range(4):
            found.append(attempt(lambda: again.step(7.0), message=False))
        return found

    compare(body, rtol=1e-12, atol=1e-15)


def test_restarts_at_given_epochs() -> None:
    def body(library: Library) -> Any:
        o = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=1.0)
        found = []
        for options in ({"T_0": 3}, {"T_0": 2, "T_mult": 3}):
            schedule = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, **options)
            for epoch in (0, 0.5, 1.75, 2, 3.5, 9, 20.25, None, None, 1):
                schedule.step() if epoch is None else schedule.step(epoch)
                found.append((schedule.get_last_lr(), schedule.last_epoch, schedule.T_cur, schedule.T_i))
            found.append(attempt(lambda schedule=schedule: schedule.step(-1), message=False))
        return found

    compare(body, rtol=1e-12, atol=1e-15)


# -- averages of models


AVERAGES = [
    "AveragedModel(m)",
    "AveragedModel(m, avg_fn=W.get_ema_avg_fn(0.8))",
    "AveragedModel(m, avg_fn=W.get_swa_avg_fn())",
    "AveragedModel(m, multi_avg_fn=W.get_ema_multi_avg_fn(0.6))",
    "AveragedModel(m, multi_avg_fn=W.get_swa_multi_avg_fn(), device='cpu')",
    "AveragedModel(m, avg_fn=lambda a, b, n: a + (b - a) / (n + 2), use_buffers=True)",
]


@pytest.mark.parametrize("made", AVERAGES)
def test_averages(made: str) -> None:
    def body(library: Library) -> Any:
        nn, W = library.nn, library.optim.swa_utils
        m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        m.load_state_dict({n: library.ones_like(v) * (2 if v.dim() else 1) for n, v in m.state_dict().items()})
        x = library.tensor(np.random.default_rng(0).standard_normal((4, 5, 3)), dtype=library.float32)
        averaged = eval(f"W.{made}", {"W": W, "m": m})
        found = [averaged.state_dict()]
        for number in range(4):
            with library.no_grad():
                for p in m.parameters():
                    p.add_(0.5 * number)
            m(x[number])
            averaged.update_parameters(m)
            found.append({name: value.clone() for name, value in averaged.state_dict().items()})
        W.update_bn(x, averaged)
        found += [averaged.state_dict(), averaged.training, averaged.module[1].momentum, averaged(x[0])]
        averaged.eval()
        W.update_bn([(batch, 1) for batch in x], averaged, device="cpu")
        return [*found, averaged.state_dict(), averaged.training]

    compare(body, rtol=1e-5, atol=1e-6)


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
