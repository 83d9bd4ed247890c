"""Bags of rows of a table and the kinds of dropout, against PyTorch: one expression a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.both import assert_same, with_weights
from support.operator_comparison import OF_OUR_FORMULAS


def names(library: Any) -> dict[str, Any]:
    numbers = np.random.default_rng(3)

    def floats(*shape: int) -> Any:
        return library.tensor(numbers.uniform(-2, 2, shape).tolist(), dtype=library.float64)

    return {
        "w": floats(5, 3).requires_grad_(),
        "s": floats(7).requires_grad_(),
        "x": floats(4, 3).requires_grad_(),
        "x3": floats(2, 3, 4),
        "x4": floats(2, 3, 4, 2),
        "i": library.tensor([1, 4, 0, 2, 2, 3, 1]),
        "i2": library.tensor([[1, 4, 0], [2, 2, 3]]),
        "o": library.tensor([0, 2, 2, 6]),
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
    }


BAGS = """
F.embedding_bag(i, w, o, mode="sum")
F.embedding_bag(i, w, o)
F.embedding_bag(i, w, o, mode="max")
F.embedding_bag(i, w, o, mode="sum", padding_idx=2)
F.embedding_bag(i, w, o, mode="mean", padding_idx=-3)
F.embedding_bag(i, w, o, mode="max", padding_idx=1)
F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s)
F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s, padding_idx=2)
F.embedding_bag(i, w.float(), o, mode="sum").double()
F.embedding_bag(i, w.float(), o, mode="sum", per_sample_weights=s.float()).double()
F.embedding_bag(i2, w)
F.embedding_bag(i2, w, mode="sum", per_sample_weights=s[:6].reshape(2, 3))
F.embedding_bag(i2.int(), w, mode="max")
F.embedding_bag(i, w, torch.tensor([0, 3, 7]), include_last_offset=True, mode="sum")
F.embedding_bag(i[:0], w, o[:1])
F.embedding_bag(i[:0], w, o[:1], mode="max")
F.embedding_bag(i, w, o[:1])
F.embedding_bag(i2[:0], w, mode="sum")
"""
ERRORS = """
F.embedding_bag(i, w)
F.embedding_bag(i, w, i2)
F.embedding_bag(i2, w, o)
F.embedding_bag(i2[None], w)
F.embedding_bag(i, w[0], o)
F.embedding_bag(i, w, o, mode="median")
F.embedding_bag(i, w, o, mode="max", scale_grad_by_freq=True)
F.embedding_bag(i, w, o, mode="max", sparse=True)
F.embedding_bag(i, w, o, mode="mean", per_sample_weights=s)
F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s[:3])
F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s.float())
F.embedding_bag(i, w, o, padding_idx=5)
F.embedding_bag(i, w, o, padding_idx=-6)
F.embedding_bag(i + 1, w, o)
F.embedding_bag(i - 1, w, o)
F.embedding_bag(i.double(), w, o)
F.embedding_bag(i, w.long(), o)
F.embedding_bag(i, w, o + 1)
F.embedding_bag(i, w, torch.tensor([0, 8]))
torch.embedding_bag(w, i, o, False, 3)
nn.EmbeddingBag(3, 2, padding_idx=3)
nn.EmbeddingBag(3, 2, _weight=torch.zeros(2, 3))
nn.EmbeddingBag.from_pretrained(s)
nn.EmbeddingBag(3, 2, padding_idx=-1).padding_idx, nn.EmbeddingBag(3, 2, padding_idx=-1).weight[2]
nn.EmbeddingBag.from_pretrained(w.detach()).weight, nn.EmbeddingBag.from_pretrained(w.detach(), False).weight
repr(nn.EmbeddingBag(3, 2)), repr(nn.EmbeddingBag(3, 2, 1.5, 3, True, "sum", padding_idx=1))
list(nn.EmbeddingBag(3, 2).state_dict())
[n for n in dir(F.embedding_bag(i, w, o).grad_fn) if n.startswith("_saved")]
F.embedding_bag(i, w, o).grad_fn
F.embedding_bag(i, w.detach().clone(), o, max_norm=1.0)
F.dropout1d(x, 0.5, False), F.dropout2d(x4, 0.5, False), F.dropout3d(x4, 0.5, False), F.alpha_dropout(x, 0.5)
F.dropout1d(x, 1.0), F.dropout2d(x4, 1.0), F.dropout3d(x4, 1.0), F.feature_alpha_dropout(x, 1.0, True)
F.alpha_dropout(x, 1.0, True), F.alpha_dropout(x, 0.0, True), F.feature_alpha_dropout(x, 0.3)
F.dropout1d(x[0])
F.dropout1d(x4)
F.dropout1d(x, -0.1)
F.dropout2d(x4, 1.1)
F.dropout3d(x4, 1.1)
F.alpha_dropout(x, 2)
F.feature_alpha_dropout(x, 2)
F.feature_alpha_dropout(x[0], 0.5, True)
torch.feature_dropout(x[0], 0.5, True)
torch.alpha_dropout(x, 1.5, True)
nn.Dropout2d(2)
repr(nn.Dropout1d()), repr(nn.Dropout3d(0.1, True)), repr(nn.AlphaDropout()), repr(nn.FeatureAlphaDropout(0.2))
nn.Dropout1d().eval()(x), nn.AlphaDropout().eval()(x), nn.FeatureAlphaDropout(1.0)(x)
"""


@pytest.mark.parametrize("text", BAGS.strip().splitlines())
def test_bags_and_their_gradients(text: str) -> None:
    def body(library: Any) -> Any:
        found = names(library)
        out = eval(text, found)
        weights = library.linspace(0.5, 1.5, out.numel(), dtype=library.float64).reshape(out.shape)
        return out, library.autograd.grad((out * weights).sum(), [found["w"], found["s"]], allow_unused=True)

    assert_same(body)


@pytest.mark.parametrize("text", ERRORS.strip().splitlines())
def test_errors_and_surroundings(text: str) -> None:
    assert_same(lambda library: eval(text, names(library)))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_the_module(mode: str) -> None:
    def body(library: Any) -> Any:
        found = names(library)
        module = library.nn.EmbeddingBag(5, 3, mode=mode, padding_idx=1, include_last_offset=True)
        module = with_weights(library, module, np.linspace(-1, 2, 15))
        out = module(found["i"], library.tensor([0, 2, 7]))
        out.square().sum().backward()
        return out, module.weight.grad

    assert_same(body)


@OF_OUR_FORMULAS
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_have_second_derivatives(mode: str) -> None:
    found = names(gradwright)
    weights = found["s"] if mode == "sum" else None

    def bags(w: Any, *s: Any) -> Any:
        return gradwright.nn.functional.embedding_bag(
            found["i"], w, found["o"], mode=mode, per_sample_weights=s[0] if s else None, padding_idx=2
        )

    inputs = (found["w"],) if weights is None else (found["w"], weights)
    assert gradwright.autograd.gradcheck(bags, inputs, check_forward_ad=True)
    assert gradwright.autograd.gradgradcheck(bags, inputs)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_by_frequency(mode: str) -> None:
    """As of embedding; PyTorch divides by the frequencies of other rows."""

    def gradients(library: Any) -> tuple[Any, Any]:
        found = names(library)
        bags = library.nn.functional.embedding_bag(found["i2"], found["w"], mode=mode, scale_grad_by_freq=True)
        rows = library.nn.functional.embedding(found["i2"], found["w"], scale_grad_by_freq=True)
        each = getattr(rows, mode)(1)
        return tuple(library.autograd.grad(out.sum(), found["w"])[0].numpy() for out in (bags, each))

    np.testing.assert_allclose(*gradients(gradwright), rtol=1e-12)
    assert abs(np.subtract(*gradients(torch))).max() > 0.1


@pytest.mark.parametrize("name", ["Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"])
def test_channels_are_left_out_as_a_whole(name: str) -> None:
    gradwright.manual_seed(0)
    ndim = {"Dropout1d": 3, "Dropout3d": 5}.get(name, 4)
    x = gradwright.ones(20, 30, *[2] * (ndim - 2), dtype=gradwright.float64, requires_grad=True)
    out = getattr(gradwright.nn, name)(0.25)(x)
    rows = out.detach().numpy().reshape(600, -1)
    assert (rows == rows[:, :1]).all()
    low, high = np.unique(rows)
    assert 0.18 < (rows[:, 0] == low).mean() < 0.32
    (grad,) = gradwright.autograd.grad(out.sum(), x)
    slope = 1 / 0.75 if "Alpha" not in name else 1 / np.sqrt((1.7580993408473766**2 * 0.25 + 1) * 0.75)
    np.testing.assert_allclose(grad.numpy().reshape(600, -1), np.where(rows == high, slope, 0), rtol=1e-12)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    gradwright.manual_seed(0)
    x = gradwright.randn(200, 500, dtype=gradwright.float64)
    out = gradwright.nn.AlphaDropout(0.3)(x).numpy()
    assert abs(out.mean()) < 0.02
    assert abs(out.var() - 1) < 0.02


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"])
def test_dropout_in_place(name: str) -> None:
    x = gradwright.ones(2, 3, 4, *[5] * {"dropout2d": 1, "dropout3d": 2}.get(name, 0))
    function = getattr(gradwright.nn.functional, name)
    assert function(x, 0.5, True, inplace=True) is x
    assert not (x == 1).all()
