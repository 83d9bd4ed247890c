"""`autograd.functional` and batches of gradients in `autograd.grad`, against PyTorch: one body for both modules."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

Body = Callable[[Any, Any, Any], Any]  # the module, its `autograd.functional`, the inputs


def inputs(module: Any) -> SimpleNamespace:
    """Tensors of every kind, the same values in both modules."""

    def make(values: Any, requires_grad: bool = False) -> Any:
        made = module.tensor(values)
        if made.is_floating_point():
            made = made.double()
        return made.requires_grad_(requires_grad)

    return SimpleNamespace(
        x=make([1.0, 2.0]),
        y=make([3.0, 4.0, 5.0]),
        m=make([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]),
        s=make(2.0),
        one=make([3.0]),
        empty=make([1.0])[:0],
        zero=make([0.0]),
        single=make([3.0, 4.0]).float(),
        whole=make([1, 2]),
        c=module.tensor([1 + 2j, 3 - 1j], dtype=module.complex128),
        xr=make([1.0, 2.0], requires_grad=True),
        vr=make([1.0, -1.0], requires_grad=True),
    )


def described(value: Any) -> Any:
    """Structure, dtype, whether it can be differentiated, and the values."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [described(part) for part in value]
    if hasattr(value, "requires_grad"):
        return str(value.dtype).split(".")[-1], value.requires_grad, np.asarray(value.detach().numpy())
    return value


def outcome(body: Body, module: Any) -> Any:
    try:
        return described(body(module, module.autograd.functional, inputs(module)))
    except Exception as error:
        text = str(error).replace("torch.", "gradwright.").replace("isonly", "is only").removeprefix("vmap: ")
        return type(error).__name__, text.replace("Only Tensors", "only Tensors")


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    elif isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected), (found, expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        assert found == expected


def cube(a: Any) -> Any:
    return (a**3).sum()


VECTOR_PRODUCTS: dict[str, Body] = {
    "one": lambda t, f, d: f(lambda a: a * a, d.x, d.x),
    "tuples of one": lambda t, f, d: f(lambda a: (a * a,), (d.x,), (d.x,)),
    "v as a tuple": lambda t, f, d: f(lambda a: a * a, d.x, (d.x,)),
    "outputs as a tuple": lambda t, f, d: f(lambda a: (a * a,), d.x, d.x),
    "two to two": lambda t, f, d: f(lambda a, b: (a * a * b.sum(), b.exp() * a[0]), (d.x, d.y), (d.x, d.y)),
    "v too short": lambda t, f, d: f(lambda a, b: (a * b.sum(), b), (d.x, d.y), d.x),
    "v too long": lambda t, f, d: f(lambda a: a * a, d.x, (d.x, d.x)),
    "v of another size": lambda t, f, d: f(lambda a: a * a, d.x, d.y),
    "entry of another size": lambda t, f, d: f(lambda a, b: (a * a, b), (d.x, d.y), (d.x, d.x)),
    "v is a list": lambda t, f, d: f(lambda a: a * a, d.x, [1.0, 2.0]),
    "v has a number": lambda t, f, d: f(lambda a, b: (a * a, b), (d.x, d.y), (d.x, 3)),
    "inputs are a list": lambda t, f, d: f(lambda a: a * a, [d.x], d.x),
    "an input is a number": lambda t, f, d: f(lambda a, b: a * b, (d.x, 3), d.x),
    "output is a number": lambda t, f, d: f(lambda a: 3, d.x, d.x),
    "outputs are a list": lambda t, f, d: f(lambda a: [a], d.x, d.x),
    "no v": lambda t, f, d: f(lambda a: a * a, d.x),
    "no v, sum": lambda t, f, d: f(lambda a: a.sum(), d.x),
    "no v, 0-dim": lambda t, f, d: f(lambda a: a * a, d.s),
    "no v, one element": lambda t, f, d: f(lambda a: a * d.x, d.one),
    "no v, tuples": lambda t, f, d: f(lambda a: (a.sum(),), (d.x,)),
    "no v, 0-dim in a tuple": lambda t, f, d: f(lambda a: (a * d.x,), (d.s,)),
    "unused input": lambda t, f, d: f(lambda a, b: a * a, (d.x, d.x), d.x),
    "unused input, two vectors": lambda t, f, d: f(lambda a, b: a * a, (d.x, d.y), (d.x, d.y)),
    "unused input, strict": lambda t, f, d: f(lambda a, b: a * a, (d.x, d.y), d.x, strict=True),
    "unused input, strict, two": lambda t, f, d: f(lambda a, b: a * a, (d.x, d.y), (d.x, d.y), strict=True),
    "constant": lambda t, f, d: f(lambda a: d.y[:2], d.x, d.x),
    "constant, strict": lambda t, f, d: f(lambda a: d.y[:2], d.x, d.x, strict=True),
    "captured": lambda t, f, d: f(lambda a: d.xr * d.xr, d.xr, d.x),
    "captured, strict": lambda t, f, d: f(lambda a: d.xr * d.xr, d.xr, d.x, strict=True),
    "partly captured, strict": lambda t, f, d: f(lambda a: (a * a, d.xr * 2), d.x, d.x, strict=True),
    "partly constant": lambda t, f, d: f(lambda a: (a * a, d.y), d.x, (d.x, d.y)),
    "partly constant, one vector": lambda t, f, d: f(lambda a: (a * a, d.y), d.x, d.x),
    "linear": lambda t, f, d: f(lambda a: a * 2, d.x, d.x),
    "linear, strict": lambda t, f, d: f(lambda a: a * 2, d.x, d.x, strict=True),
    "linear, strict, graph": lambda t, f, d: f(lambda a: a * 2, d.xr, d.x, strict=True, create_graph=True),
    "linear, strict, graph of v": lambda t, f, d: f(lambda a: a * 2, d.x, d.vr, strict=True, create_graph=True),
    "graph": lambda t, f, d: f(lambda a: a * a, d.xr, d.vr, create_graph=True),
    "graph of no leaf": lambda t, f, d: f(lambda a: a * a, d.x, d.x, create_graph=True),
    "no graph": lambda t, f, d: f(lambda a: a * a, d.xr, d.vr),
    "complex": lambda t, f, d: f(lambda a: a * a, d.c, d.c),
    "complex to real": lambda t, f, d: f(lambda a: a.abs(), d.c, d.x),
    "complex to real, complex v": lambda t, f, d: f(lambda a: a.abs(), d.c, d.c),
    "real to complex": lambda t, f, d: f(lambda a: a * d.c, d.x, d.c),
    "real to complex, real v": lambda t, f, d: f(lambda a: a * d.c, d.x, d.x),
    "complex, no v": lambda t, f, d: f(lambda a: a * a, d.c[0]),
    "v of float32": lambda t, f, d: f(lambda a: a * a, d.x, d.single),
    "v of integers": lambda t, f, d: f(lambda a: a * a, d.x, d.whole),
    "integer output": lambda t, f, d: f(lambda a: (a * a, d.whole), d.x, (d.x, d.whole)),
    "integer output, one vector": lambda t, f, d: f(lambda a: (a * a, d.whole), d.x, d.x),
    "empty": lambda t, f, d: f(lambda a: a * a, d.empty, d.empty),
    "empty output": lambda t, f, d: f(lambda a: a[:0], d.x, d.empty),
    "empty output, whole vector": lambda t, f, d: f(lambda a: a[:0], d.x, d.x),
    "identity": lambda t, f, d: f(lambda a: a, d.x, d.x, strict=True),
    "no recording outside": lambda t, f, d: _without_grad(t, lambda: f(lambda a: a * a, d.xr, d.x)),
    "no recording outside, graph": lambda t, f, d: _without_grad(
        t, lambda: f(lambda a: a * a, d.xr, d.x, create_graph=True)
    ),
}
HESSIAN_PRODUCTS: dict[str, Body] = {
    "one": lambda t, f, d: f(cube, d.x, d.x),
    "tuple": lambda t, f, d: f(cube, (d.x,), (d.x,)),
    "two": lambda t, f, d: f(lambda a, b: cube(a) * b.exp().sum(), (d.x, d.y), (d.x, d.y)),
    "v too short": lambda t, f, d: f(lambda a, b: cube(a), (d.x, d.y), d.x),
    "v too long": lambda t, f, d: f(cube, d.x, (d.x, d.x)),
    "v of another size": lambda t, f, d: f(cube, d.x, d.y),
    "entry of another size": lambda t, f, d: f(lambda a, b: cube(a), (d.x, d.y), (d.x, d.x)),
    "no v": lambda t, f, d: f(cube, d.x),
    "no v, 0-dim": lambda t, f, d: f(cube, d.s),
    "no v, tuple": lambda t, f, d: f(cube, (d.one,)),
    "several elements": lambda t, f, d: f(lambda a: a**3, d.x, d.x),
    "output in a tuple": lambda t, f, d: f(lambda a: (cube(a),), d.x, d.x),
    "output is a number": lambda t, f, d: f(lambda a: 3, d.x, d.x),
    "one element of two dims": lambda t, f, d: f(lambda a: cube(a).reshape(1, 1), d.x, d.x),
    "unused": lambda t, f, d: f(lambda a, b: cube(a), (d.x, d.y), (d.x, d.y)),
    "unused, strict": lambda t, f, d: f(lambda a, b: cube(a), (d.x, d.y), (d.x, d.y), strict=True),
    "separate, strict": lambda t, f, d: f(lambda a, b: cube(a) + cube(b), (d.x, d.y), (d.x, d.y), strict=True),
    "partly linear": lambda t, f, d: f(lambda a, b: cube(a) + b.sum(), (d.x, d.y), (d.x, d.y)),
    "partly linear, strict": lambda t, f, d: f(lambda a, b: cube(a) + b.sum(), (d.x, d.y), (d.x, d.y), strict=True),
    "linear": lambda t, f, d: f(lambda a: a.sum(), d.x, d.x),
    "linear, strict": lambda t, f, d: f(lambda a: a.sum(), d.x, d.x, strict=True),
    "bilinear, strict": lambda t, f, d: f(lambda a, b: (a * b).sum(), (d.x, d.x), (d.x, d.x), strict=True),
    "bilinear, strict, graph": lambda t, f, d: f(
        lambda a, b: (a * b).sum(), (d.x, d.x), (d.x, d.x), strict=True, create_graph=True
    ),
    "constant": lambda t, f, d: f(lambda a: d.s, d.x, d.x),
    "constant, strict": lambda t, f, d: f(lambda a: d.s, d.x, d.x, strict=True),
    "graph": lambda t, f, d: f(cube, d.xr, d.vr, create_graph=True),
    "graph of no leaf": lambda t, f, d: f(cube, d.x, d.x, create_graph=True),
    "graph, strict": lambda t, f, d: f(cube, d.xr, d.x, create_graph=True, strict=True),
    "square, graph": lambda t, f, d: f(lambda a: (a * a).sum(), d.xr, d.x, create_graph=True),
    "square, graph, strict": lambda t, f, d: f(lambda a: (a * a).sum(), d.xr, d.x, create_graph=True, strict=True),
    "complex": lambda t, f, d: f(lambda a: (a * a).abs().sum(), d.c, d.c),
    "complex output": lambda t, f, d: f(lambda a: (a * a).sum(), d.c, d.c),
    "complex, real v": lambda t, f, d: f(lambda a: a.abs().sum(), d.c, d.x),
    "empty": lambda t, f, d: f(cube, d.empty, d.empty),
    "no recording outside": lambda t, f, d: _without_grad(t, lambda: f(cube, d.xr, d.x)),
    "no recording outside, graph": lambda t, f, d: _without_grad(t, lambda: f(cube, d.xr, d.x, create_graph=True)),
}
JACOBIANS: dict[str, Body] = {
    "one": lambda t, f, d: f(lambda a: a * a, d.x),
    "matrix": lambda t, f, d: f(lambda a: a.exp() @ d.y, d.m),
    "tuple of one input": lambda t, f, d: f(lambda a: a * a, (d.x,)),
    "tuple of one output": lambda t, f, d: f(lambda a: (a * a,), d.x),
    "tuples of one": lambda t, f, d: f(lambda a: (a * a,), (d.x,)),
    "one to two": lambda t, f, d: f(lambda a: (a * a, a.sum()), d.x),
    "two to one": lambda t, f, d: f(lambda a, b: a * b.sum(), (d.x, d.y)),
    "two to two": lambda t, f, d: f(lambda a, b: (a * a, b.sum()), (d.x, d.y)),
    "inputs are a list": lambda t, f, d: f(lambda a: a, [d.x]),
    "an input is a number": lambda t, f, d: f(lambda a, b: a, (d.x, 3)),
    "integer output": lambda t, f, d: f(lambda a: (a * 2, d.whole), d.x),
    "complex to real": lambda t, f, d: f(lambda a: a.abs(), d.c),
    "complex": lambda t, f, d: f(lambda a: a * a, d.c),
    "real to complex": lambda t, f, d: f(lambda a: a * d.c, d.x),
    "unused input": lambda t, f, d: f(lambda a, b: a * a, (d.x, d.y)),
    "constant": lambda t, f, d: f(lambda a: a.detach(), d.x),
    "captured": lambda t, f, d: f(lambda a: d.vr * d.vr, d.vr),
    "two dtypes": lambda t, f, d: f(lambda a, b: (a * a, b.sum() * 2), (d.x, d.single)),
    "the same twice": lambda t, f, d: f(lambda a, b: a * b, (d.x, d.x)),
    "0-dim": lambda t, f, d: f(lambda a: a * a, d.s),
    "0-dim to vector": lambda t, f, d: f(lambda a: a * d.x, d.s),
    "vector to 0-dim": lambda t, f, d: f(lambda a: cube(a), d.x),
    "one of two is empty": lambda t, f, d: f(lambda a, b: b * a.sum(), (d.empty, d.x)),
    "no graph": lambda t, f, d: f(lambda a: a * a, d.x),
    "another strategy": lambda t, f, d: f(lambda a: a * a, [d.x], strategy="sideways"),
}
REVERSE: dict[str, Body] = {
    **JACOBIANS,
    "output is a number": lambda t, f, d: f(lambda a: 3, d.x),
    "outputs are a list": lambda t, f, d: f(lambda a: [a], d.x),
    "an output is a number": lambda t, f, d: f(lambda a: (a, 3), d.x),
    "infinite beside finite": lambda t, f, d: f(lambda a: (a.sqrt(), a * 1), d.zero),
    "strict": lambda t, f, d: f(lambda a: a * 2, d.x, strict=True),
    "constant, strict": lambda t, f, d: f(lambda a: a.detach(), d.x, strict=True),
    "unused input, strict": lambda t, f, d: f(lambda a, b: a * a, (d.x, d.y), strict=True),
    "second output captured, strict": lambda t, f, d: f(lambda a: (a * a, d.xr * 2), d.x, strict=True),
    "linear, strict, graph": lambda t, f, d: f(lambda a: a * 2, d.x, strict=True, create_graph=True),
    "graph, strict": lambda t, f, d: f(lambda a: a * a, d.xr, create_graph=True, strict=True),
    "graph": lambda t, f, d: f(lambda a: a * a, d.xr, create_graph=True),
    "graph of no leaf": lambda t, f, d: f(lambda a: a * a, d.x, create_graph=True),
    "graph of two": lambda t, f, d: f(lambda a, b: (a * b.sum(), b.exp()), (d.xr, d.y), create_graph=True),
    "linear, graph": lambda t, f, d: f(lambda a: a * 2, d.xr, create_graph=True),
    "captured, graph": lambda t, f, d: f(lambda a: d.xr * a, d.xr, create_graph=True),
    "empty": lambda t, f, d: f(lambda a: a * a, d.empty),
    "empty output": lambda t, f, d: f(lambda a: a[:0], d.x),
    "one of two outputs is empty": lambda t, f, d: f(lambda a, b: (a * a, b), (d.empty, d.x)),
    "no recording outside, graph": lambda t, f, d: _without_grad(
        t, lambda: f(lambda a: a * a, d.xr, create_graph=True)
    ),
    "no recording outside": lambda t, f, d: _without_grad(t, lambda: f(lambda a: a * a, d.xr)),
}
FORWARD: dict[str, Body] = {
    **JACOBIANS,
    "with a graph": lambda t, f, d: f(lambda a: a * a, [d.x], create_graph=True),
    "strict": lambda t, f, d: f(lambda a: a * a, [d.x], strict=True),
    "empty": lambda t, f, d: f(lambda a: a * a, d.empty),
    "empty output": lambda t, f, d: f(lambda a: a[:0], d.x),
    "integer input": lambda t, f, d: f(lambda a, b: a * b, (d.whole, d.x)),
    "no inputs": lambda t, f, d: f(lambda: d.x, ()),
    "no outputs": lambda t, f, d: f(lambda a: (), d.x),
    "input with a graph": lambda t, f, d: f(lambda a: a * a, d.xr),
}
HESSIANS: dict[str, Body] = {
    "one": lambda t, f, d: f(cube, d.x),
    "matrix": lambda t, f, d: f(lambda a: (a.exp() @ d.y).sum(), d.m),
    "tuple of one": lambda t, f, d: f(cube, (d.x,)),
    "two": lambda t, f, d: f(lambda a, b: cube(a) * b.sum(), (d.x, d.y)),
    "output in a tuple": lambda t, f, d: f(lambda a: (cube(a),), d.x),
    "several elements": lambda t, f, d: f(lambda a: a**3, d.x),
    "one element of two dims": lambda t, f, d: f(lambda a: cube(a).reshape(1, 1), d.x),
    "output is a number": lambda t, f, d: f(lambda a: 3, d.x),
    "inputs are a list": lambda t, f, d: f(cube, [d.x]),
    "unused": lambda t, f, d: f(lambda a, b: cube(a), (d.x, d.y)),
    "linear": lambda t, f, d: f(lambda a: a.sum(), d.x),
    "constant": lambda t, f, d: f(lambda a: a.sum().detach(), d.x),
    "0-dim": lambda t, f, d: f(lambda a: a**3, d.s),
    "complex": lambda t, f, d: f(lambda a: (a * a).abs().sum(), d.c),
    "complex output": lambda t, f, d: f(lambda a: (a * a).sum(), d.c),
    "another strategy": lambda t, f, d: f(cube, d.x, outer_jacobian_strategy="sideways"),
    "graph": lambda t, f, d: f(cube, d.xr, create_graph=True),
    "linear, strict": lambda t, f, d: f(lambda a: a.sum(), d.x, strict=True),
    "unused, strict": lambda t, f, d: f(lambda a, b: cube(a), (d.x, d.y), strict=True),
    "separate, strict": lambda t, f, d: f(lambda a, b: cube(a) + cube(b), (d.x, d.y), strict=True),
    "constant, strict": lambda t, f, d: f(lambda a: a.sum().detach(), d.x, strict=True),
    "graph, strict": lambda t, f, d: f(cube, d.xr, strict=True, create_graph=True),
    "empty": lambda t, f, d: f(lambda a: a.sum(), d.empty),
    "in forward mode": lambda t, f, d: f(cube, d.x, outer_jacobian_strategy="forward-mode"),
    "in forward mode, graph": lambda t, f, d: f(cube, d.x, create_graph=True, outer_jacobian_strategy="forward-mode"),
    "in forward mode, two": lambda t, f, d: f(
        lambda a, b: cube(a) * b.sum(), (d.xr, d.y), outer_jacobian_strategy="forward-mode"
    ),
    "in forward mode, linear": lambda t, f, d: f(lambda a: a.sum(), d.x, outer_jacobian_strategy="forward-mode"),
}


def _without_grad(module: Any, call: Callable[[], Any]) -> Any:
    with module.no_grad():
        found = call()
        assert not module.is_grad_enabled()
    return found


def compare(body: Body, pick: Callable[[Any], Any]) -> None:
    def picked(module: Any, functional: Any, data: Any) -> Any:
        return body(module, pick(functional), data)

    same(outcome(picked, gradwright), outcome(picked, torch))


@pytest.mark.parametrize("name", VECTOR_PRODUCTS)
@pytest.mark.parametrize("function", ["vjp", "jvp"])
def test_vector_products(function: str, name: str) -> None:
    compare(VECTOR_PRODUCTS[name], lambda functional: getattr(functional, function))


@pytest.mark.parametrize("name", HESSIAN_PRODUCTS)
@pytest.mark.parametrize("function", ["vhp", "hvp"])
def test_hessian_products(function: str, name: str) -> None:
    compare(HESSIAN_PRODUCTS[name], lambda functional: getattr(functional, function))


@pytest.mark.parametrize("name", REVERSE)
@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian(name: str, vectorize: bool) -> None:
    compare(REVERSE[name], lambda functional: _given(functional.jacobian, vectorize=vectorize))


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jacobian_in_forward_mode(name: str) -> None:
    compare(FORWARD[name], lambda functional: _given(functional.jacobian, strategy="forward-mode", vectorize=True))


@pytest.mark.parametrize("name", HESSIANS)
@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_hessian(name: str, vectorize: bool) -> None:
    compare(HESSIANS[name], lambda functional: _given(functional.hessian, vectorize=vectorize))


def _given(function: Any, **options: Any) -> Any:
    return lambda *args, **more: function(*args, **{**options, **more})


# -- random functions

SHAPES = [(), (2,), (1,), (2, 3), (3, 1)]
STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda t, a, b: a * b.sum(),
    lambda t, a, b: t.tanh(a) + b.mean(),
    lambda t, a, b: t.sin(a) * t.cos(b).sum(),
    lambda t, a, b: a.exp() / (b * b + 1.0).sum(),
    lambda t, a, b: (a.unsqueeze(0) * a).sum(0),
    lambda t, a, b: t.sigmoid(a) ** 3,
    lambda t, a, b: a.reshape(-1).flip(0).reshape(a.shape) * a,
]


class Program:
    """A random function of some Tensors with some Tensors as results, and a place to differentiate it at."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.places = [random.uniform(-1, 1, SHAPES[i]) for i in random.integers(0, len(SHAPES), random.integers(1, 4))]
        self.steps = random.integers(0, len(STEPS), 5)
        self.picks = random.integers(0, 100, (5, 2))
        self.count = int(random.integers(1, 3))
        self.vectors = random.uniform(-1, 1, (5, 6))

    def __call__(self, module: Any) -> Callable[..., Any]:
        def function(*tensors: Any) -> Any:
            known = list(tensors)
            for step, (i, j) in zip(self.steps, self.picks, strict=True):
                known.append(STEPS[step](module, known[i % len(known)], known[j % len(known)]))
            return tuple(known[-self.count :])

        return function

    def scalar(self, module: Any) -> Callable[..., Any]:
        return lambda *tensors: sum(out.sin().sum() for out in self(module)(*tensors))

    def inputs(self, module: Any) -> tuple[Any, ...]:
        return tuple([module.tensor(place.tolist(), dtype=module.float64) for place in self.places])

    def like(self, module: Any, tensors: Any) -> tuple[Any, ...]:
        """Vectors shaped as `tensors`."""
        made = []
        for vector, tensor in zip(self.vectors, tensors, strict=False):
            values = np.resize(vector, tuple(tensor.shape)).tolist()
            made.append(module.tensor(values, dtype=module.float64, requires_grad=True))
        return tuple(made)


@pytest.mark.parametrize("seed", range(20))
def test_random_functions(seed: int) -> None:
    program = Program(seed)

    def body(module: Any, functional: Any, _: Any) -> Any:
        function, scalar = program(module), program.scalar(module)
        places = program.inputs(module)
        outputs = function(*places)
        results = [
            functional.vjp(function, places, program.like(module, outputs)),
            functional.jvp(function, places, program.like(module, places)),
            functional.vhp(scalar, places, program.like(module, places)),
            functional.hvp(scalar, places, program.like(module, places)),
        ]
        for vectorize in (False, True):
            results.append(functional.jacobian(function, places, vectorize=vectorize))
            results.append(functional.hessian(scalar, places, vectorize=vectorize))
        return results

    same(outcome(body, gradwright), outcome(body, torch))


@pytest.mark.parametrize("seed", range(20, 30))
def test_derivatives_of_derivatives(seed: int) -> None:
    """With `create_graph` every result can be differentiated: third derivatives of Hessians, and in the vectors."""
    program = Program(seed)

    def body(module: Any, functional: Any, _: Any) -> Any:
        function, scalar = program(module), program.scalar(module)
        outputs = function(*program.inputs(module))
        calls: list[Callable[..., Any]] = [
            lambda places, v, w: functional.jacobian(function, places, create_graph=True),
            lambda places, v, w: functional.hessian(scalar, places, create_graph=True),
            lambda places, v, w: functional.jacobian(function, places, create_graph=True, vectorize=True),
            lambda places, v, w: functional.vjp(function, places, w, create_graph=True),
            lambda places, v, w: functional.jvp(function, places, v, create_graph=True),
            lambda places, v, w: functional.vhp(scalar, places, v, create_graph=True),
            lambda places, v, w: functional.hvp(scalar, places, v, create_graph=True),
        ]
        results = []
        for call in calls:
            places = tuple([place.requires_grad_() for place in program.inputs(module)])
            v, w = program.like(module, places), program.like(module, outputs)
            flat = _flat(call(places, v, w))
            total = sum((k + 1.0) * (part * part).sum() for k, part in enumerate(flat))
            results.append(module.autograd.grad(total, (*places, *v, *w), materialize_grads=True))
        return results

    same(outcome(body, gradwright), outcome(body, torch))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _flat(part)]
    return [value]


def test_jacobians_of_jacobians() -> None:
    def body(module: Any, f: Any, d: Any) -> Any:
        def inner(a: Any) -> Any:
            return f.jacobian(lambda b: (a * b) ** 2, a, create_graph=True)

        return f.jacobian(inner, d.x), f.hessian(lambda a: (inner(a) ** 2).sum(), d.x)

    same(outcome(body, gradwright), outcome(body, torch))


# -- batches of gradients

BATCHES: dict[str, Body] = {
    "one": lambda t, g, d: g(d.o, d.xr, d.eye),
    "graph is freed": lambda t, g, d: (g(d.o, d.xr, d.eye), g(d.o, d.xr, d.eye)),
    "graph is kept": lambda t, g, d: (g(d.o, d.xr, d.eye, retain_graph=True), g(d.o, d.xr, d.eye)),
    "with a graph": lambda t, g, d: g(d.o, d.xr, d.eye, create_graph=True),
    "constant with a graph": lambda t, g, d: g(d.xr * 2, d.xr, d.eye, create_graph=True),
    "graph of the gradients": lambda t, g, d: g(d.xr * 2, d.xr, (d.eye * d.vr), create_graph=True),
    "two outputs": lambda t, g, d: g((d.o, d.p), (d.xr, d.yr), (d.eye, t.ones(2, 3))),
    "batches of two sizes": lambda t, g, d: g((d.o, d.p), (d.xr, d.yr), (d.eye, t.ones(4, 3))),
    "unused": lambda t, g, d: g(d.o, (d.xr, d.yr), d.eye),
    "unused, allowed": lambda t, g, d: g(d.o, (d.yr, d.xr), d.eye, allow_unused=True),
    "unused, zeros": lambda t, g, d: g(d.o, (d.xr, d.yr), d.eye, materialize_grads=True),
    "unused, zeros with a graph": lambda t, g, d: g(
        d.o, (d.xr, d.yr), d.eye, materialize_grads=True, create_graph=True
    ),
    "zeros and not allowed": lambda t, g, d: g(d.o, d.xr, d.eye, allow_unused=False, materialize_grads=True),
    "no batch dimension": lambda t, g, d: g(d.o, d.xr, t.ones(2, dtype=t.float64)),
    "0-dim output": lambda t, g, d: g(d.o.sum(), d.xr, d.y),
    "left out, several elements": lambda t, g, d: g(d.o, d.xr),
    "complex for real": lambda t, g, d: g(d.o, d.xr, d.eye.to(t.complex128)),
    "complex": lambda t, g, d: g(d.cr * d.cr, d.cr, d.eye.to(t.complex128)),
    "a number": lambda t, g, d: g(d.o, d.xr, (3,)),
    "too few": lambda t, g, d: g((d.o, d.p), d.xr, (d.eye,)),
    "output without a graph": lambda t, g, d: g(d.o.detach(), d.xr, d.eye),
    "second output without a graph": lambda t, g, d: g((d.o, d.o.detach()), d.xr, (d.eye, d.eye)),
    "input without a graph": lambda t, g, d: g(d.o, d.x, d.eye),
    "float32": lambda t, g, d: g(d.o, d.xr, d.eye.float()),
    "an input twice": lambda t, g, d: g(d.o, (d.xr, d.xr), d.eye),
    "an output as input": lambda t, g, d: g(d.o, (d.o, d.xr), d.eye),
    "a leaf as output": lambda t, g, d: g(d.xr, d.xr, d.eye, create_graph=True),
    "by position": lambda t, g, d: t.autograd.grad(d.o, (d.xr, d.yr), d.eye, None, False, True, True, True, True),
    "no recording outside": lambda t, g, d: _without_grad(t, lambda: g(d.o, d.xr, d.eye, create_graph=True)),
    "several outputs of one Node": lambda t, g, d: g((d.o * d.vr).unbind(0), d.xr, (d.y, d.y * 2)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_gradients(name: str) -> None:
    def body(module: Any, _: Any, data: Any) -> Any:
        data.yr = data.y.requires_grad_()
        data.o, data.p = data.xr * data.xr, data.yr.exp() * data.xr.sum()
        data.eye = module.eye(2, dtype=module.float64)
        data.cr = data.c.requires_grad_()
        return BATCHES[name](module, _given(module.autograd.grad, is_grads_batched=True), data)

    same(outcome(body, gradwright), outcome(body, torch))


@pytest.mark.parametrize(
    "make", [lambda t, d: t.tensor(1.0), lambda t, d: d.m[:0, :2]], ids=["no dimension", "nothing in it"]
)
def test_batches_that_are_none(make: Callable[[Any, Any], Any]) -> None:
    """The class of the error is the same, and the words are each module's own."""
    for module in (gradwright, torch):
        data = inputs(module)
        with pytest.raises(IndexError):
            module.autograd.grad(data.xr * data.xr, data.xr, make(module, data), is_grads_batched=True)
        with pytest.raises(ValueError, match="dim"):
            module.autograd.grad((data.xr * data.xr).sum(), data.xr, is_grads_batched=True)


def test_zeros_in_place_of_none_can_be_differentiated() -> None:
    def body(module: Any, _: Any, d: Any) -> Any:
        out = d.xr * d.xr
        y = d.y.requires_grad_()
        ones = module.ones(2, dtype=module.float64)
        return [
            module.autograd.grad(out, (d.xr, y), ones, materialize_grads=True, create_graph=graph)
            for graph in (True, False)
        ]

    same(outcome(body, gradwright), outcome(body, torch))


def test_only_inputs_is_ignored_with_a_warning() -> None:
    for module in (gradwright, torch):
        x = inputs(module).xr
        with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
            (found,) = module.autograd.grad((x * x).sum(), x, only_inputs=False)
        assert found.tolist() == [2.0, 4.0]
