"""Steps of optimizers: the loops that are generated against the rules on NumPy's arrays, to the last bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright.optim import arrays
from runtime import native
from runtime.base.tensor import Tensor, wrap
from runtime.operators import update_rules
from support.native_core import needs_core

_ADAPTIVE = {"step": (1.0, 40.0), "beta1": (0.9,), "beta2": (0.0, 0.99), "eps": (1e-8,)}
# For each rule how many arrays it keeps, those that may be left out, and values of its options.
RULES: Mapping[str, tuple[int, Sequence[int], Mapping[str, Sequence[float | bool]]]] = {
    "sgd": (
        1,
        [0],
        {"momentum": (0.9,), "dampening": (0.0, 0.1), "nesterov": (False, True), "first": (False, True)},
    ),
    "adam": (3, [2], _ADAPTIVE),
    "nadam": (2, [], {**_ADAPTIVE, "momentum": (0.5,), "following": (0.6,), "product": (0.3,)}),
    "radam": (2, [], _ADAPTIVE),
    "adamax": (2, [], _ADAPTIVE),
    "adadelta": (2, [], {"rho": (0.9,), "eps": (1e-6,)}),
    "adagrad": (1, [], {"eps": (1e-10,)}),
    "rmsprop": (3, [1, 2], {"alpha": (0.99,), "eps": (1e-8,), "momentum": (0.9,)}),
    "rprop": (
        2,
        [],
        {"shrink": (0.5,), "grow": (1.2,), "smallest": (0.0, 1e-3, float("nan")), "largest": (2.0, float("nan"))},
    ),
    "asgd": (1, [], {"shrink": (0.1,), "share": (0.3, 1.0)}),
}
SHARED: Mapping[str, Sequence[float | bool]] = {
    "lr": (0.1, 1e300),
    "weight_decay": (0.0, 0.01),
    "decoupled": (False, True),
    "maximize": (False, True),
}


def all_options(own: Mapping[str, Sequence[float | bool]]) -> Iterator[dict[str, float | bool]]:
    known = {**SHARED, **own}
    for values in itertools.product(*known.values()):
        yield dict(zip(known, values, strict=True))


def operands(count: int, size: int, dtype: str) -> list[np.ndarray]:
    """A gradient, a parameter and what is kept, with all that is special at the front."""
    random = np.random.default_rng(3)
    special = np.array([0.0, -0.0, 1e-40, np.inf, -np.inf, np.nan, 3e38], dtype)
    made = []
    for number in range(count + 2):
        array = random.normal(size=size).astype(dtype)
        head = np.tile(np.roll(special, number), 50)[number : number + size // 2]
        array[: len(head)] = head
        made.append(array)
    return made


def assert_same_bits(have: np.ndarray, want: np.ndarray) -> None:
    np.testing.assert_array_equal(have, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(have[numbers]), np.signbit(want[numbers]))


@needs_core
def test_every_rule_is_compiled() -> None:
    public = {
        name for name, value in vars(update_rules).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == update_rules.__name__
    }  # fmt: skip
    assert {rule.__name__ for rule in arrays._COMPILED} == public - {"complete"} == set(RULES)


@needs_core
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RULES)
def test_a_step_is_that_of_numpy(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = getattr(update_rules, name)
    count, optional, own = RULES[name]
    start = operands(count, 1100, dtype)
    for options in all_options(own):
        for left_out in itertools.chain.from_iterable(
            itertools.combinations(optional, number) for number in range(len(optional) + 1)
        ):
            results = []
            for core in (native.core, None):
                monkeypatch.setattr(arrays, "core", core)
                made: list[Any] = [array.copy() for array in start]
                for number in left_out:
                    made[number + 2] = None
                if core is not None:
                    assert core.update_step(arrays._COMPILED[rule], options, *made)
                else:
                    arrays.step(rule, options, *made)
                monkeypatch.undo()
                results.append(made)
            for have, want in zip(*results, strict=True):
                assert (have is None) is (want is None)
                if have is not None:
                    assert_same_bits(have, want)


@needs_core
@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 100_003])
@pytest.mark.parametrize("name", RULES)
def test_a_step_is_that_of_numpy_at_every_size(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On several threads as well."""
    rule = getattr(update_rules, name)
    count, _, own = RULES[name]
    threads = gradwright.get_num_threads()
    results = []
    try:
        for core, number in ((native.core, 1), (native.core, 3), (None, 1)):
            gradwright.set_num_threads(number)
            monkeypatch.setattr(arrays, "core", core)
            made = operands(count, size, "float32")
            arrays.step(rule, next(all_options(own)), *made)
            results.append(made)
            monkeypatch.undo()
    finally:
        gradwright.set_num_threads(threads)
    for one, other, want in zip(*results, strict=True):
        assert_same_bits(one, want)
        assert_same_bits(other, want)


def refused(name: str, options: Mapping[str, Any], *operands: Any) -> bool:
    """Whether the core leaves a step to Python, and all as it was."""
    before = [None if array is None else array.copy() for array in operands]
    assert native.core is not None
    done = native.core.update_step(arrays._COMPILED[getattr(update_rules, name)], options, *operands)
    if not done:
        for array, was in zip(operands, before, strict=True):
            np.testing.assert_array_equal(array, was)
    return not done


SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "nesterov": False, "first": False}
ADAMAX = {"lr": 0.1, "step": 1.0, "beta1": 0.9, "beta2": 0.9, "eps": 1e-8}


@needs_core
def test_what_is_left_to_python() -> None:
    def three(dtype: str = "float32") -> list[np.ndarray]:
        return [np.ones(6, dtype) for _ in range(3)]

    assert not refused("sgd", SGD, *three())
    assert not refused("sgd", {**SGD, "weight_decay": 0.0, "maximize": True}, *three())
    # Options: one too many, one too few, and what is no float or bool.
    assert refused("sgd", {**SGD, "other": 1.0}, *three())
    assert refused("sgd", {key: value for key, value in SGD.items() if key != "lr"}, *three())
    assert refused("sgd", {**SGD, "lr": np.float64(0.1)}, *three())
    assert refused("sgd", {**SGD, "lr": gradwright.tensor(0.1)}, *three())
    assert refused("sgd", {**SGD, "first": 0}, *three())
    # Arrays: other element types, layouts, shapes and numbers of them, and one that must be there.
    assert refused("sgd", SGD, *three("float16"))
    assert refused("sgd", SGD, *three("complex64"))
    assert refused("sgd", SGD, *three("float32")[:2], np.ones(6))
    assert refused("sgd", SGD, *three("float32")[:2], np.ones(5, "float32"))
    assert refused("sgd", SGD, *three()[:2], np.ones(12, "float32")[::2])
    assert refused("sgd", SGD, *three()[:2])
    assert refused("sgd", SGD, three()[0], None, three()[0])
    fixed = three()
    fixed[1].flags.writeable = False
    assert refused("sgd", SGD, *fixed)
    # Arrays that share memory.
    memory = np.arange(12, dtype="float32")
    assert refused("sgd", SGD, memory[:6], memory[5:11], memory[6:])
    assert not refused("sgd", SGD, memory[:4], memory[4:8], memory[8:])


@needs_core
@pytest.mark.parametrize(
    "changed",
    [{"beta1": 1.0}, {"beta1": -2.0, "step": 0.5}, {"beta1": 10.0, "step": 400.0}, {"beta1": 0.0, "step": -1.0}],
)
def test_numbers_that_python_has_none_for_are_errors(changed: Mapping[str, float]) -> None:
    """A division by zero, a complex number, and one that is too large."""
    made = [np.ones(3, "float32") for _ in range(4)]
    assert refused("adamax", {**ADAMAX, **changed}, *made)
    with pytest.raises((ArithmeticError, np.exceptions.ComplexWarning)):
        arrays.step(update_rules.adamax, {**ADAMAX, **changed}, *made)


@needs_core
def test_a_call_that_names_no_rule() -> None:
    assert native.core is not None
    array = np.ones(2)
    calls: list[tuple[Any, ...]] = [(), (0, {}), (0, None, array), (-1, {}, array), (99, {}, array), ("sgd", {}, array)]
    for arguments in calls:
        with pytest.raises(TypeError):
            native.core.update_step(*arguments)


Make = Callable[[list[Tensor]], Any]
OPTIMIZERS: Mapping[str, Make] = {
    "SGD": lambda p: gradwright.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "Adam": lambda p: gradwright.optim.Adam(p, 0.1, amsgrad=True, maximize=True),
    "AdamW": lambda p: gradwright.optim.AdamW(p, 0.1),
    "ASGD": lambda p: gradwright.optim.ASGD(p, 0.1, t0=1),
    "Adadelta": lambda p: gradwright.optim.Adadelta(p),
    "Adagrad": lambda p: gradwright.optim.Adagrad(p, lr_decay=0.1),
    "Adamax": lambda p: gradwright.optim.Adamax(p),
    "NAdam": lambda p: gradwright.optim.NAdam(p, decoupled_weight_decay=True, weight_decay=0.1),
    "RAdam": lambda p: gradwright.optim.RAdam(p, betas=(0.5, 0.6)),
    "RMSprop": lambda p: gradwright.optim.RMSprop(p, momentum=0.5, centered=True, eps=0.1),
    "Rprop": lambda p: gradwright.optim.Rprop(p),
}


@needs_core
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_in_the_core(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their options are of the kinds that it takes; the states are those of Python."""
    states = []
    for core in (native.core, None):
        monkeypatch.setattr(arrays, "core", core)
        if core is not None:
            monkeypatch.setattr(arrays, "update", None)  # which Python would need
        param = wrap(np.random.default_rng(0).normal(size=(3, 5)).astype("float32")).requires_grad_()
        optimizer = OPTIMIZERS[name]([param])
        for step in range(6):
            param.grad = wrap(np.random.default_rng(step).normal(size=(3, 5)).astype("float32"))
            optimizer.step()
        assert param._version == 6
        states.append([param.detach().numpy(), *[v.numpy() for v in optimizer.state[param].values()]])
        monkeypatch.undo()
    for have, want in zip(*states, strict=True):
        np.testing.assert_array_equal(have, want)


def test_parameters_that_the_core_does_not_know() -> None:
    for make in (lambda p: gradwright.optim.SGD(p, 0.5, momentum=0.5), lambda p: gradwright.optim.Adam(p, 0.5)):
        results = []
        for transposed, dtype in itertools.product(
            (False, True), (gradwright.float64, gradwright.float16, gradwright.complex64)
        ):
            p = gradwright.ones(2, 3).to(dtype)
            p = (p.t() if transposed else p).detach().requires_grad_()
            optimizer = make([p])
            for _ in range(2):
                p.grad = gradwright.full(p.shape, 0.25).to(dtype)
                optimizer.step()
            results.append(p.detach().to(gradwright.complex128).numpy().ravel().real)
        for result in results[1:]:
            np.testing.assert_allclose(result, results[0], rtol=2e-3, atol=2e-3)
