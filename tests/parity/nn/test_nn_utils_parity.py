"""`nn.utils`: from the same seed Modules compute, learn, save and print as PyTorch's do."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.utils.prune

import gradwright

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*is now deprecated:FutureWarning"),
]

PARAMETRIZED: dict[str, Callable[[Any], Any]] = {
    "weight_norm": lambda m: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(6, 5)),
    "weight_norm, one length": lambda m: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(6, 5), dim=None),
    "weight_norm, columns": lambda m: m.nn.utils.parametrizations.weight_norm(m.nn.Linear(6, 5), dim=1),
    "spectral_norm": lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(6, 5), n_power_iterations=2),
    "spectral_norm of a vector": lambda m: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(6, 5), "bias"),
    "orthogonal": lambda m: m.nn.utils.parametrizations.orthogonal(m.nn.Linear(6, 6)),
    "orthogonal, reflections": lambda m: m.nn.utils.parametrizations.orthogonal(m.nn.Linear(6, 4)),
    "orthogonal, cayley": lambda m: m.nn.utils.parametrizations.orthogonal(m.nn.Linear(6, 4), orthogonal_map="cayley"),
    "orthogonal, exp": lambda m: m.nn.utils.parametrizations.orthogonal(m.nn.Linear(6, 9), orthogonal_map="matrix_exp"),
    "orthogonal, no base": lambda m: m.nn.utils.parametrizations.orthogonal(
        m.nn.Linear(6, 9), use_trivialization=False
    ),
    "older weight_norm": lambda m: m.nn.utils.weight_norm(m.nn.Linear(6, 5)),
    "older spectral_norm": lambda m: m.nn.utils.spectral_norm(m.nn.Linear(6, 5)),
    "older weight_norm removed": lambda m: m.nn.utils.remove_weight_norm(m.nn.utils.weight_norm(m.nn.Linear(6, 5))),
    "older spectral_norm removed": lambda m: m.nn.utils.remove_spectral_norm(
        m.nn.utils.spectral_norm(m.nn.Linear(6, 5))
    ),
    "removed": lambda m: m.nn.utils.parametrize.remove_parametrizations(
        m.nn.utils.parametrizations.weight_norm(m.nn.Linear(6, 5)), "weight"
    ),
    "two": lambda m: m.nn.utils.parametrizations.spectral_norm(
        m.nn.utils.parametrizations.weight_norm(m.nn.Linear(6, 5))
    ),
    "copied": lambda m: copy.deepcopy(m.nn.utils.parametrizations.weight_norm(m.nn.Linear(6, 5))),
}


def trained(m: Any, make: Callable[[Any], Any]) -> tuple[list[np.ndarray], list[str], str]:
    m.manual_seed(1)
    module = make(m)
    x, seen = m.randn(4, 6), []
    for _ in range(3):
        y = module(x)
        module.zero_grad()
        (y * y).sum().backward()
        seen += [y.detach().numpy(), *[p.grad.numpy().copy() for p in module.parameters()]]
        with m.no_grad():
            for p in module.parameters():
                p -= 0.01 * p.grad
    state = module.state_dict()
    return [*seen, *[value.numpy() for value in state.values()]], list(state), repr(module)


@pytest.mark.parametrize("name", PARAMETRIZED)
def test_training(name):
    (ours, our_names, our_text), (theirs, their_names, their_text) = (
        trained(m, PARAMETRIZED[name]) for m in (gradwright, torch)
    )
    assert our_names == their_names
    assert our_text == their_text
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=2e-5)


def own_parametrization(m: Any) -> Any:
    class Symmetric(m.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a):
            return a.triu()

    class Doubled(m.nn.Module):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x * 2

        def right_inverse(self, x):
            return x / 2

    return Symmetric, Doubled


@pytest.mark.parametrize("left", [True, False])
def test_own_parametrizations(left):
    outcomes = []
    for m in (gradwright, torch):
        m.manual_seed(3)
        parametrize = m.nn.utils.parametrize
        symmetric, doubled = own_parametrization(m)
        module = m.nn.Linear(3, 3)
        original = module.weight
        seen: list[Any] = [parametrize.is_parametrized(module)]
        parametrize.register_parametrization(module, "weight", symmetric())
        parametrize.register_parametrization(module, "weight", doubled())
        parametrize.register_parametrization(module, "bias", doubled())
        seen += [parametrize.is_parametrized(module, name) for name in ("weight", "bias", "other")]
        seen += [type(module).__name__, parametrize.type_before_parametrizations(module).__name__]
        seen.append(module.parametrizations.weight.original is original)
        seen.append(module.weight.tolist())
        module.weight = m.ones(3, 3)
        seen += [module.weight.tolist(), module.parametrizations.weight.original.tolist(), list(module.state_dict())]
        doubled.calls = 0
        with parametrize.cached():
            seen.append(module.weight is module.weight)
            module(m.ones(2, 3))
        seen.append(doubled.calls)
        other = m.nn.Linear(3, 3)
        parametrize.transfer_parametrizations_and_params(module, other)
        seen += [other.weight.tolist(), list(other.state_dict())]
        parametrize.remove_parametrizations(module, "weight", leave_parametrized=left)
        seen += [module.weight.tolist(), module.weight is original, type(module).__name__]
        parametrize.remove_parametrizations(module, "bias", leave_parametrized=left)
        seen += [type(module) is m.nn.Linear, hasattr(module, "parametrizations"), list(module.state_dict())]
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]


def test_what_parametrizations_refuse():
    for m in (gradwright, torch):
        parametrize, module = m.nn.utils.parametrize, m.nn.Linear(3, 3)

        class Half(m.nn.Module):
            def forward(self, x):
                return x[:1]

        for call in (
            lambda: parametrize.register_parametrization(module, "missing", Half()),  # noqa: B023
            lambda: parametrize.register_parametrization(module, "weight", Half()),  # noqa: B023
            lambda: parametrize.remove_parametrizations(module, "weight"),  # noqa: B023
            lambda: m.nn.utils.parametrizations.orthogonal(module, "bias"),  # noqa: B023
            lambda: m.nn.utils.parametrizations.orthogonal(module, orthogonal_map="other"),  # noqa: B023
            lambda: m.nn.utils.parametrizations.spectral_norm(module, "missing"),  # noqa: B023
            lambda: m.nn.utils.remove_weight_norm(module),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=r"."):
                call()
        parametrize.register_parametrization(module, "weight", Half(), unsafe=True)
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            pickle.dumps(module)


def test_an_older_state_is_loaded():
    module = gradwright.nn.utils.weight_norm(gradwright.nn.Linear(3, 4))
    new = gradwright.nn.utils.parametrizations.weight_norm(gradwright.nn.Linear(3, 4))
    new.load_state_dict(module.state_dict())
    x = gradwright.randn(2, 3)
    np.testing.assert_allclose(new(x).detach().numpy(), module(x).detach().numpy(), rtol=1e-6)


PRUNINGS: dict[str, Callable[[Any, Any], Any]] = {
    "identity": lambda p, c: p.identity(c, "weight"),
    "l1": lambda p, c: p.l1_unstructured(c, "weight", 0.3),
    "l1 count": lambda p, c: p.l1_unstructured(c, "weight", 7),
    "l1 scores": lambda p, c: p.l1_unstructured(c, "weight", 7, importance_scores=-c.weight * c.weight),
    "random": lambda p, c: p.random_unstructured(c, "weight", 0.4),
    "ln": lambda p, c: p.ln_structured(c, "weight", 2, n=2, dim=0),
    "ln other": lambda p, c: p.ln_structured(c, "weight", 0.5, n=1, dim=-2),
    "random channels": lambda p, c: p.random_structured(c, "weight", 2, dim=0),
    "all": lambda p, c: p.l1_unstructured(c, "bias", 1.0),
    "twice": lambda p, c: p.l1_unstructured(p.l1_unstructured(c, "weight", 0.3), "weight", 0.5),
    "channels of the rest": lambda p, c: p.ln_structured(p.ln_structured(c, "weight", 1, 2, 0), "weight", 2, 2, 0),
    "mixed": lambda p, c: p.random_unstructured(p.ln_structured(c, "weight", 1, 2, 1), "weight", 5),
}


@pytest.mark.parametrize("name", PRUNINGS)
def test_pruning(name):
    outcomes = []
    for m in (gradwright, torch):
        m.manual_seed(2)
        prune, module = m.nn.utils.prune, m.nn.Conv1d(3, 4, 3)
        PRUNINGS[name](prune, module)
        x, seen = m.randn(2, 3, 5), [prune.is_pruned(module), list(module.state_dict())]
        y = module(x)
        y.sum().backward()
        seen += [[type(hook).__name__ for hook in module._forward_pre_hooks.values()]]
        seen += [value.tolist() for value in module.state_dict().values()]
        grads = [p.grad.numpy() for p in module.parameters() if p.grad is not None]
        target = "bias" if name == "all" else "weight"
        prune.remove(module, target)
        seen += [prune.is_pruned(module), list(module.state_dict()), getattr(module, target).tolist()]
        outcomes.append((seen, [y.detach().numpy(), *grads, module(x).detach().numpy()]))
    assert outcomes[0][0] == outcomes[1][0]
    for mine, other in zip(outcomes[0][1], outcomes[1][1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_pruning_of_several_parameters():
    outcomes = []
    for m in (gradwright, torch):
        m.manual_seed(2)
        prune = m.nn.utils.prune
        net = m.nn.Sequential(m.nn.Linear(4, 5), m.nn.ReLU(), m.nn.Linear(5, 3))
        places = [(net[0], "weight"), (net[2], "weight")]
        prune.l1_unstructured(net[0], "weight", 2)
        prune.global_unstructured(places, prune.L1Unstructured, amount=0.4)
        mask = prune.L1Unstructured(3).prune(m.arange(6.0))
        outcomes.append([{name: value.tolist() for name, value in net.state_dict().items()}, mask.tolist()])
    assert outcomes[0] == outcomes[1]


def test_what_pruning_refuses():
    for m in (gradwright, torch):
        prune, module = m.nn.utils.prune, m.nn.Linear(3, 3)
        for amount, error in ((-1, ValueError), (1.5, ValueError), (10, ValueError), ("x", TypeError)):
            with pytest.raises(error):
                prune.l1_unstructured(module, "weight", amount)
        with pytest.raises(ValueError, match="multidimensional"):
            prune.ln_structured(module, "bias", 1, 2, 0)
        with pytest.raises(ValueError, match="has to be pruned"):
            prune.remove(module, "weight")
        assert list(module.state_dict()) == ["weight", "bias"] or m is torch


@pytest.mark.parametrize("bias", [True, False])
def test_fusion(bias):
    outcomes = []
    for m in (gradwright, torch):
        m.manual_seed(5)
        seen = []
        for layer, norm, size in (
            (m.nn.Conv2d(3, 4, 3, bias=bias), m.nn.BatchNorm2d(4), (2, 3, 6, 6)),
            (m.nn.ConvTranspose1d(3, 4, 3, bias=bias), m.nn.BatchNorm1d(4), (2, 3, 6)),
            (m.nn.Linear(3, 4, bias=bias), m.nn.BatchNorm1d(4), (5, 3)),
        ):
            x = m.randn(size)
            norm(layer(x))
            with m.no_grad():
                norm.weight.uniform_(0.5, 2)
                norm.bias.uniform_(-1, 1)
            layer.eval()
            norm.eval()
            if isinstance(layer, m.nn.Linear):
                fused = m.nn.utils.fusion.fuse_linear_bn_eval(layer, norm)
            else:
                transposed = isinstance(layer, m.nn.ConvTranspose1d)
                fused = m.nn.utils.fusion.fuse_conv_bn_eval(layer, norm, transpose=transposed)
            np.testing.assert_allclose(fused(x).detach().numpy(), norm(layer(x)).detach().numpy(), rtol=1e-4, atol=1e-5)
            seen += [fused.weight.detach().numpy(), fused.bias.detach().numpy()]
        outcomes.append(seen)
    for mine, other in zip(*outcomes, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_the_rest():
    for m in (gradwright, torch):
        module = m.nn.utils.skip_init(m.nn.Linear, 3, 4, bias=False)
        assert tuple(module.weight.shape) == (4, 3)
        assert module.weight.device.type == "cpu"
        with pytest.raises(RuntimeError, match="Expected a Module"):
            m.nn.utils.skip_init(dict)
        conv = m.nn.utils.convert_conv2d_weight_memory_format(m.nn.Conv2d(3, 4, 2), m.channels_last)
        assert conv.weight.is_contiguous(memory_format=m.channels_last)
        assert conv(m.ones(1, 3, 5, 5)).shape[1] == 4
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            line = m.nn.Linear(2, 2)
            out = m.nn.utils.stateless.functional_call(line, {"weight": m.eye(2), "bias": m.ones(2)}, m.ones(1, 2))
        assert out.tolist() == [[2.0, 2.0]]
        assert [each.category for each in found] == [FutureWarning]
        line(m.ones(1, 2)).sum().backward()
        assert m.nn.utils.clip_grad_norm(line.parameters(), 0.1).item() == pytest.approx(6**0.5)
