"""A second backward through the same graph: refused where Tensors were saved, and only there, as PyTorch does it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from gradwright.testing import sample_inputs
from support.both import assert_same, doubled
from support.operator_comparison import (
    ON_PYTORCHS_FORMULAS,
    TESTED,
    Comparison,
    Pair,
    Side,
    inplace,
    runtime_operator,
    torch_operator,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
    pytest.mark.skipif(ON_PYTORCHS_FORMULAS, reason="about the Nodes of this project's formulas"),
]

# These save less than PyTorch's, for at least one sample: nothing is in the way of a second backward.
SAVES_LESS = {
    **dict.fromkeys(
        (
            *(f"_foreach_{name}.{kind}" for name in ("add", "sub") for kind in ("List", "Scalar", "ScalarList")),
            *(f"_foreach_{name}.{kind}" for name in ("mul", "div") for kind in ("Scalar", "ScalarList")),
            *(f"_foreach_{name}.{kind}" for name in ("addcmul", "addcdiv") for kind in ("Scalar", "ScalarList")),
            "_foreach_add.Tensor",
        ),
        "PyTorch keeps the lists, of whose Tensors no values are needed",
    ),
    **dict.fromkeys(
        (f"{kind}_pad{dims}d" for kind in ("reflection", "replication") for dims in (1, 2, 3)),
        "PyTorch keeps the argument, of which only the sizes are needed",
    ),
    "leaky_relu_backward": "its slope in the input is zero, and needs nothing",
    "hardtanh_backward": "the same",
    "softshrink_backward": "the same",
    "hardshrink_backward": "the same",
    "rrelu_with_noise_backward": "the same",
    "div.Tensor_mode": "rounded to whole numbers, the result is constant: no divisor is kept",
    "div_.Tensor_mode": "the same",
    "addcdiv": "PyTorch keeps the divisor whichever argument has a gradient",
    "addcdiv_": "the same",
    "complex": "PyTorch keeps the parts, of which only the dtype is looked at",
    "_fft_r2c": "PyTorch keeps the numbers, of which only the size is looked at",
    "fft_fft": "the same",
    "fft_ifft": "the same",
    "fft_rfft": "the same",
    "fft_ihfft": "the same",
    "fft_rfft2": "the same",
    "fft_ihfft2": "the same",
    "fft_rfftn": "the same",
    "fft_ihfftn": "the same",
    "stft": "the same",
    "pad_sequence": "PyTorch writes the sequences into a Tensor of padding, whose views know their sizes",
    "nll_loss_backward": "PyTorch keeps the target, of which the gradient of the input knows nothing",
    "nll_loss2d_backward": "the same",
    "max_pool2d_with_indices_backward": "PyTorch keeps the indices, of which the gradient of the input knows nothing",
    "max_pool3d_with_indices_backward": "the same",
    "adaptive_max_pool2d_backward": "the same",
    "adaptive_max_pool3d_backward": "the same",
    "fractional_max_pool2d_backward": "the same",
    "fractional_max_pool3d_backward": "the same",
}
# These save more.
SAVES_MORE = {"as_strided_scatter": "it is made of operators here, which keep the places that are written"}


def second(side: Side) -> str | None:
    """How a second backward through the graph of a call ends; None where there is no first one."""
    try:
        outs = [out for out in side.call(side.inputs) if out is not None and out.requires_grad]
        grads = [side.library.ones_like(out) for out in outs]
        side.library.autograd.grad(outs, side.inputs, grads, allow_unused=True)
    except (RuntimeError, ValueError, IndexError):
        return None
    try:
        side.library.autograd.grad(outs, side.inputs, grads, allow_unused=True)
    except RuntimeError as error:
        return "refused" if "a second time" in str(error) else str(error)
    return "done"


def compare(name: str, info: Any, pair: Pair) -> None:
    found = set()
    for number, sample in enumerate(sample_inputs(info, "float64")):
        count = len(sample.tensors())
        for only in (None, *(range(count) if count > 1 else ())):
            comparison = Comparison(name, pair, sample_inputs(info, "float64")[number], "float64", False, only)
            with contextlib.suppress(NotImplementedError):
                theirs = second(comparison.theirs)
                ours = second(comparison.ours) if theirs else None
                if theirs is not None and ours is not None:
                    found.add((ours, theirs))
    less, more = {("done", "refused")}, {("refused", "done")}
    assert found - less - more <= {("done", "done"), ("refused", "refused")}
    assert bool(found & less) == (name in SAVES_LESS)
    assert bool(found & more) == (name in SAVES_MORE)


@pytest.mark.parametrize("name", TESTED)
def test_operator(name: str) -> None:
    compare(name, TESTED[name], (runtime_operator(name), torch_operator(name)))


@pytest.mark.parametrize("name", [name for name, info in TESTED.items() if info.inplace])
def test_inplace_variant(name: str) -> None:
    inplace_name = TESTED[name].inplace
    assert inplace_name is not None
    pair = inplace(runtime_operator(inplace_name)), inplace(torch_operator(inplace_name))
    compare(inplace_name, TESTED[name], pair)


def twice(torch: Any, y: Any) -> Any:
    y.backward(torch.ones_like(y))
    y.backward(torch.ones_like(y))


BODIES = {
    "basic indexing": lambda t, x: x[0, None, 1:],
    "index by a Tensor": lambda t, x: x[t.tensor([0])],
    "mask": lambda t, x: x[x > 0],
    "unbind": lambda t, x: x.unbind()[1],
    "split": lambda t, x: t.cat(x.split(2, 1)),
    "cat of what is written later": lambda t, x: t.cat([x, t.zeros(1, 3)]),
    "mean": lambda t, x: x.mean(1),
    "bias alone": lambda t, x: t.addmm(x, t.ones(2, 4), t.ones(4, 3)),
    "one factor": lambda t, x: t.mul(x, t.ones(3)),
    "to": lambda t, x: x.to(t.float64),
    "chunked and stacked": lambda t, x: t.stack(x.chunk(3, 1)),
    "power": lambda t, x: x**2,
}


@pytest.mark.parametrize("name", BODIES)
def test_expression(name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        twice(torch, BODIES[name](torch, x))
        return x.grad

    assert_same(body)


WRITES = {
    "add_": lambda t, view: view.add_(1),
    "mul_": lambda t, view: view.mul_(t.full((3,), 2.0)),
    "copy_": lambda t, view: view.copy_(t.ones(3)),
    "setitem": lambda t, view: view.__setitem__(0, 1.0),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("through_view", [False, True])
def test_writes(name: str, through_view: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        y = x + 0
        WRITES[name](torch, y[0] if through_view else y)
        twice(torch, y)
        return x.grad

    assert_same(body, "a second time" if through_view or name in ("mul_", "setitem") else None)


@pytest.mark.parametrize("saves", ["nothing", "None", "input", "output"])
@pytest.mark.parametrize("reads", [False, True])
def test_function(saves: str, reads: bool) -> None:
    def body(torch: Any) -> Any:
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                out = a * 2
                kept = {"nothing": (), "None": (None,), "input": (a,), "output": (out,)}
                ctx.save_for_backward(*kept[saves])
                return out

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                if reads:
                    assert ctx.saved_tensors is not None
                return grad * 2

        x = torch.ones(2, 3, requires_grad=True)
        twice(torch, Double.apply(x))
        return x.grad

    assert_same(body, "a second time" if reads else None)


@pytest.mark.parametrize("name", ["_raw_saved_tensors", "saved_tensors"])
def test_saved_tensors_of_a_function_that_saved_none(name: str) -> None:
    def body(torch: Any) -> Any:
        y = doubled(torch, lambda grad: grad * 2).apply(torch.ones(2, 3, requires_grad=True))
        assert len(getattr(y.grad_fn, name)) == 0
        y.backward(torch.ones_like(y))
        getattr(y.grad_fn, name)

    assert_same(body, "a second time")


SHOWN = {
    "_saved_alpha": lambda t, x: t.addmm(x, t.ones(2, 4), t.ones(4, 3), alpha=3),
    "_saved_mat1": lambda t, x: t.addmm(x, t.ones(2, 4), t.ones(4, 3)),
    "_saved_self": lambda t, x: t.mul(x, t.ones(3)),
    "_saved_other": lambda t, x: t.mul(x, t.ones(3)),
    "_saved_result": lambda t, x: x.exp(),
    "_saved_self_sym_sizes": lambda t, x: x.sum(),
    "_saved_indices": lambda t, x: x[t.tensor([0])],
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_still_shown_after_a_backward(name: str) -> None:
    def body(torch: Any) -> Any:
        y = SHOWN[name](torch, torch.ones(2, 3, requires_grad=True))
        y.backward(torch.ones_like(y))
        return getattr(y.grad_fn, name)

    assert_same(body)


def test_hooks_on_what_was_not_saved() -> None:
    def body(torch: Any, before: bool) -> Any:
        y = torch.mul(torch.ones(2, 3, requires_grad=True), torch.ones(3))
        raw = y.grad_fn._raw_saved_self
        if not before:
            y.backward(torch.ones_like(y))
        raw.register_hooks(lambda t: t, lambda t: t)

    assert_same(lambda torch: body(torch, True), "with value None is forbidden")
    assert_same(lambda torch: body(torch, False), "with value None is forbidden")


def test_hooks_and_a_node_that_saved_nothing() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = torch.cat([x.sum(0, keepdim=True), x])
        twice(torch, y)
        return x.grad

    def packed(torch: Any) -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = torch.mul(x, torch.ones(3))
        twice(torch, y)

    assert_same(body)
    assert_same(packed, "a second time")
