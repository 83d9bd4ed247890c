"""torch.func beside PyTorch: each body is run with both libraries, and what it returns is compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

Body = Callable[[Any], Any]


def _array(*shape: int, seed: int = 0, low: float = 0.2, high: float = 1.4) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape)


def _described(value: Any) -> Any:
    """Tensors as arrays with what else is to be the same; collections as they are."""
    if isinstance(value, runtime.Tensor | torch.Tensor):
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


# -- functions to transform; `l` is the library


def curve(l: Any) -> Callable[[Any], Any]:  # noqa: E741
    return lambda x: l.tanh(x) * x.sum()


def energy(l: Any) -> Callable[[Any], Any]:  # noqa: E741
    return lambda x: (l.softmax(x, -1) * x.exp()).sum() + (x[..., 1:] * x[..., :-1]).sum()


def layers(l: Any) -> tuple[dict[str, Any], Callable[[Any, Any, Any], Any]]:  # noqa: E741
    """The parameters of a small network, and its loss for one sample."""
    sizes = {"w1": (5, 3), "b1": (5,), "gain": (5,), "w2": (4, 5), "b2": (4,)}
    parameters = {name: l.tensor(_array(*shape, seed=i) - 0.8) for i, (name, shape) in enumerate(sizes.items())}
    functional = l.nn.functional

    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = functional.layer_norm(l.tanh(functional.linear(x.unsqueeze(0), p["w1"], p["b1"])), [5], p["gain"])
        return functional.cross_entropy(functional.linear(hidden, p["w2"], p["b2"]), y.unsqueeze(0))

    return parameters, loss


def per_sample(l: Any) -> Any:  # noqa: E741
    parameters, loss = layers(l)
    xs, ys = l.tensor(_array(6, 3)), l.tensor(np.arange(6) % 4)
    return l.vmap(l.func.grad(loss), in_dims=(None, 0, 0))(parameters, xs, ys)


def per_sample_of_layer_by_layer(l: Any) -> Any:  # noqa: E741
    parameters, loss = layers(l)
    xs, ys = l.tensor(_array(6, 3)), l.tensor(np.arange(6) % 4)
    return l.vmap(l.func.grad_and_value(loss, argnums=(0, 1)), (None, 0, 0), chunk_size=4)(parameters, xs, ys)


def ensemble(l: Any) -> Any:  # noqa: E741
    parameters, loss = layers(l)
    stacked = {name: l.stack([value, value * 2, value - 1]) for name, value in parameters.items()}
    xs, ys = l.tensor(_array(6, 3)), l.tensor(np.arange(6) % 4)
    one = l.vmap(loss, in_dims=(None, 0, 0))
    return l.vmap(one, in_dims=(0, None, None))(stacked, xs, ys)


def x(l: Any, *shape: int) -> Any:  # noqa: E741
    return l.tensor(_array(*(shape or (4,))))


def with_inner(l: Any) -> Any:  # noqa: E741
    """A gradient inside of a function that is differentiated."""
    inner = l.func.grad(energy(l))
    return l.func.grad(lambda z: (inner(z * z) * z).sum())(x(l))


def hook_under_vmap(l: Any) -> Any:  # noqa: E741
    def f(z: Any) -> Any:
        y = z * 2
        y.register_hook(lambda grad: grad * 3)
        return (y * y).sum()

    return l.vmap(l.func.grad(f))(x(l, 3, 4))


def in_place(l: Any) -> Any:  # noqa: E741
    def f(z: Any) -> Any:
        y = z * 2
        y[0] = z[1] * z[2]
        y[1:3].mul_(z[:2])
        y.add_(1).clamp_(max=2.5)
        return (y * z).sum()

    g = l.func.grad(f)
    return l.vmap(f)(x(l, 3, 4)), l.vmap(g)(x(l, 3, 4)), l.func.jacrev(g)(x(l)), l.func.jvp(g, (x(l),), (x(l),))


def captured(l: Any) -> Any:  # noqa: E741
    """What a function captures takes part, inside and outside."""
    w = l.tensor(_array(4, seed=3), requires_grad=True)
    z = x(l)
    g = l.func.grad(lambda z: (z * z * w).sum())(z)
    (from_outside,) = l.autograd.grad(g.sum(), w)
    out, pull = l.func.vjp(lambda z: z * w, z)
    return g, from_outside, out, pull(z), l.func.grad(lambda z: (z * z).sum())(z)


def under_no_grad(l: Any) -> Any:  # noqa: E741
    w = l.tensor(_array(4), requires_grad=True)
    with l.no_grad():
        outside = l.func.grad(lambda z: (z * w * z).sum())(x(l))

    def constant(z: Any) -> Any:
        with l.no_grad():
            c = z * z
        return (c * z).sum()

    return outside, l.func.grad(constant)(x(l)), l.is_grad_enabled()


def of_trees(l: Any) -> Any:  # noqa: E741
    def f(d: Any, scale: Any = 1) -> Any:
        return {"a": [d["p"] * d["q"][0] * scale, d["q"][1].sum()], "b": (d["p"].sum(),)}

    given = {"p": x(l, 3), "q": (x(l, 3), x(l, 2))}
    stacked = {"p": x(l, 5, 3), "q": (x(l, 5, 3), x(l, 2))}
    return (
        l.func.jacrev(f)(given),
        l.func.jacfwd(f)(given),
        l.vmap(f, in_dims=({"p": 0, "q": (0, None)},))(stacked),
        l.vmap(f, in_dims=({"p": 0, "q": (0, None)},), out_dims={"a": [1, 0], "b": (0,)})(stacked, scale=x(l, 3)),
        l.func.jvp(f, (given,), (given,)),
        l.func.vjp(f, given)[1](f(given)),
        l.func.linearize(f, given)[1](given),
    )


def products(l: Any) -> Any:  # noqa: E741
    """Each product with one side batched and with both."""
    a, b, v = x(l, 3, 2, 4), x(l, 3, 4, 5), x(l, 3, 4)
    pairs = [(a, b), (a, v), (v, b), (v, v), (x(l, 3, 2, 2, 4), b), (x(l, 3, 2, 2, 4), x(l, 3, 2, 4, 5))]
    found = []
    for left, right in pairs:
        for dims, given in (((0, 0), (left, right)), ((0, None), (left, right[0])), ((None, 0), (left[0], right))):
            found.append(l.vmap(l.matmul, in_dims=dims)(*given))
            total = lambda p, q, dims=dims: (l.vmap(l.matmul, in_dims=dims)(p, q) ** 2).sum()  # noqa: E731
            found.append(l.func.grad(total, argnums=(0, 1))(*given))
    linear = l.nn.functional.linear
    for dims in ((0, None, None), (None, 0, None), (0, 0, 0), (0, None, 0)):
        given = [x(l, 3, 2, 4), x(l, 3, 5, 4), x(l, 3, 5)]
        found.append(l.vmap(linear, dims)(*[t if d == 0 else t[0] for t, d in zip(given, dims, strict=True)]))
    return found


def indices(l: Any) -> Any:  # noqa: E741
    """Indexing with the Tensor batched, the indices, or both; apart from each other, and behind a slice."""
    t, i, j = x(l, 3, 4, 5, 2), l.tensor(np.array([[0, 3], [1, 1], [2, 0]])), l.tensor(np.array([[1], [0], [1]]))
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
            mapped = l.vmap(read, in_dims=dims)
            found.append(mapped(*given))
            found.append(l.func.grad(lambda p, mapped=mapped, rest=given[1:]: (mapped(p, *rest) ** 2).sum())(given[0]))
    return found


def writes(l: Any) -> Any:  # noqa: E741
    t, i, s = x(l, 3, 4, 5), l.tensor(np.array([[0, 3], [1, 1], [2, 0]])), x(l, 3, 2)
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
            mapped = l.vmap(function, in_dims=dims)
            found.append(mapped(*given))
            total = lambda p, q, mapped=mapped, i=given[1]: (mapped(p, i, q) ** 2).sum()  # noqa: E731
            found.append(l.func.grad(total, argnums=(0, 1))(given[0], given[2]))
    return found


def draws(l: Any) -> Any:  # noqa: E741
    """Which draws are the same for all elements, and which are not; the numbers are every library's own."""
    ones = l.ones(4, 3)

    def pattern(f: Any, randomness: str) -> Any:
        out = l.vmap(f, randomness=randomness)(ones)
        return tuple(out.shape), bool((out == out[0]).all())

    functions = [
        lambda z: l.rand(50),
        lambda z: l.randn_like(z),
        lambda z: z * l.rand(3),
        lambda z: l.randint(1000, (5,)) * 1.0,
        lambda z: l.randperm(50) * 1.0,
        lambda z: l.nn.functional.dropout(z.expand(40, 3), 0.5),
        lambda z: z.clone().normal_(),
        lambda z: z.clone().uniform_(0, 2),
        lambda z: l.vmap(lambda w: l.rand(20) + w, randomness="different")(z),
        lambda z: l.vmap(lambda w: l.rand(20) + w, randomness="same")(z),
    ]
    both = [pattern(f, randomness) for f in functions for randomness in ("same", "different")]
    bernoulli = l.vmap(lambda z: l.bernoulli(z * 0.5), randomness="different")(l.ones(3, 200))
    return both, bool((bernoulli == bernoulli[0]).all()), tuple(bernoulli.shape)


BODIES: dict[str, Body] = {
    "grad": lambda l: l.func.grad(energy(l))(x(l)),
    "grad of argnums": lambda l: l.func.grad(lambda a, b: (a * b * b).sum(), argnums=(1, 0))(x(l), x(l) + 1),
    "grad, negative argnum": lambda l: l.func.grad(lambda a, b: (a * b * b).sum(), argnums=-1)(x(l), x(l) + 1),
    "grad with aux": lambda l: l.func.grad(lambda a: (a.sum(), {"k": [a * 2, a]}), has_aux=True)(x(l)),
    "grad, unused": lambda l: l.func.grad(lambda a, b: b.sum(), argnums=(0, 1))(x(l), x(l)),
    "grad of a constant": lambda l: l.func.grad(lambda a: l.tensor(1.0))(x(l)),
    "grad of detached": lambda l: l.func.grad(lambda a: (a.detach() * a).sum())(x(l)),
    "grad_and_value": lambda l: l.func.grad_and_value(energy(l))(x(l)),
    "grad_and_value with aux": lambda l: l.func.grad_and_value(lambda a: (a.prod(), a * 2), has_aux=True)(x(l)),
    "grad of grad": with_inner,
    "grad, three times": lambda l: l.func.grad(l.func.grad(l.func.grad(lambda a: (a**5).sin())))(x(l)[0]),
    "vjp": lambda l: l.func.vjp(curve(l), x(l))[1](x(l) + 1),
    "vjp, twice": lambda l: [(f := l.func.vjp(curve(l), x(l))[1])(x(l)), f(x(l) * 2)],
    "vjp with aux": lambda l: l.func.vjp(lambda a: (a * 2, a.sum()), x(l), has_aux=True)[::2],
    "vjp of vjp": lambda l: l.func.vjp(lambda c: l.func.vjp(curve(l), x(l))[1](c)[0], x(l))[1](x(l)),
    "jvp": lambda l: l.func.jvp(curve(l), (x(l),), (x(l) + 1,)),
    "jvp with aux": lambda l: l.func.jvp(lambda a: (a * a, a), (x(l),), (x(l),), has_aux=True),
    "jvp of a constant": lambda l: l.func.jvp(lambda a: l.ones(2), (x(l),), (x(l),)),
    "jvp of grad": lambda l: l.func.jvp(l.func.grad(energy(l)), (x(l),), (x(l),)),
    "grad of jvp": lambda l: l.func.grad(lambda v: l.func.jvp(energy(l), (x(l),), (v,))[1])(x(l)),
    "grad of jvp, in the point": lambda l: l.func.grad(lambda p: l.func.jvp(energy(l), (p,), (x(l),))[1])(x(l)),
    "jacrev": lambda l: l.func.jacrev(curve(l))(x(l)),
    "jacrev, chunks": lambda l: l.func.jacrev(curve(l), chunk_size=3)(x(l)),
    "jacrev, chunks of one": lambda l: l.func.jacrev(curve(l), chunk_size=1)(x(l)),
    "jacrev, argnums and aux": lambda l: l.func.jacrev(lambda a, b: (a * b, a), (0, 1), has_aux=True)(x(l), x(l)),
    "jacrev of a matrix": lambda l: l.func.jacrev(lambda a: a @ a.T)(x(l, 3, 2)),
    "jacrev of a constant": lambda l: l.func.jacrev(lambda a: l.ones(2))(x(l)),
    "jacrev of a sum": lambda l: l.func.jacrev(lambda a: a.sum())(x(l)),
    "jacrev of nothing": lambda l: l.func.jacrev(lambda a: a[:0] * 2)(x(l)),
    "jacfwd": lambda l: l.func.jacfwd(curve(l))(x(l)),
    "jacfwd, argnums and aux": lambda l: l.func.jacfwd(lambda a, b: (a * b, a), (0, 1), has_aux=True)(x(l), x(l)),
    "jacfwd of a matrix": lambda l: l.func.jacfwd(lambda a: a @ a.T)(x(l, 3, 2)),
    "jacfwd of a constant": lambda l: l.func.jacfwd(lambda a: l.ones(2))(x(l)),
    "hessian": lambda l: l.func.hessian(energy(l))(x(l)),
    "hessian of argnums": lambda l: l.func.hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x(l), x(l)),
    "hessian of a vector": lambda l: l.func.hessian(curve(l))(x(l)),
    "jacfwd of jacrev": lambda l: l.func.jacfwd(l.func.jacrev(curve(l)))(x(l)),
    "jacrev of jacfwd": lambda l: l.func.jacrev(l.func.jacfwd(curve(l)))(x(l)),
    "grad of jacrev": lambda l: l.func.grad(lambda a: (l.func.jacrev(curve(l))(a) ** 2).sum())(x(l)),
    "grad of jacfwd": lambda l: l.func.grad(lambda a: (l.func.jacfwd(curve(l))(a) ** 2).sum())(x(l)),
    "linearize": lambda l: l.func.linearize(curve(l), x(l))[1](x(l) + 1),
    "linearize, the value": lambda l: l.func.linearize(lambda a: {"k": a * 2}, x(l))[0],
    "vmap of linearize": lambda l: l.vmap(l.func.linearize(curve(l), x(l))[1])(x(l, 3, 4)),
    "vmap": lambda l: l.vmap(curve(l))(x(l, 3, 4)),
    "vmap, dims": lambda l: l.vmap(curve(l), in_dims=1, out_dims=-1)(x(l, 3, 4)),
    "vmap, negative dim": lambda l: l.vmap(curve(l), in_dims=-2)(x(l, 3, 4, 2)),
    "vmap, an unbatched result": lambda l: l.vmap(lambda a: l.ones(2))(x(l, 3)),
    "vmap, out_dims None": lambda l: l.vmap(lambda a: (a, l.ones(2)), out_dims=(0, None))(x(l, 3)),
    "vmap of nothing": lambda l: l.vmap(lambda a: a.tanh().sum())(x(l, 0, 4)),
    "vmap of one": lambda l: l.vmap(curve(l))(x(l, 1, 4)),
    "vmap, chunks": lambda l: l.vmap(curve(l), chunk_size=2)(x(l, 5, 4)),
    "vmap of vmap": lambda l: l.vmap(l.vmap(lambda a, b: a * b + a.sum(), (0, None)), (1, 0))(x(l, 3, 4), x(l, 4)),
    "vmap of vmap of vmap": lambda l: l.vmap(l.vmap(l.vmap(curve(l)), in_dims=1), in_dims=2)(x(l, 2, 3, 4, 5)),
    "vmap of grad": lambda l: l.vmap(l.func.grad(energy(l)))(x(l, 3, 4)),
    "vmap of grad, inputs unbatched": lambda l: l.vmap(l.func.grad(lambda a, b: (a * b).prod()), (None, 0))(
        x(l), x(l, 3, 4)
    ),
    "grad of vmap": lambda l: l.func.grad(lambda a: (l.vmap(energy(l))(a) ** 2).sum())(x(l, 3, 4)),
    "grad of vmap of grad": lambda l: l.func.grad(lambda a: (l.vmap(l.func.grad(energy(l)))(a) ** 2).sum())(x(l, 3, 4)),
    "vmap of vmap of grad": lambda l: l.vmap(l.vmap(l.func.grad(energy(l))))(x(l, 2, 3, 4)),
    "vmap of jacrev": lambda l: l.vmap(l.func.jacrev(curve(l)))(x(l, 3, 4)),
    "vmap of jacfwd": lambda l: l.vmap(l.func.jacfwd(curve(l)))(x(l, 3, 4)),
    "vmap of hessian": lambda l: l.vmap(l.func.hessian(energy(l)))(x(l, 3, 4)),
    "vmap of vjp": lambda l: l.vmap(lambda a, c: l.func.vjp(curve(l), a)[1](c)[0], (0, None))(x(l, 3, 4), x(l)),
    "vmap of a pullback": lambda l: l.vmap(l.func.vjp(curve(l), x(l))[1])(x(l, 3, 4)),
    "vmap of jvp": lambda l: l.vmap(lambda a, t: l.func.jvp(curve(l), (a,), (t,)))(x(l, 3, 4), x(l, 3, 4)),
    "vmap of jvp, tangents": lambda l: l.vmap(lambda t: l.func.jvp(curve(l), (x(l),), (t,)))(x(l, 3, 4)),
    "vmap of jvp, points": lambda l: l.vmap(lambda a: l.func.jvp(curve(l), (a,), (x(l),)))(x(l, 3, 4)),
    "jacrev of vmap": lambda l: l.func.jacrev(l.vmap(curve(l)))(x(l, 3, 4)),
    "jacfwd of vmap": lambda l: l.func.jacfwd(l.vmap(curve(l)))(x(l, 3, 4)),
    "jvp of vmap": lambda l: l.func.jvp(l.vmap(curve(l)), (x(l, 3, 4),), (x(l, 3, 4),)),
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
    "dtypes of elements": lambda l: [
        l.vmap(lambda a, b: a * b)(l.ones(3, dtype=left), l.ones(3, 2, dtype=right))
        for left in (l.float64, l.float32, l.int64, l.int32)
        for right in (l.float32, l.int64, l.bool)
    ],
    "dtypes with an unbatched scalar": lambda l: l.vmap(lambda a: a * l.tensor(2.0, dtype=l.float64))(l.ones(3)),
    "control by where": lambda l: l.vmap(lambda a: l.where(a.sum() > 2, a, -a))(x(l, 5, 4)),
    "masked fill": lambda l: l.vmap(lambda a: a.masked_fill(a > 0.5, a.sum()))(x(l, 5, 4)),
    "new_zeros": lambda l: l.vmap(lambda a: a.new_zeros(4).add_(a))(x(l, 5, 4)),
    "a batched index": lambda l: l.vmap(lambda a, i: a[i])(x(l, 3, 4), l.tensor(np.array([0, 3, 1]))),
    "attributes": lambda l: l.vmap(lambda a: a * (a.dim() + a.shape[0] + a.numel()))(x(l, 3, 4)),
    "one_hot": lambda l: l.vmap(lambda i: l.nn.functional.one_hot(i, 4))(l.tensor(np.array([[0, 3], [1, 2]]))),
}


@pytest.mark.parametrize("name", BODIES)
def test_same_results(name: str) -> None:
    _same(_outcome(BODIES[name], runtime), _outcome(BODIES[name], torch))


def f(a: Any) -> Any:
    return a * 2


# What must fail, and a part of the message that has to be in both.
ERRORS: dict[str, tuple[Body, str]] = {
    "item": (lambda l: l.vmap(lambda a: a.sum().item())(x(l, 2, 3)), "calling .item()"),
    "float": (lambda l: l.vmap(lambda a: float(a.sum()))(x(l, 2, 3)), "calling .item()"),
    "control flow": (lambda l: l.vmap(lambda a: a if a.sum() > 0 else -a)(x(l, 2, 3)), "data-dependent control flow"),
    "tolist": (lambda l: l.vmap(lambda a: a.tolist())(x(l, 2, 3)), "Cannot access"),
    "nonzero": (lambda l: l.vmap(lambda a: a.nonzero())(x(l, 2, 3)), "dynamic shape"),
    "mask": (lambda l: l.vmap(lambda a: a[a > 1])(x(l, 2, 3)), "indexing with a boolean mask"),
    "equal": (lambda l: l.vmap(lambda a: l.equal(a, a))(x(l, 2, 3)), "Batching rule not implemented"),
    "copy_": (
        lambda l: l.vmap(lambda a: l.zeros(3).copy_(a))(x(l, 2, 3)),
        "vmap: inplace arithmetic(self, *extra_args)",
    ),
    "setitem": (lambda l: l.vmap(lambda a: l.zeros(3).__setitem__(0, a[0]))(x(l, 2, 3)), "vmap: inplace arithmetic"),
    "out": (lambda l: l.vmap(lambda a: l.add(a, 1, out=l.zeros(3)))(x(l, 2, 3)), "Batching rule not implemented for"),
    "requires_grad_": (lambda l: l.vmap(lambda a: a.clone().requires_grad_())(x(l, 2)), "requires_grad_()"),
    "backward": (lambda l: l.vmap(lambda a: a.sum().backward())(x(l, 2).requires_grad_()), "backward() called inside"),
    "in_dims of an int": (lambda l: l.vmap(f)(3), "We cannot vmap over non-Tensor arguments"),
    "in_dims None": (lambda l: l.vmap(f, in_dims=None)(x(l, 2)), "expected `in_dims` to be int or"),
    "in_dims structure": (lambda l: l.vmap(f, in_dims=(0, 0))(x(l, 2)), "in_dims is not compatible with the structure"),
    "in_dims text": (lambda l: l.vmap(f, in_dims="a")(x(l, 2)), "expected `in_dims` to be int or"),
    "in_dims of text": (lambda l: l.vmap(f, in_dims=("a",))(x(l, 2)), "in_dim must be either an integer dimension or"),
    "in_dims range": (lambda l: l.vmap(f, in_dims=2)(x(l, 2, 3)), "expected in_dim to satisfy -2 <= in_dim < 2"),
    "in_dims nested": (lambda l: l.vmap(f, in_dims=([0, 0],))((x(l, 2), x(l, 2))), "not compatible with the structure"),
    "in_dims all None": (lambda l: l.vmap(f, in_dims=(None,))(x(l, 2)), "Expected at least one Tensor to vmap over"),
    "sizes": (lambda l: l.vmap(lambda a, b: a)(x(l, 2), x(l, 3)), "got sizes [2, 3] for the mapped dimension"),
    "no inputs": (lambda l: l.vmap(lambda: 3)(), "got no inputs"),
    "no Tensor": (lambda l: l.vmap(lambda a: (a, 3))(x(l, 2)), "must only return Tensors"),
    "out_dims structure": (lambda l: l.vmap(lambda a: (a, a), out_dims=(0,))(x(l, 2)), "out_dims is not compatible"),
    "out_dims text": (lambda l: l.vmap(f, out_dims="a")(x(l, 2)), "`out_dims` must be an int, None"),
    "out_dims None": (
        lambda l: l.vmap(f, out_dims=None)(x(l, 2)),
        "can not return a BatchedTensor when out_dim is None",
    ),
    "out_dims range": (lambda l: l.vmap(f, out_dims=5)(x(l, 2, 3)), "Dimension out of range"),
    "chunk_size": (lambda l: l.vmap(f, chunk_size=0)(x(l, 2)), "chunk_size should be None or greater than 0"),
    "randomness": (lambda l: l.vmap(f, randomness="a")(x(l, 2)), "Only allowed values for randomness are"),
    "random": (
        lambda l: l.vmap(lambda a: l.rand(3))(x(l, 2)),
        "called random operation while in randomness error mode",
    ),
    "random, of a batch": (
        lambda l: l.vmap(l.bernoulli, randomness="same")(x(l, 2) / 2),
        "does not currently support same randomness with a batched tensor input",
    ),
    "random, in place": (
        lambda l: l.vmap(lambda a: l.zeros(3).uniform_(), randomness="different")(x(l, 2)),
        "Cannot ask for different inplace randomness on an unbatched tensor",
    ),
    "shapes": (lambda l: l.vmap(lambda a, b: a + b)(x(l, 2, 3), x(l, 2, 4)), "must match the size of tensor b"),
    "products": (lambda l: l.vmap(l.mm)(x(l, 2, 3, 4), x(l, 2, 3, 4)), ""),
    "dim": (lambda l: l.vmap(lambda a: a.sum(1))(x(l, 2, 3)), "Dimension out of range"),
    "grad of a number": (lambda l: l.func.grad(f)(3.0), "Thing passed to transform API must be Tensor"),
    "grad of integers": (lambda l: l.func.grad(f)(l.tensor([1, 2])), "floating point dtype can require gradients"),
    "grad of a vector": (lambda l: l.func.grad(f)(x(l)), "to return a scalar Tensor, got tensor with 1 dims"),
    "grad of no Tensor": (lambda l: l.func.grad(lambda a: 3.0)(x(l)), "Expected f(*args) to return a Tensor, got"),
    "grad without aux": (
        lambda l: l.func.grad(lambda a: a.sum(), has_aux=True)(x(l)),
        "should be a tuple: (output, aux)",
    ),
    "aux of no Tensor": (lambda l: l.func.grad(lambda a: (a.sum(), 3), has_aux=True)(x(l)), "got unsupported type"),
    "argnums": (lambda l: l.func.grad(f, argnums=5)(x(l)), "Got argnum=5, but only 1 positional inputs"),
    "argnums empty": (lambda l: l.func.grad(f, argnums=())(x(l)), "argnums must be non-empty"),
    "argnums twice": (lambda l: l.func.grad(f, argnums=(0, -1))(x(l)), "argnums elements must be unique, got (0, 0)"),
    "argnums text": (lambda l: l.func.grad(f, argnums="a")(x(l)), "argnums must be int or Tuple[int, ...]"),
    "a leaf in place": (lambda l: l.func.grad(lambda a: a.mul_(2).sum())(x(l)), "a leaf Variable that requires grad"),
    "vjp of no Tensor": (lambda l: l.func.vjp(lambda a: 3, x(l)), "to return only tensors, got unsupported type"),
    "vjp of nothing": (
        lambda l: l.func.vjp(lambda a: (), x(l)),
        "Expected f to be a function that has non-empty output",
    ),
    "vjp, shape": (lambda l: l.func.vjp(f, x(l))[1](x(l, 3)), "Mismatch in shape: grad_output[0] has a shape of"),
    "vjp, structure": (lambda l: l.func.vjp(f, x(l))[1]((x(l),)), "Expected pytree structure of cotangents"),
    "jvp without a tuple": (lambda l: l.func.jvp(f, x(l), x(l)), "Expected primals to be a tuple"),
    "jvp of nothing": (lambda l: l.func.jvp(lambda: 1, (), ()), "Expected primals to contain at least one Tensor"),
    "jvp, structure": (lambda l: l.func.jvp(f, (x(l),), (x(l), x(l))), "to have the same python structure"),
    "jvp, shape": (
        lambda l: l.func.jvp(f, (x(l),), (x(l, 3),)),
        "Tensor is of size [4] while the given forward gradient",
    ),
    "jvp of no Tensor": (
        lambda l: l.func.jvp(lambda a: 3, (x(l),), (x(l),)),
        "to return only tensors, got unsupported",
    ),
    "jvp, strict": (
        lambda l: l.func.jvp(lambda a: l.ones(2), (x(l),), (x(l),), strict=True),
        "The output of f is independent of the inputs",
    ),
    "jacrev of integers": (lambda l: l.func.jacrev(lambda a: a.argmax())(x(l)), "must be floating-point or complex"),
    "jacrev of complex": (lambda l: l.func.jacrev(f)(x(l) * 1j), "to be real but received complex tensor"),
    "jacrev, chunk_size": (lambda l: l.func.jacrev(f, chunk_size=0)(x(l)), "`chunk_size` should be greater than 0"),
    "jacfwd, random": (lambda l: l.func.jacfwd(lambda a: a * l.rand(4))(x(l)), "called random operation"),
    "linearize, shape": (lambda l: l.func.linearize(f, x(l))[1](x(l, 3)), "doesn't match the shape"),
    "linearize, dtype": (lambda l: l.func.linearize(f, x(l))[1](x(l).float()), "doesn't match the dtype"),
    "linearize, structure": (
        lambda l: l.func.linearize(f, x(l))[1](x(l), x(l)),
        "to have the same argspec as the primals",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_same_errors(name: str) -> None:
    body, text = ERRORS[name]
    found = []
    for library in (torch, runtime):
        with pytest.raises(Exception) as caught:  # noqa: PT011 (the class is compared)
            _outcome(body, library)
        assert text in str(caught.value)
        found.append(caught.type)
    assert found[0] is found[1]
