"""torch.func beside PyTorch: each body is run with both libraries, and what it returns is compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.both import assert_same_results

Body = Callable[[Any], Any]


def _array(*shape: int, seed: int = 0, low: float = 0.2, high: float = 1.4) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape)


def _described(value: Any) -> Any:
    """Tensors as arrays with what else is to be the same; collections as they are."""
    if isinstance(value, gradwright.Tensor | torch.Tensor):
        name = str(value.dtype).partition(".")[2]
        return (name, tuple(value.shape), value.requires_grad, value.detach().numpy())
    if isinstance(value, dict):
        return {key: _described(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return (type(value) is list, [_described(item) for item in value])
    return value if isinstance(value, int | float | str | bool | type(None)) else type(value).__name__


def _same(mine: Any, its: Any) -> None:
    assert type(mine) is type(its)
    if isinstance(mine, dict):
        assert list(mine) == list(its)
        for key, item in mine.items():
            _same(item, its[key])
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(its)
        for left, right in zip(mine, its, strict=True):
            _same(left, right)
    elif isinstance(mine, np.ndarray):
        np.testing.assert_allclose(mine, its, 1e-7, 1e-9)
    else:
        assert mine == its


def _outcome(body: Body, library: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _described(body(library))


# -- functions to transform; `lib` is the library


def curve(lib: Any) -> Callable[[Any], Any]:
    return lambda x: lib.tanh(x) * x.sum()


def energy(lib: Any) -> Callable[[Any], Any]:
    return lambda x: (lib.softmax(x, -1) * x.exp()).sum() + (x[..., 1:] * x[..., :-1]).sum()


def layers(lib: Any) -> tuple[dict[str, Any], Callable[[Any, Any, Any], Any]]:
    """The parameters of a small network, and its loss for one sample."""
    sizes = {"w1": (5, 3), "b1": (5,), "gain": (5,), "w2": (4, 5), "b2": (4,)}
    parameters = {name: lib.tensor(_array(*shape, seed=i) - 0.8) for i, (name, shape) in enumerate(sizes.items())}
    functional = lib.nn.functional

    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = functional.layer_norm(lib.tanh(functional.linear(x.unsqueeze(0), p["w1"], p["b1"])), [5], p["gain"])
        return functional.cross_entropy(functional.linear(hidden, p["w2"], p["b2"]), y.unsqueeze(0))

    return parameters, loss


def per_sample(lib: Any) -> Any:
    parameters, loss = layers(lib)
    xs, ys = lib.tensor(_array(6, 3)), lib.tensor(np.arange(6) % 4)
    return lib.vmap(lib.func.grad(loss), in_dims=(None, 0, 0))(parameters, xs, ys)


def per_sample_of_layer_by_layer(lib: Any) -> Any:
    parameters, loss = layers(lib)
    xs, ys = lib.tensor(_array(6, 3)), lib.tensor(np.arange(6) % 4)
    return lib.vmap(lib.func.grad_and_value(loss, argnums=(0, 1)), (None, 0, 0), chunk_size=4)(parameters, xs, ys)


def ensemble(lib: Any) -> Any:
    parameters, loss = layers(lib)
    stacked = {name: lib.stack([value, value * 2, value - 1]) for name, value in parameters.items()}
    xs, ys = lib.tensor(_array(6, 3)), lib.tensor(np.arange(6) % 4)
    one = lib.vmap(loss, in_dims=(None, 0, 0))
    return lib.vmap(one, in_dims=(0, None, None))(stacked, xs, ys)


def x(lib: Any, *shape: int) -> Any:
    return lib.tensor(_array(*(shape or (4,))))


def with_inner(lib: Any) -> Any:
    """A gradient inside of a function that is differentiated."""
    inner = lib.func.grad(energy(lib))
    return lib.func.grad(lambda z: (inner(z * z) * z).sum())(x(lib))


def hook_under_vmap(lib: Any) -> Any:
    def f(z: Any) -> Any:
        y = z * 2
        y.register_hook(lambda grad: grad * 3)
        return (y * y).sum()

    return lib.vmap(lib.func.grad(f))(x(lib, 3, 4))


def in_place(lib: Any) -> Any:
    def f(z: Any) -> Any:
        y = z * 2
        y[0] = z[1] * z[2]
        y[1:3].mul_(z[:2])
        y.add_(1).clamp_(max=2.5)
        return (y * z).sum()

    g = lib.func.grad(f)
    return (
        lib.vmap(f)(x(lib, 3, 4)),
        lib.vmap(g)(x(lib, 3, 4)),
        lib.func.jacrev(g)(x(lib)),
        lib.func.jvp(g, (x(lib),), (x(lib),)),
    )


def captured(lib: Any) -> Any:
    """What a function captures takes part, inside and outside."""
    w = lib.tensor(_array(4, seed=3), requires_grad=True)
    z = x(lib)
    g = lib.func.grad(lambda z: (z * z * w).sum())(z)
    (from_outside,) = lib.autograd.grad(g.sum(), w)
    out, pull = lib.func.vjp(lambda z: z * w, z)
    return g, from_outside, out, pull(z), lib.func.grad(lambda z: (z * z).sum())(z)


def under_no_grad(lib: Any) -> Any:
    w = lib.tensor(_array(4), requires_grad=True)
    with lib.no_grad():
        outside = lib.func.grad(lambda z: (z * w * z).sum())(x(lib))

    def constant(z: Any) -> Any:
        with lib.no_grad():
            c = z * z
        return (c * z).sum()

    return outside, lib.func.grad(constant)(x(lib)), lib.is_grad_enabled()


def of_trees(lib: Any) -> Any:
    def f(d: Any, scale: Any = 1) -> Any:
        return {"a": [d["p"] * d["q"][0] * scale, d["q"][1].sum()], "b": (d["p"].sum(),)}

    given = {"p": x(lib, 3), "q": (x(lib, 3), x(lib, 2))}
    stacked = {"p": x(lib, 5, 3), "q": (x(lib, 5, 3), x(lib, 2))}
    return (
        lib.func.jacrev(f)(given),
        lib.func.jacfwd(f)(given),
        lib.vmap(f, in_dims=({"p": 0, "q": (0, None)},))(stacked),
        lib.vmap(f, in_dims=({"p": 0, "q": (0, None)},), out_dims={"a": [1, 0], "b": (0,)})(stacked, scale=x(lib, 3)),
        lib.func.jvp(f, (given,), (given,)),
        lib.func.vjp(f, given)[1](f(given)),
        lib.func.linearize(f, given)[1](given),
    )


def products(lib: Any) -> Any:
    """Each product with one side batched and with both."""
    a, b, v = x(lib, 3, 2, 4), x(lib, 3, 4, 5), x(lib, 3, 4)
    pairs = [(a, b), (a, v), (v, b), (v, v), (x(lib, 3, 2, 2, 4), b), (x(lib, 3, 2, 2, 4), x(lib, 3, 2, 4, 5))]
    found = []
    for left, right in pairs:
        for dims, given in (((0, 0), (left, right)), ((0, None), (left, right[0])), ((None, 0), (left[0], right))):
            found.append(lib.vmap(lib.matmul, in_dims=dims)(*given))
            total = lambda p, q, dims=dims: (lib.vmap(lib.matmul, in_dims=dims)(p, q) ** 2).sum()  # noqa: E731
            found.append(lib.func.grad(total, argnums=(0, 1))(*given))
    linear = lib.nn.functional.linear
    for dims in ((0, None, None), (None, 0, None), (0, 0, 0), (0, None, 0)):
        given = [x(lib, 3, 2, 4), x(lib, 3, 5, 4), x(lib, 3, 5)]
        found.append(lib.vmap(linear, dims)(*[t if d == 0 else t[0] for t, d in zip(given, dims, strict=True)]))
    return found


def indices(lib: Any) -> Any:
    """Indexing with the Tensor batched, the indices, or both; apart from each other, and behind a slice."""
    t, i, j = x(lib, 3, 4, 5, 2), lib.tensor(np.array([[0, 3], [1, 1], [2, 0]])), lib.tensor(np.array([[1], [0], [1]]))
    reads = [
        lambda t, i, j: t[i],
        lambda t, i, j: t[:, i],
        lambda t, i, j: t[i, :, j],
        lambda t, i, j: t[:, i, j],
        lambda t, i, j: t[..., j],
        lambda t, i, j: t[i[0]],
        lambda t, i, j: t[None, i, 1:3],
    ]
    found = []
    for read in reads:
        for dims in ((0, 0, 0), (0, None, None), (None, 0, 0), (None, 0, None), (0, 0, None)):
            given = [value if dim == 0 else value[0] for value, dim in zip((t, i, j), dims, strict=True)]
            mapped = lib.vmap(read, in_dims=dims)
            found.append(mapped(*given))
            found.append(
                lib.func.grad(lambda p, mapped=mapped, rest=given[1:]: (mapped(p, *rest) ** 2).sum())(given[0])
            )
    return found


def writes(lib: Any) -> Any:
    t, i, s = x(lib, 3, 4, 5), lib.tensor(np.array([[0, 3], [1, 1], [2, 0]])), x(lib, 3, 2)
    put = [
        lambda t, i, s: t.index_put((i, i), s, accumulate=True),
        lambda t, i, s: t.index_put((i,), s.unsqueeze(-1).expand(2, 5), accumulate=True),
        lambda t, i, s: t.index_add(1, i, s.expand(4, 2)),
        lambda t, i, s: t.scatter_add(0, i.unsqueeze(-1).expand(2, 5), s.unsqueeze(-1).expand(2, 5)),
    ]
    found = []
    for function in put:
        for dims in ((0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0), (0, 0, None), (0, None, 0)):
            given = [value if dim == 0 else value[0] for value, dim in zip((t, i, s), dims, strict=True)]
            mapped = lib.vmap(function, in_dims=dims)
            found.append(mapped(*given))
            total = lambda p, q, mapped=mapped, i=given[1]: (mapped(p, i, q) ** 2).sum()  # noqa: E731
            found.append(lib.func.grad(total, argnums=(0, 1))(given[0], given[2]))
    return found


def draws(lib: Any) -> Any:
    """Which draws are the same for all elements, and which are not; the numbers are every library's own."""
    ones = lib.ones(4, 3)

    def pattern(f: Any, randomness: str) -> Any:
        out = lib.vmap(f, randomness=randomness)(ones)
        return tuple(out.shape), bool((out == out[0]).all())

    functions = [
        lambda z: lib.rand(50),
        lambda z: lib.randn_like(z),
        lambda z: z * lib.rand(3),
        lambda z: lib.randint(1000, (5,)) * 1.0,
        lambda z: lib.randperm(50) * 1.0,
        lambda z: lib.nn.functional.dropout(z.expand(40, 3), 0.5),
        lambda z: z.clone().normal_(),
        lambda z: z.clone().uniform_(0, 2),
        lambda z: lib.vmap(lambda w: lib.rand(20) + w, randomness="different")(z),
        lambda z: lib.vmap(lambda w: lib.rand(20) + w, randomness="same")(z),
    ]
    both = [pattern(f, randomness) for f in functions for randomness in ("same", "different")]
    bernoulli = lib.vmap(lambda z: lib.bernoulli(z * 0.5), randomness="different")(lib.ones(3, 200))
    return both, bool((bernoulli == bernoulli[0]).all()), tuple(bernoulli.shape)


BODIES: dict[str, Body] = {
    "grad": lambda lib: lib.func.grad(energy(lib))(x(lib)),
    "grad of argnums": lambda lib: lib.func.grad(lambda a, b: (a * b * b).sum(), argnums=(1, 0))(x(lib), x(lib) + 1),
    "grad, negative argnum": lambda lib: lib.func.grad(lambda a, b: (a * b * b).sum(), argnums=-1)(x(lib), x(lib) + 1),
    "grad with aux": lambda lib: lib.func.grad(lambda a: (a.sum(), {"k": [a * 2, a]}), has_aux=True)(x(lib)),
    "grad, unused": lambda lib: lib.func.grad(lambda a, b: b.sum(), argnums=(0, 1))(x(lib), x(lib)),
    "grad of a constant": lambda lib: lib.func.grad(lambda a: lib.tensor(1.0))(x(lib)),
    "grad of detached": lambda lib: lib.func.grad(lambda a: (a.detach() * a).sum())(x(lib)),
    "grad_and_value": lambda lib: lib.func.grad_and_value(energy(lib))(x(lib)),
    "grad_and_value with aux": lambda lib: lib.func.grad_and_value(lambda a: (a.prod(), a * 2), has_aux=True)(x(lib)),
    "grad of grad": with_inner,
    "grad, three times": lambda lib: lib.func.grad(lib.func.grad(lib.func.grad(lambda a: (a**5).sin())))(x(lib)[0]),
    "vjp": lambda lib: lib.func.vjp(curve(lib), x(lib))[1](x(lib) + 1),
    "vjp, twice": lambda lib: [(f := lib.func.vjp(curve(lib), x(lib))[1])(x(lib)), f(x(lib) * 2)],
    "vjp with aux": lambda lib: lib.func.vjp(lambda a: (a * 2, a.sum()), x(lib), has_aux=True)[::2],
    "vjp of vjp": lambda lib: lib.func.vjp(lambda c: lib.func.vjp(curve(lib), x(lib))[1](c)[0], x(lib))[1](x(lib)),
    "jvp": lambda lib: lib.func.jvp(curve(lib), (x(lib),), (x(lib) + 1,)),
    "jvp with aux": lambda lib: lib.func.jvp(lambda a: (a * a, a), (x(lib),), (x(lib),), has_aux=True),
    "jvp of a constant": lambda lib: lib.func.jvp(lambda a: lib.ones(2), (x(lib),), (x(lib),)),
    "jvp of grad": lambda lib: lib.func.jvp(lib.func.grad(energy(lib)), (x(lib),), (x(lib),)),
    "grad of jvp": lambda lib: lib.func.grad(lambda v: lib.func.jvp(energy(lib), (x(lib),), (v,))[1])(x(lib)),
    "grad of jvp, in the point": lambda lib: lib.func.grad(lambda p: lib.func.jvp(energy(lib), (p,), (x(lib),))[1])(
        x(lib)
    ),
    "jacrev": lambda lib: lib.func.jacrev(curve(lib))(x(lib)),
    "jacrev, chunks": lambda lib: lib.func.jacrev(curve(lib), chunk_size=3)(x(lib)),
    "jacrev, chunks of one": lambda lib: lib.func.jacrev(curve(lib), chunk_size=1)(x(lib)),
    "jacrev, argnums and aux": lambda lib: lib.func.jacrev(lambda a, b: (a * b, a), (0, 1), has_aux=True)(
        x(lib), x(lib)
    ),
    "jacrev of a matrix": lambda lib: lib.func.jacrev(lambda a: a @ a.T)(x(lib, 3, 2)),
    "jacrev of a constant": lambda lib: lib.func.jacrev(lambda a: lib.ones(2))(x(lib)),
    "jacrev of a sum": lambda lib: lib.func.jacrev(lambda a: a.sum())(x(lib)),
    "jacrev of nothing": lambda lib: lib.func.jacrev(lambda a: a[:0] * 2)(x(lib)),
    "jacfwd": lambda lib: lib.func.jacfwd(curve(lib))(x(lib)),
    "jacfwd, argnums and aux": lambda lib: lib.func.jacfwd(lambda a, b: (a * b, a), (0, 1), has_aux=True)(
        x(lib), x(lib)
    ),
    "jacfwd of a matrix": lambda lib: lib.func.jacfwd(lambda a: a @ a.T)(x(lib, 3, 2)),
    "jacfwd of a constant": lambda lib: lib.func.jacfwd(lambda a: lib.ones(2))(x(lib)),
    "hessian": lambda lib: lib.func.hessian(energy(lib))(x(lib)),
    "hessian of argnums": lambda lib: lib.func.hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x(lib), x(lib)),
    "hessian of a vector": lambda lib: lib.func.hessian(curve(lib))(x(lib)),
    "jacfwd of jacrev": lambda lib: lib.func.jacfwd(lib.func.jacrev(curve(lib)))(x(lib)),
    "jacrev of jacfwd": lambda lib: lib.func.jacrev(lib.func.jacfwd(curve(lib)))(x(lib)),
    "grad of jacrev": lambda lib: lib.func.grad(lambda a: (lib.func.jacrev(curve(lib))(a) ** 2).sum())(x(lib)),
    "grad of jacfwd": lambda lib: lib.func.grad(lambda a: (lib.func.jacfwd(curve(lib))(a) ** 2).sum())(x(lib)),
    "linearize": lambda lib: lib.func.linearize(curve(lib), x(lib))[1](x(lib) + 1),
    "linearize, the value": lambda lib: lib.func.linearize(lambda a: {"k": a * 2}, x(lib))[0],
    "vmap of linearize": lambda lib: lib.vmap(lib.func.linearize(curve(lib), x(lib))[1])(x(lib, 3, 4)),
    "vmap": lambda lib: lib.vmap(curve(lib))(x(lib, 3, 4)),
    "vmap, dims": lambda lib: lib.vmap(curve(lib), in_dims=1, out_dims=-1)(x(lib, 3, 4)),
    "vmap, negative dim": lambda lib: lib.vmap(curve(lib), in_dims=-2)(x(lib, 3, 4, 2)),
    "vmap, an unbatched result": lambda lib: lib.vmap(lambda a: lib.ones(2))(x(lib, 3)),
    "vmap, out_dims None": lambda lib: lib.vmap(lambda a: (a, lib.ones(2)), out_dims=(0, None))(x(lib, 3)),
    "vmap of nothing": lambda lib: lib.vmap(lambda a: a.tanh().sum())(x(lib, 0, 4)),
    "vmap of one": lambda lib: lib.vmap(curve(lib))(x(lib, 1, 4)),
    "vmap, chunks": lambda lib: lib.vmap(curve(lib), chunk_size=2)(x(lib, 5, 4)),
    "vmap of vmap": lambda lib: lib.vmap(lib.vmap(lambda a, b: a * b + a.sum(), (0, None)), (1, 0))(
        x(lib, 3, 4), x(lib, 4)
    ),
    "vmap of vmap of vmap": lambda lib: lib.vmap(lib.vmap(lib.vmap(curve(lib)), in_dims=1), in_dims=2)(
        x(lib, 2, 3, 4, 5)
    ),
    "vmap of grad": lambda lib: lib.vmap(lib.func.grad(energy(lib)))(x(lib, 3, 4)),
    "vmap of grad, inputs unbatched": lambda lib: lib.vmap(lib.func.grad(lambda a, b: (a * b).prod()), (None, 0))(
        x(lib), x(lib, 3, 4)
    ),
    "grad of vmap": lambda lib: lib.func.grad(lambda a: (lib.vmap(energy(lib))(a) ** 2).sum())(x(lib, 3, 4)),
    "grad of vmap of grad": lambda lib: lib.func.grad(lambda a: (lib.vmap(lib.func.grad(energy(lib)))(a) ** 2).sum())(
        x(lib, 3, 4)
    ),
    "vmap of vmap of grad": lambda lib: lib.vmap(lib.vmap(lib.func.grad(energy(lib))))(x(lib, 2, 3, 4)),
    "vmap of jacrev": lambda lib: lib.vmap(lib.func.jacrev(curve(lib)))(x(lib, 3, 4)),
    "vmap of jacfwd": lambda lib: lib.vmap(lib.func.jacfwd(curve(lib)))(x(lib, 3, 4)),
    "vmap of hessian": lambda lib: lib.vmap(lib.func.hessian(energy(lib)))(x(lib, 3, 4)),
    "vmap of vjp": lambda lib: lib.vmap(lambda a, c: lib.func.vjp(curve(lib), a)[1](c)[0], (0, None))(
        x(lib, 3, 4), x(lib)
    ),
    "vmap of a pullback": lambda lib: lib.vmap(lib.func.vjp(curve(lib), x(lib))[1])(x(lib, 3, 4)),
    "vmap of jvp": lambda lib: lib.vmap(lambda a, t: lib.func.jvp(curve(lib), (a,), (t,)))(x(lib, 3, 4), x(lib, 3, 4)),
    "vmap of jvp, tangents": lambda lib: lib.vmap(lambda t: lib.func.jvp(curve(lib), (x(lib),), (t,)))(x(lib, 3, 4)),
    "vmap of jvp, points": lambda lib: lib.vmap(lambda a: lib.func.jvp(curve(lib), (a,), (x(lib),)))(x(lib, 3, 4)),
    "jacrev of vmap": lambda lib: lib.func.jacrev(lib.vmap(curve(lib)))(x(lib, 3, 4)),
    "jacfwd of vmap": lambda lib: lib.func.jacfwd(lib.vmap(curve(lib)))(x(lib, 3, 4)),
    "jvp of vmap": lambda lib: lib.func.jvp(lib.vmap(curve(lib)), (x(lib, 3, 4),), (x(lib, 3, 4),)),
    "per-sample gradients": per_sample,
    "per-sample gradients, chunks": per_sample_of_layer_by_layer,
    "ensemble": ensemble,
    "hook under vmap": hook_under_vmap,
    "in place": in_place,
    "captured": captured,
    "no_grad": under_no_grad,
    "trees": of_trees,
    "products": products,
    "indices": indices,
    "writes": writes,
    "randomness": draws,
    "dtypes of elements": lambda lib: [
        lib.vmap(lambda a, b: a * b)(lib.ones(3, dtype=left), lib.ones(3, 2, dtype=right))
        for left in (lib.float64, lib.float32, lib.int64, lib.int32)
        for right in (lib.float32, lib.int64, lib.bool)
    ],
    "dtypes with an unbatched scalar": lambda lib: lib.vmap(lambda a: a * lib.tensor(2.0, dtype=lib.float64))(
        lib.ones(3)
    ),
    "control by where": lambda lib: lib.vmap(lambda a: lib.where(a.sum() > 2, a, -a))(x(lib, 5, 4)),
    "masked fill": lambda lib: lib.vmap(lambda a: a.masked_fill(a > 0.5, a.sum()))(x(lib, 5, 4)),
    "a mask for all": lambda lib: lib.vmap(lambda a, m: (a[m], a.masked_select(m)), (0, None))(
        x(lib, 5, 4), x(lib, 4) > 0.6
    ),
    "new_zeros": lambda lib: lib.vmap(lambda a: a.new_zeros(4).add_(a))(x(lib, 5, 4)),
    "a batched index": lambda lib: lib.vmap(lambda a, i: a[i])(x(lib, 3, 4), lib.tensor(np.array([0, 3, 1]))),
    "attributes": lambda lib: lib.vmap(lambda a: a * (a.dim() + a.shape[0] + a.numel()))(x(lib, 3, 4)),
    "one_hot": lambda lib: lib.vmap(lambda i: lib.nn.functional.one_hot(i, 4))(lib.tensor(np.array([[0, 3], [1, 2]]))),
}


@pytest.mark.parametrize("name", BODIES)
def test_same_results(name: str) -> None:
    _same(_outcome(BODIES[name], gradwright), _outcome(BODIES[name], torch))


def f(a: Any) -> Any:
    return a * 2


# What must fail, and a part of the message that has to be in both.
ERRORS: dict[str, tuple[Body, str]] = {
    "item": (lambda lib: lib.vmap(lambda a: a.sum().item())(x(lib, 2, 3)), "calling .item()"),
    "float": (lambda lib: lib.vmap(lambda a: float(a.sum()))(x(lib, 2, 3)), "calling .item()"),
    "control flow": (
        lambda lib: lib.vmap(lambda a: a if a.sum() > 0 else -a)(x(lib, 2, 3)),
        "data-dependent control flow",
    ),
    "tolist": (lambda lib: lib.vmap(lambda a: a.tolist())(x(lib, 2, 3)), "Cannot access"),
    "nonzero": (lambda lib: lib.vmap(lambda a: a.nonzero())(x(lib, 2, 3)), "dynamic shape"),
    "mask": (lambda lib: lib.vmap(lambda a: a[a > 1])(x(lib, 2, 3)), "indexing with a boolean mask"),
    "equal": (lambda lib: lib.vmap(lambda a: lib.equal(a, a))(x(lib, 2, 3)), "Batching rule not implemented"),
    "copy_": (
        lambda lib: lib.vmap(lambda a: lib.zeros(3).copy_(a))(x(lib, 2, 3)),
        "vmap: inplace arithmetic(self, *extra_args)",
    ),
    "setitem": (
        lambda lib: lib.vmap(lambda a: lib.zeros(3).__setitem__(0, a[0]))(x(lib, 2, 3)),
        "vmap: inplace arithmetic",
    ),
    "out": (
        lambda lib: lib.vmap(lambda a: lib.add(a, 1, out=lib.zeros(3)))(x(lib, 2, 3)),
        "Batching rule not implemented for",
    ),
    "requires_grad_": (lambda lib: lib.vmap(lambda a: a.clone().requires_grad_())(x(lib, 2)), "requires_grad_()"),
    "backward": (
        lambda lib: lib.vmap(lambda a: a.sum().backward())(x(lib, 2).requires_grad_()),
        "backward() called inside",
    ),
    "in_dims of an int": (lambda lib: lib.vmap(f)(3), "We cannot vmap over non-Tensor arguments"),
    "in_dims None": (lambda lib: lib.vmap(f, in_dims=None)(x(lib, 2)), "expected `in_dims` to be int or"),
    "in_dims structure": (
        lambda lib: lib.vmap(f, in_dims=(0, 0))(x(lib, 2)),
        "in_dims is not compatible with the structure",
    ),
    "in_dims text": (lambda lib: lib.vmap(f, in_dims="a")(x(lib, 2)), "expected `in_dims` to be int or"),
    "in_dims of text": (
        lambda lib: lib.vmap(f, in_dims=("a",))(x(lib, 2)),
        "in_dim must be either an integer dimension or",
    ),
    "in_dims range": (lambda lib: lib.vmap(f, in_dims=2)(x(lib, 2, 3)), "expected in_dim to satisfy -2 <= in_dim < 2"),
    "in_dims nested": (
        lambda lib: lib.vmap(f, in_dims=([0, 0],))((x(lib, 2), x(lib, 2))),
        "not compatible with the structure",
    ),
    "in_dims all None": (
        lambda lib: lib.vmap(f, in_dims=(None,))(x(lib, 2)),
        "Expected at least one Tensor to vmap over",
    ),
    "sizes": (lambda lib: lib.vmap(lambda a, b: a)(x(lib, 2), x(lib, 3)), "got sizes [2, 3] for the mapped dimension"),
    "no inputs": (lambda lib: lib.vmap(lambda: 3)(), "got no inputs"),
    "no Tensor": (lambda lib: lib.vmap(lambda a: (a, 3))(x(lib, 2)), "must only return Tensors"),
    "out_dims structure": (
        lambda lib: lib.vmap(lambda a: (a, a), out_dims=(0,))(x(lib, 2)),
        "out_dims is not compatible",
    ),
    "out_dims text": (lambda lib: lib.vmap(f, out_dims="a")(x(lib, 2)), "`out_dims` must be an int, None"),
    "out_dims None": (
        lambda lib: lib.vmap(f, out_dims=None)(x(lib, 2)),
        "can not return a BatchedTensor when out_dim is None",
    ),
    "out_dims range": (lambda lib: lib.vmap(f, out_dims=5)(x(lib, 2, 3)), "Dimension out of range"),
    "chunk_size": (lambda lib: lib.vmap(f, chunk_size=0)(x(lib, 2)), "chunk_size should be None or greater than 0"),
    "randomness": (lambda lib: lib.vmap(f, randomness="a")(x(lib, 2)), "Only allowed values for randomness are"),
    "random": (
        lambda lib: lib.vmap(lambda a: lib.rand(3))(x(lib, 2)),
        "called random operation while in randomness error mode",
    ),
    "random, of a batch": (
        lambda lib: lib.vmap(lib.bernoulli, randomness="same")(x(lib, 2) / 2),
        "does not currently support same randomness with a batched tensor input",
    ),
    "random, in place": (
        lambda lib: lib.vmap(lambda a: lib.zeros(3).uniform_(), randomness="different")(x(lib, 2)),
        "Cannot ask for different inplace randomness on an unbatched tensor",
    ),
    "shapes": (lambda lib: lib.vmap(lambda a, b: a + b)(x(lib, 2, 3), x(lib, 2, 4)), "must match the size of tensor b"),
    "products": (lambda lib: lib.vmap(lib.mm)(x(lib, 2, 3, 4), x(lib, 2, 3, 4)), ""),
    "dim": (lambda lib: lib.vmap(lambda a: a.sum(1))(x(lib, 2, 3)), "Dimension out of range"),
    "grad of a number": (lambda lib: lib.func.grad(f)(3.0), "Thing passed to transform API must be Tensor"),
    "grad of integers": (
        lambda lib: lib.func.grad(f)(lib.tensor([1, 2])),
        "floating point dtype can require gradients",
    ),
    "grad of a vector": (lambda lib: lib.func.grad(f)(x(lib)), "to return a scalar Tensor, got tensor with 1 dims"),
    "grad of no Tensor": (
        lambda lib: lib.func.grad(lambda a: 3.0)(x(lib)),
        "Expected f(*args) to return a Tensor, got",
    ),
    "grad without aux": (
        lambda lib: lib.func.grad(lambda a: a.sum(), has_aux=True)(x(lib)),
        "should be a tuple: (output, aux)",
    ),
    "aux of no Tensor": (
        lambda lib: lib.func.grad(lambda a: (a.sum(), 3), has_aux=True)(x(lib)),
        "got unsupported type",
    ),
    "argnums": (lambda lib: lib.func.grad(f, argnums=5)(x(lib)), "Got argnum=5, but only 1 positional inputs"),
    "argnums empty": (lambda lib: lib.func.grad(f, argnums=())(x(lib)), "argnums must be non-empty"),
    "argnums twice": (
        lambda lib: lib.func.grad(f, argnums=(0, -1))(x(lib)),
        "argnums elements must be unique, got (0, 0)",
    ),
    "argnums text": (lambda lib: lib.func.grad(f, argnums="a")(x(lib)), "argnums must be int or Tuple[int, ...]"),
    "a leaf in place": (
        lambda lib: lib.func.grad(lambda a: a.mul_(2).sum())(x(lib)),
        "a leaf Variable that requires grad",
    ),
    "vjp of no Tensor": (lambda lib: lib.func.vjp(lambda a: 3, x(lib)), "to return only tensors, got unsupported type"),
    "vjp of nothing": (
        lambda lib: lib.func.vjp(lambda a: (), x(lib)),
        "Expected f to be a function that has non-empty output",
    ),
    "vjp, shape": (
        lambda lib: lib.func.vjp(f, x(lib))[1](x(lib, 3)),
        "Mismatch in shape: grad_output[0] has a shape of",
    ),
    "vjp, structure": (lambda lib: lib.func.vjp(f, x(lib))[1]((x(lib),)), "Expected pytree structure of cotangents"),
    "jvp without a tuple": (lambda lib: lib.func.jvp(f, x(lib), x(lib)), "Expected primals to be a tuple"),
    "jvp of nothing": (lambda lib: lib.func.jvp(lambda: 1, (), ()), "Expected primals to contain at least one Tensor"),
    "jvp, structure": (lambda lib: lib.func.jvp(f, (x(lib),), (x(lib), x(lib))), "to have the same python structure"),
    "jvp, shape": (
        lambda lib: lib.func.jvp(f, (x(lib),), (x(lib, 3),)),
        "Tensor is of size [4] while the given forward gradient",
    ),
    "jvp of no Tensor": (
        lambda lib: lib.func.jvp(lambda a: 3, (x(lib),), (x(lib),)),
        "to return only tensors, got unsupported",
    ),
    "jvp, strict": (
        lambda lib: lib.func.jvp(lambda a: lib.ones(2), (x(lib),), (x(lib),), strict=True),
        "The output of f is independent of the inputs",
    ),
    "jacrev of integers": (
        lambda lib: lib.func.jacrev(lambda a: a.argmax())(x(lib)),
        "must be floating-point or complex",
    ),
    "jacrev of complex": (lambda lib: lib.func.jacrev(f)(x(lib) * 1j), "to be real but received complex tensor"),
    "jacrev, chunk_size": (
        lambda lib: lib.func.jacrev(f, chunk_size=0)(x(lib)),
        "`chunk_size` should be greater than 0",
    ),
    "jacfwd, random": (lambda lib: lib.func.jacfwd(lambda a: a * lib.rand(4))(x(lib)), "called random operation"),
    "linearize, shape": (lambda lib: lib.func.linearize(f, x(lib))[1](x(lib, 3)), "doesn't match the shape"),
    "linearize, dtype": (lambda lib: lib.func.linearize(f, x(lib))[1](x(lib).float()), "doesn't match the dtype"),
    "linearize, structure": (
        lambda lib: lib.func.linearize(f, x(lib))[1](x(lib), x(lib)),
        "to have the same argspec as the primals",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_same_errors(name: str) -> None:
    body, text = ERRORS[name]
    found = []
    for library in (torch, gradwright):
        with pytest.raises(Exception) as caught:  # noqa: PT011 (the class is compared)
            _outcome(body, library)
        assert text in str(caught.value)
        found.append(caught.type)
    assert found[0] is found[1]


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "recorded": lambda torch, x, captured: captured.add_(x),
    "a number": lambda torch, x, captured: captured.fill_(1.0),
    "an element": lambda torch, x, captured: captured.__setitem__(0, x[0]),
    "a view": lambda torch, x, captured: captured[:2].mul_(2),
    "detached": lambda torch, x, captured: captured.detach().add_(1),
    "under no_grad": lambda torch, x, captured: torch.no_grad()(captured.add_)(1),
}
TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda func, f, x: func.grad(f)(x),
    "grad of grad": lambda func, f, x: func.grad(lambda y: func.grad(f)(y).sum())(x),
    "vjp": lambda func, f, x: func.vjp(f, x),
    "jvp": lambda func, f, x: func.jvp(f, (x,), (x,)),
    "jacrev": lambda func, f, x: func.jacrev(f)(x),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_captured_tensors_are_not_written(write: Any, transform: Any) -> None:
    def body(torch: Any) -> Any:
        captured = torch.ones(3)

        def f(x: Any) -> Any:
            write(torch, x, captured)
            return (x * x).sum()

        try:
            transform(torch.func, f, torch.ones(3))
        except RuntimeError as error:
            return "mutate a captured Tensor" in str(error), captured.requires_grad, captured.grad_fn
        return "nothing was raised"

    assert_same_results(body)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_tensors_that_a_function_makes_are_written(transform: Any) -> None:
    def body(torch: Any) -> Any:
        captured = torch.ones(3)

        def f(x: Any) -> Any:
            made, copied = torch.zeros(3), captured.clone()
            made[0] = x[0]
            made.add_(x)
            copied[:2].mul_(2)
            return (made * copied * x).sum()

        out = transform(torch.func, f, torch.ones(3))
        return out[0] if isinstance(out, tuple) else out, captured

    assert_same_results(body)
