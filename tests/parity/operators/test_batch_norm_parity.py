"""Batch, instance and local response normalization beside PyTorch: values, running statistics, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.both import assert_same, assert_same_results
from support.kernel_cases import cases, compare

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "x": _RANDOM.standard_normal((4, 3, 5)),
    "v": _RANDOM.standard_normal((4, 3)),
    "y": _RANDOM.standard_normal((2, 3, 4, 5)),
    "w": _RANDOM.standard_normal(3),
    "b": _RANDOM.standard_normal(3),
    "M": _RANDOM.standard_normal(3),
    "V": _RANDOM.random(3) + 0.5,
    "N": np.arange(24).reshape(2, 3, 4),
}

CASES = """
F.batch_norm(x, M, V) | F.batch_norm(x, M, V, w, b) | F.batch_norm(x, M, V, w, b, True)
F.batch_norm(y, None, None, w, b, True)
F.batch_norm(v, M, V, training=True) | F.batch_norm(v, None, None, training=True, eps=0.1) | F.batch_norm(x, None, None)
F.batch_norm(x, M, None) | F.batch_norm(x, M[:2], V) | F.batch_norm(x, M, V, w[:2])
F.batch_norm(v[:1], M, V, training=True)
F.batch_norm(w, M, V) | F.batch_norm(N, M, V) | F.batch_norm(x.half(), M, V, w, b, True)
F.batch_norm(x.half(), M, V, w, b)
F.batch_norm(x.bfloat16(), M.bfloat16(), V.bfloat16(), w.bfloat16(), b.bfloat16(), True) | F.batch_norm(x[:0], M, V, w)
F.instance_norm(x) | F.instance_norm(y, M, V, w, b) | F.instance_norm(y, M, V, w, b, False)
F.instance_norm(x, None, None, w)
F.instance_norm(y, None, None, w, b, False) | F.instance_norm(y[:, :, :1, :1]) | F.instance_norm(y, M, V, momentum=0.5)
F.local_response_norm(x, 2) | F.local_response_norm(y, 3, 0.1, 0.5, 2.0) | F.local_response_norm(v, 2)
F.local_response_norm(N, 2) | F.batch_norm(x[:0], M, V, w, b, True) | F.batch_norm(w[:0], M, V, w)
T.native_batch_norm(x, w, b, M, V, False, 0.1, 0.1)[0] | T.native_batch_norm(x, w, b, M, V, True, 0.1, 0.1)
T.native_batch_norm(x, None, None, None, None, True, 0.1, 0.1) | (F.batch_norm(x, M, V, w, b, True, 0.3), M, V)
(F.instance_norm(y, M, V, momentum=0.3), M, V)
"""


@pytest.mark.parametrize("text", cases(CASES))
def test_case(text: str) -> None:
    compare(text, ARRAYS)


MODULES = """
nn.BatchNorm1d(3), x | nn.BatchNorm1d(3, momentum=None), v | nn.BatchNorm2d(3, affine=False), y
nn.BatchNorm2d(3, bias=False), y
nn.BatchNorm2d(3, track_running_stats=False), y | nn.BatchNorm2d(3), x | nn.BatchNorm3d(3), y.unsqueeze(2)
nn.BatchNorm1d(4), x
nn.InstanceNorm1d(3), x | nn.InstanceNorm2d(3, affine=True), y | nn.InstanceNorm2d(3, track_running_stats=True), y
nn.InstanceNorm2d(3), y[0] | nn.InstanceNorm1d(4), x | nn.InstanceNorm1d(4, affine=True), x | nn.LocalResponseNorm(2), y
"""


def _outcome(library: Any, text: str) -> Any:
    names = {name: library.tensor(array) for name, array in ARRAYS.items()}
    module, x = eval(f"({text})", {"nn": library.nn, **names})
    module = module.double()
    x.requires_grad_()
    seen = [repr(module)]
    for training in (True, True, False):
        module.train(training)
        try:
            out = module(x)
        except Exception as error:
            return [*seen, type(error)]
        (out * out * out).sum().backward()
        state = {name: value.detach().numpy().tolist() for name, value in module.state_dict().items()}
        seen += [out.detach().numpy(), x.grad.numpy().copy(), state]
    return seen


def _assert_equal(mine: Any, other: Any) -> None:
    if isinstance(other, np.ndarray | float):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
    elif isinstance(other, list):
        assert len(mine) == len(other)
        for one, another in zip(mine, other, strict=True):
            _assert_equal(one, another)
    elif isinstance(other, dict):
        assert list(mine) == list(other)
        _assert_equal(list(mine.values()), list(other.values()))
    else:
        assert mine == other


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases(MODULES))
def test_module(text: str) -> None:
    _assert_equal(_outcome(gradwright, text), _outcome(torch, text))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_derivatives_of_first_and_second_order(training: bool, affine: bool) -> None:
    """Against finite differences: of the gradients, too, and in forward mode."""
    x = gradwright.tensor(ARRAYS["x"], requires_grad=True)
    parameters = [gradwright.tensor(ARRAYS[name], requires_grad=True) for name in "wb"] if affine else []
    mean, variance = gradwright.tensor(ARRAYS["M"]), gradwright.tensor(ARRAYS["V"])

    def function(x: Any, *parameters: Any) -> Any:
        running = (None, None) if training else (mean, variance)
        return gradwright.nn.functional.batch_norm(x, *running, *parameters, training=training, eps=0.1)

    inputs = (x, *parameters)
    assert gradwright.autograd.gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True)
    assert gradwright.autograd.gradgradcheck(function, inputs, check_fwd_over_rev=True, check_rev_over_rev=True)


def test_third_order() -> None:
    """What the statistics of a batch do is not forgotten in the derivative of the second derivative."""

    def second(library: Any, x: Any) -> Any:
        out = library.nn.functional.batch_norm(x, None, None, training=True, eps=0.1)
        weights = library.linspace(0.5, 1.5, x.numel(), dtype=library.float64).reshape(x.shape)
        (first,) = library.autograd.grad((out**3 * weights).sum(), x, create_graph=True)
        (again,) = library.autograd.grad((first * weights).sum(), x, create_graph=True)
        return again

    x = gradwright.tensor(ARRAYS["v"], requires_grad=True)
    assert gradwright.autograd.gradcheck(lambda x: second(gradwright, x), (x,))


@pytest.mark.parametrize(
    "call",
    [
        "x, m, v, 0.1",
        "x, None, None, 0.1",
        "x, m, None, 0.3",
        "x.double(), m.double(), v.double(), 0.1",
        "x.bfloat16(), m, v, 0.1",
        "x.half(), m.half(), v.half(), 0.1",
        "x.bfloat16(), None, None, 0.1",
        "x[:1, :, :1, :1], m, v, 0.1",
        "x.double(), m, v, 0.1",
        "x, m.double(), v, 0.1",
        "x.long(), m, v, 0.1",
        "x * 1j, None, None, 0.1",
        "x[:0], None, None, 0.1",
        "x[:, :0], None, None, 0.1",
        "x[0, 0, 0], m, v, 0.1",
    ],
)
def test_statistics_of_a_batch(call: str) -> None:
    def body(torch: Any) -> Any:
        names = {name: torch.tensor(ARRAYS[key].astype(np.float32)) for name, key in zip("xmv", "xMV", strict=True)}
        mean, var = eval(f"torch.batch_norm_update_stats({call})", {"torch": torch, **names})
        return mean.dtype, var.dtype, [each.float().numpy() for each in (mean, var, names["m"], names["v"])]

    found = []
    for library in (gradwright, torch):
        try:
            *kinds, numbers = body(library)
        except Exception as error:
            found.append((type(error), []))
        else:
            found.append(([str(kind).rpartition(".")[2] for kind in kinds], numbers))
    (kinds, mine), (wanted, other) = found
    assert kinds == wanted
    for one, another in zip(mine, other, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-2 if "16" in call else 1e-5)


def test_statistics_of_a_batch_have_gradients() -> None:
    x = gradwright.tensor(ARRAYS["x"], requires_grad=True)
    assert gradwright.autograd.gradcheck(lambda x: gradwright.batch_norm_update_stats(x, None, None, 0.1), (x,))


# -- under vmap: statistics belong to one element of the batch each, or the call is refused


def _stacked(torch: Any, call: str) -> Any:
    """Many batches through one function that moves statistics, of which there are as many; and what these are then."""
    x = torch.tensor(ARRAYS["y"].reshape(2, 1, 3, 20).astype(np.float32))
    mean, var = torch.zeros(2, 3), torch.ones(2, 3)
    function = eval(f"lambda x, mean, var: {call}", {"F": torch.nn.functional, "torch": torch})
    return torch.func.vmap(function)(x, mean, var), mean, var


@pytest.mark.parametrize(
    "call",
    [
        "F.batch_norm(x, mean, var, training=True)",
        "F.batch_norm(x, mean, var, training=True, momentum=0.5)",
        "torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 0.1)",
        "F.instance_norm(x, mean, var)",
        "F.batch_norm(x, mean, var)",
    ],
)
def test_statistics_are_as_many_as_batches(call: str) -> None:
    assert_same_results(lambda torch: _stacked(torch, call))


@pytest.mark.parametrize(
    "call",
    [
        "F.batch_norm(x, ONES[0], ONES[0], training=True)",
        "F.batch_norm(x, mean, ONES[0], training=True)",
        "F.batch_norm(x, ONES[0], var, training=True)",
        "F.instance_norm(x, ONES[0], ONES[0])",
        "F.instance_norm(x, mean, ONES[0])",
    ],
)
def test_statistics_of_one_batch_do_not_follow_many(call: str) -> None:
    assert_same(lambda torch: _stacked(torch, call.replace("ONES", "torch.ones(1, 3)")), "running_mean or running_var")


@pytest.mark.parametrize("momentum", [0.1, None])
def test_module_whose_statistics_are_one_for_all_is_refused(momentum: float | None) -> None:
    def body(torch: Any) -> Any:
        module = torch.nn.BatchNorm1d(3, momentum=momentum)
        x = torch.tensor(ARRAYS["x"][:, None].astype(np.float32))
        with pytest.raises(RuntimeError, match="track_running_stats"):
            torch.func.vmap(module)(x)
        return module.running_mean, module.running_var

    assert_same_results(body)


def test_each_module_of_many_moves_its_own_statistics() -> None:
    def body(torch: Any) -> Any:
        models = [torch.nn.BatchNorm1d(3) for _ in range(4)]
        parameters, buffers = torch.func.stack_module_state(models)

        def loss(parameters: Any, buffers: Any, x: Any) -> Any:
            return torch.func.functional_call(models[0], (parameters, buffers), (x,)).pow(3).sum()

        x = torch.tensor(ARRAYS["x"][:, None].repeat(2, axis=1).astype(np.float32))
        gradients = torch.func.vmap(torch.func.grad(loss))(parameters, buffers, x)
        return gradients, buffers

    assert_same_results(body)
