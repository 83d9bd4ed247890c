"""`gradcheck` and `gradgradcheck` beside PyTorch's: verdicts, classes of errors, and what the messages say."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwright

Functions = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]


def wrong(x: Any, by: Any = 1) -> Any:
    """2 x, with a derivative that is 2 + `by`."""
    return x * 2 + by * (x - x.detach())


def hooked(x: Any, hook: Callable[[Any], Any]) -> Any:
    y = x * 1
    if y.requires_grad:
        y.register_hook(lambda grad: None if grad is None else hook(grad))  # PyTorch's hooks see missing gradients
    return y


def drifting() -> Callable[[Any], Any]:
    calls = [0]

    def hook(grad: Any) -> Any:
        calls[0] += 1
        return grad * (1 + 1e-8 * calls[0])

    return hook


def functions(m: Any) -> Functions:
    def made(*numbers: Any, dtype: str = "float64") -> Any:
        return m.tensor(list(numbers), dtype=getattr(m, dtype), requires_grad=True)

    x, y, one = made(1.0, 2.0), made(0.5, 1.5), made(1.0)
    z = made(1 + 2j, 2 - 1j, dtype="complex128")
    fixed = m.tensor([1.0, 2.0], dtype=m.float64)
    drift = drifting()
    return {
        "right": (lambda a, b: (a * b, a.exp()), (x, y)),
        "complex": (lambda a: a * a.conj() + a, (z,)),
        "complex to real": (lambda a: a.abs(), (z,)),
        "real to complex": (lambda a: a * (1 + 2j), (x,)),
        "wrong": (wrong, (x,)),
        "wrong complex": (wrong, (z,)),
        "wrong complex to real": (lambda a: wrong(a).real, (z,)),
        "wrong real to complex": (lambda a: wrong(a) * 1j, (x,)),
        "wrong imaginary part": (lambda a: m.complex(a, wrong(a)), (x,)),
        "wrong second output": (lambda a, b: (a * b, wrong(b)), (x, y)),
        "wrong a little": (lambda a: wrong(a, 1e-4), (x,)),
        "unused input": (lambda a, b: a * 2, (x, y)),
        "constant": (lambda a: a.detach() * 0, (x,)),
        "no output requires grad": (lambda a: a.detach() * 2, (x,)),
        "not deterministic": (lambda a: hooked(a, drift), (x,)),
        "not linear in the gradient": (lambda a: hooked(a, m.ones_like), (one,)),
        "nothing requires grad": (lambda a: a * 2, (fixed,)),
        "overlapping": (lambda a: a * 2, (fixed[:1].expand(3).requires_grad_(),)),
        "single precision": (lambda a: a * a, (made(1.0, 2.0, dtype="float32"),)),
        "empty": (lambda a: a * a, (m.zeros(0, 2, dtype=m.float64, requires_grad=True),)),
        "fails": (lambda a: a.reshape(3), (x,)),
        "writes": (lambda a: (a * 1).mul_(a)[0], (x,)),
        "square": (lambda a: a * a, (x,)),
        "square complex": (lambda a: a * a * a, (z,)),
        "linear": (lambda a: a * 2, (x,)),
        "second derivative wrong": (lambda a: a.detach() * a * 2 - a.detach() * a.detach(), (x,)),
        "several": (lambda a, b: ((a * b).sin(), (a / b).sum()), (x, y)),
        "solve": (lambda a: m.linalg.solve(a.reshape(1, 2).t() @ a.reshape(1, 2) + m.eye(2, dtype=a.dtype), a), (x,)),
    }


NAMES = list(functions(gradwright))
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "forward": {"check_forward_ad": True},
    "forward only": {"check_forward_ad": True, "check_backward_ad": False},
    "all": {
        "check_forward_ad": True,
        "check_batched_forward_grad": False,
        "check_grad_dtypes": True,
        "check_undefined_grad": True,
        "masked": True,
    },
    "few": {"check_undefined_grad": False},
    "quiet": {"raise_exception": False},
    "loose": {"nondet_tol": 1e-5, "atol": 1e-3, "eps": 1e-5},
    "neither": {"check_backward_ad": False},
    "batched without backward": {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
    "batched without forward": {"check_batched_forward_grad": True},
}
SECOND_OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "forward over backward": {"check_fwd_over_rev": True},
    "forward over backward only": {
        "check_fwd_over_rev": True,
        "check_rev_over_rev": False,
        "check_undefined_grad": False,
    },
    "not contiguous": {"gen_non_contig_grad_outputs": True, "check_grad_dtypes": True, "masked": True},
    "quiet": {"raise_exception": False},
    "neither": {"check_rev_over_rev": False},
    "undefined without backward": {"check_fwd_over_rev": True, "check_rev_over_rev": False},
    "batched without backward": {
        "check_fwd_over_rev": True,
        "check_rev_over_rev": False,
        "check_undefined_grad": False,
        "check_batched_grad": True,
    },
}


def verdict(check: Callable[..., Any], function: Any, inputs: Any, options: dict[str, Any]) -> tuple[Any, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return check(function, inputs, **options), ""
        except Exception as error:
            return type(error).__name__, str(error).replace("gradwright.", "torch.").replace(
                ", grad_fn=<CopySlices>", ""
            )


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_gradcheck(name: str, options: str, fast: bool) -> None:
    given = {**OPTIONS[options], "fast_mode": fast}
    ours, our_text = verdict(gradwright.autograd.gradcheck, *functions(gradwright)[name], given)
    theirs, their_text = verdict(torch.autograd.gradcheck, *functions(torch)[name], given)
    if theirs == "IndexError":  # PyTorch's own, on the way to the same verdict
        theirs, their_text = ours, our_text
    assert ours == theirs, (our_text, their_text)
    if "mismatch for output" in their_text:
        assert our_text.partition("\n")[0] == their_text.partition("\n")[0]
        if not fast:
            assert our_text == their_text
        else:  # other random directions
            assert "fast_mode=False" in our_text
            assert tables(our_text) == tables(their_text)
    else:
        assert our_text[:30] == their_text[:30]


def tables(text: str) -> str:
    """The Jacobians that are shown after fast mode failed."""
    return text.partition("Numerical:")[2].partition("The max")[0].replace(" ", "")


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("options", SECOND_OPTIONS)
@pytest.mark.parametrize(
    "name", ["square", "square complex", "linear", "second derivative wrong", "several", "nothing requires grad"]
)
def test_gradgradcheck(name: str, options: str, fast: bool) -> None:
    given = {**SECOND_OPTIONS[options], "fast_mode": fast}
    ours, our_text = verdict(gradwright.autograd.gradgradcheck, *functions(gradwright)[name], given)
    theirs, their_text = verdict(torch.autograd.gradgradcheck, *functions(torch)[name], given)
    assert ours == theirs, (our_text, their_text)
    assert our_text[:30] == their_text[:30]


@pytest.mark.parametrize("name", ["gradcheck", "gradgradcheck"])
def test_signatures(name: str) -> None:
    ours = inspect.signature(getattr(gradwright.autograd, name)).parameters.values()
    theirs = inspect.signature(getattr(torch.autograd, name)).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


def test_forms_of_arguments() -> None:
    def body(m: Any) -> Any:
        x = m.tensor([1.0, 2.0], dtype=m.float64, requires_grad=True)
        grad = m.tensor([0.5, 2.0], dtype=m.float64)
        return [
            m.autograd.gradcheck(lambda a: [a * a, a.sin()], x),
            m.autograd.gradcheck(lambda a, n, b: a * n, [x, 2, None]),
            m.autograd.gradgradcheck(lambda a: a * a, x, grad),
            m.autograd.gradgradcheck(lambda a: (a * a, a**3), [x], [grad.clone().requires_grad_(), grad]),
            verdict(m.autograd.gradcheck, lambda a: a[0] * 2, ([x],), {})[0],
            verdict(m.autograd.gradgradcheck, lambda a: a * a, (x,), {"nondet_tol": 1e-3})[0],
        ]

    assert body(gradwright) == body(torch)


# -- backward functions that get no gradient at all, or not all of them


def refuses(*grads: Any) -> Any:
    if any(grad is None for grad in grads):
        raise RuntimeError("a gradient is missing")
    return sum(grad * by for grad, by in zip(grads, (2, 3), strict=False))


def forgives(*grads: Any) -> Any:
    given = [grad * by for grad, by in zip(grads, (2, 3), strict=False) if grad is not None]
    return sum(given[1:], start=given[0]) if given else None


def invents(*grads: Any) -> Any:
    return forgives(*grads) if any(grad is not None for grad in grads) else grads[0]


class Backwards:
    """Functions whose `backward` is `formula`, which may see None."""

    def __init__(self, m: Any, formula: Callable[..., Any], count: int, materialize: bool) -> None:
        class Made(m.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(materialize)
                return (x * 2, x * 3)[:count] if count > 1 else x * 2

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                found = formula(*grads)
                if found is None and formula is invents:
                    return m.ones(2, dtype=m.float64)
                return found

        self.apply = Made.apply


FORMULAS = {"refuses": refuses, "forgives": forgives, "invents": invents}
PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda function, x: function(x),
    "below": lambda function, x: function(x * 1),
    "above": lambda function, x: total(function(x)).sin(),
    "between": lambda function, x: total(function(x.exp())).sum(),
}


def total(outs: Any) -> Any:
    return sum(outs[1:], start=outs[0]) if isinstance(outs, tuple) else outs


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("materialize", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_missing_gradients(formula: str, place: str, count: int, materialize: bool, asked: bool) -> None:
    def verdict(m: Any) -> Any:
        made = Backwards(m, FORMULAS[formula], count, materialize)
        x = m.tensor([1.0, 2.0], dtype=m.float64, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return m.autograd.gradcheck(lambda a: PLACES[place](made.apply, a), (x,), check_undefined_grad=asked)
            except Exception as error:
                return type(error).__name__, str(error)[:45]

    assert verdict(gradwright) == verdict(torch)


# -- inputs move in their own memory; what Tensors around others hold


def _wrapper(m: Any) -> Any:
    class Around(m.Tensor):  # type: ignore[misc, name-defined]
        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            made = m.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            tree_map = m.utils._pytree.tree_map
            plain = tree_map(lambda leaf: leaf.inner if isinstance(leaf, Around) else leaf, (args, kwargs or {}))
            out = func(*plain[0], **plain[1])
            return tree_map(lambda leaf: Around(leaf) if isinstance(leaf, m.Tensor) else leaf, out)

    return Around


def _prehooked(x: Any, hook: Callable[[Any], Any]) -> Any:
    y = x.clone()
    if y.requires_grad:
        y.grad_fn.register_prehook(hook)
    return y


def _hooked_always(x: Any, hook: Callable[[Any], Any]) -> Any:
    y = x.clone()
    if y.requires_grad:
        y.register_hook(hook)
    return y


def _needs_a_gradient(grad: Any) -> None:
    if grad is None:
        raise RuntimeError("there is none")


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "captured": lambda m, x: m.autograd.gradcheck(lambda y: x.sin(), (x,)),
    "captured, fast": lambda m, x: m.autograd.gradcheck(lambda y: x.sin(), (x,), fast_mode=True),
    "captured, second": lambda m, x: m.autograd.gradgradcheck(lambda y: x.sin(), (x,)),
    "in a container": lambda m, x: m.autograd.gradcheck(lambda y, state: state["x"].sin() * y, (x, {"x": x})),
    "not contiguous": lambda m, x: m.autograd.gradcheck(m.sin, (x.detach().repeat(2, 1).t().requires_grad_(),)),
    "shapes by values": lambda m, x: m.autograd.gradcheck(lambda y: y[y >= 1.0].sin(), (x,)),
    "shapes by values, fast": lambda m, x: m.autograd.gradcheck(lambda y: y[y >= 1.0], (x,), fast_mode=True),
    "shapes by values, quiet": lambda m, x: m.autograd.gradcheck(lambda y: y[y >= 1.0], (x,), raise_exception=False),
    "hook": lambda m, x: m.autograd.gradcheck(lambda y: _hooked_always(y, _needs_a_gradient), (x,)),
    "prehook": lambda m, x: m.autograd.gradcheck(
        lambda y: _prehooked(y, lambda g: 1 / (g[0] is not None) and None), (x,)
    ),
    "division": lambda m, x: m.autograd.gradcheck(lambda y: 1 // 0, (x,), raise_exception=False),
    "around": lambda m, x: m.autograd.gradcheck(m.sin, (_wrapper(m)(x.detach().clone()).requires_grad_(),)),
    "around, fast": lambda m, x: m.autograd.gradcheck(
        m.sin, (_wrapper(m)(x.detach().clone()).requires_grad_(),), fast_mode=True
    ),
    "around, second": lambda m, x: m.autograd.gradgradcheck(m.sin, (_wrapper(m)(x.detach().clone()).requires_grad_(),)),
    "around, forward": lambda m, x: m.autograd.gradcheck(
        m.sin, (_wrapper(m)(x.detach().clone()).requires_grad_(),), check_forward_ad=True
    ),
    "around one of two": lambda m, x: m.autograd.gradcheck(
        m.mul, (_wrapper(m)(x.detach().clone()).requires_grad_(), x)
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_inputs_move_in_place(name: str) -> None:
    def verdict(m: Any) -> Any:
        x = m.tensor([1.0, 2.0, 0.5], dtype=m.float64, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = IN_PLACE[name](m, x)
            except Exception as error:
                found = type(error).__name__, str(error)[:45]
        return found, x.tolist(), x._version, x.grad

    assert verdict(gradwright) == verdict(torch)
