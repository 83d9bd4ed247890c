"""Losses as functions and as Modules: values, gradients, names, saved state and errors, one expression a line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.both import assert_same
from support.operator_comparison import OF_OUR_FORMULAS


def names(library: Any) -> dict[str, Any]:
    """Tensors of every kind, the same values in both libraries."""
    numbers = np.random.default_rng(7)

    def floats(*shape: int, low: float = -2, high: float = 2) -> Any:
        return library.tensor(numbers.uniform(low, high, shape).tolist(), dtype=library.float64)

    found = SimpleNamespace(
        x=floats(4, 3).requires_grad_(),
        z=floats(4, 3).requires_grad_(),
        w=floats(4, 3).requires_grad_(),
        v=floats(3).requires_grad_(),
        p=floats(4, 3, low=0.1).requires_grad_(),
        one=floats().requires_grad_(),
        weight=floats(3, low=0.5),
        sign=library.tensor([1, -1, -1, 1]),
        classes=library.tensor([0, 2, 1, 1]),
        labels=library.tensor([[0, 2, -1], [1, -1, 0], [-1, 1, 2], [2, 1, 0]]),
        signs=library.tensor([[1, -1, 1], [-1, -1, 1], [1, 1, 1], [-1, 1, 0]]),
        i=library.tensor([[1, 0, 2], [3, -1, 2], [0, 0, 1], [1, 2, 1]]),
        b=library.tensor([[True, False, True]] * 4),
        lib=library,
        torch=library,
        nn=library.nn,
        F=library.nn.functional,
    )
    return vars(found)


CALLS = """
F.soft_margin_loss(x, z.detach(){R})
F.soft_margin_loss(x, signs{R})
F.multi_margin_loss(x, classes{R})
F.multi_margin_loss(x, classes, p=2, margin=0.3, weight=weight{R})
F.multi_margin_loss(v, torch.tensor(1){R})
F.multi_margin_loss(v, torch.tensor([1]){R})
F.multi_margin_loss(one, torch.tensor(0){R})
F.multilabel_margin_loss(x, labels{R})
F.multilabel_margin_loss(v, labels[0]{R})
F.multilabel_margin_loss(one, torch.tensor(0){R})
F.multilabel_soft_margin_loss(x, b.double(){R})
F.multilabel_soft_margin_loss(x, b.double(), weight{R})
F.multilabel_soft_margin_loss(v, b[0].double(){R})
F.margin_ranking_loss(x, z, signs{R})
F.margin_ranking_loss(x, z, signs, 0.4{R})
F.hinge_embedding_loss(x, signs{R})
F.hinge_embedding_loss(x, signs, 0.7{R})
F.cosine_embedding_loss(x, z, sign{R})
F.cosine_embedding_loss(x, z, sign, 0.2{R})
F.cosine_embedding_loss(v, v * 2 + 1, torch.tensor(1){R})
F.triplet_margin_loss(x, z, w{R})
F.triplet_margin_loss(x, z, w, 2.0, 3, 1e-4, True{R})
F.triplet_margin_with_distance_loss(x, z, w{R})
F.triplet_margin_with_distance_loss(x, z, w, distance_function=lambda a, b: (a - b).abs().sum(-1), swap=True{R})
F.poisson_nll_loss(x, p{R})
F.poisson_nll_loss(p, p, log_input=False, full=True{R})
F.gaussian_nll_loss(x, z, p{R})
F.gaussian_nll_loss(x, z, p[:, :1], full=True{R})
F.gaussian_nll_loss(x, z, p[:, 0]{R})
F.gaussian_nll_loss(x, z, 0.3{R})
F.gaussian_nll_loss(x, z, p, eps=1.0{R})
nn.SoftMarginLoss({r})(x, signs)
nn.MultiMarginLoss(2, 0.5, weight{R})(x, classes)
nn.MultiLabelMarginLoss({r})(x, labels)
nn.MultiLabelSoftMarginLoss(weight{R})(x, b.double())
nn.MarginRankingLoss(0.1{R})(x, z, signs)
nn.HingeEmbeddingLoss(0.8{R})(x, signs)
nn.CosineEmbeddingLoss(0.1{R})(x, z, target=sign)
nn.TripletMarginLoss(swap=True{R})(x, positive=z, negative=w)
nn.TripletMarginWithDistanceLoss(margin=0.5{R})(x, z, w)
nn.PoissonNLLLoss(False, True{R})(p, p)
nn.GaussianNLLLoss(full=True{R})(x, z, p)
"""


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_values_and_gradients(call: str, reduction: str) -> None:
    text = call.replace("{R}", f", reduction={reduction!r}").replace("{r}", f"reduction={reduction!r}")

    def body(library: Any) -> Any:
        found = names(library)
        loss = eval(text, found)
        inputs = [value for name, value in found.items() if name in ("x", "z", "w", "v", "p", "one")]
        weights = library.linspace(0.5, 1.5, loss.numel(), dtype=library.float64).reshape(loss.shape)
        return loss, library.autograd.grad((loss * weights).sum(), inputs, allow_unused=True)

    assert_same(body)


ERRORS = """
F.multi_margin_loss(x, classes, p=3)
F.multi_margin_loss(x, classes, weight=x)
F.multi_margin_loss(x, classes, weight=weight[:2])
F.multi_margin_loss(x, classes.int())
F.multi_margin_loss(x, classes + 1)
F.multi_margin_loss(x, classes[:2])
F.multi_margin_loss(x[None], classes)
F.multi_margin_loss(i, classes)
F.multilabel_margin_loss(x, labels[:1])
F.multilabel_margin_loss(x, labels[0])
F.multilabel_margin_loss(x, labels + 1)
F.multilabel_margin_loss(x, labels.double())
F.multilabel_margin_loss(x[None], labels[None])
F.soft_margin_loss(i, i)
F.soft_margin_loss(v, signs)
F.margin_ranking_loss(x, v, signs)
F.margin_ranking_loss(i, i, i)
F.hinge_embedding_loss(i, i)
F.hinge_embedding_loss(i, i, 0.7, reduction="none")
F.cosine_embedding_loss(x, z, signs)
F.cosine_embedding_loss(x, z, torch.tensor(1))
F.cosine_embedding_loss(i, i, sign)
F.triplet_margin_loss(x, z, v)
F.triplet_margin_loss(x, z, w, margin=0)
F.triplet_margin_loss(i, i, i)
F.triplet_margin_with_distance_loss(x, z, v)
F.triplet_margin_with_distance_loss(x, z, w, margin=-1)
F.gaussian_nll_loss(x, z, -1.0)
F.gaussian_nll_loss(x, z, x)
F.gaussian_nll_loss(x, z, p[:2])
F.gaussian_nll_loss(x, z, p, reduction="mean ")
F.poisson_nll_loss(x, z, reduction="")
F.poisson_nll_loss(i, i)
F.soft_margin_loss(x, z, reduction="all")
F.soft_margin_loss(x, signs, size_average=False)
nn.MultiMarginLoss(p=3)
nn.MultiMarginLoss(weight=x)
nn.TripletMarginLoss(margin=0)
nn.TripletMarginWithDistanceLoss(margin=0)
nn.GaussianNLLLoss(True)
list(nn.MultiMarginLoss(weight=weight).state_dict())
repr(nn.TripletMarginLoss()), repr(nn.TripletMarginWithDistanceLoss()), repr(nn.MultiMarginLoss(2))
[n for n in dir(F.multi_margin_loss(x, classes).grad_fn) if n.startswith("_saved")]
[n for n in dir(F.multilabel_margin_loss(x, labels).grad_fn) if n.startswith("_saved")]
[n for n in dir(F.soft_margin_loss(x, signs).grad_fn) if n.startswith("_saved")]
torch.autograd.grad(F.soft_margin_loss(x, signs), x, create_graph=True)[0].grad_fn
"""


@pytest.mark.parametrize("text", ERRORS.strip().splitlines())
def test_errors_and_surroundings(text: str) -> None:
    assert_same(lambda library: eval(text, names(library)))


@OF_OUR_FORMULAS
def test_soft_margins_far_on_the_wrong_side() -> None:
    """log(1 + exp(800)) is 800; PyTorch computes exp(800)."""
    x = gradwright.tensor([-800.0, 800.0], dtype=gradwright.float64, requires_grad=True)
    loss = gradwright.nn.functional.soft_margin_loss(x, gradwright.ones(2, dtype=gradwright.float64), reduction="none")
    (grad,) = gradwright.autograd.grad(loss.sum(), x, create_graph=True)
    assert loss.tolist() == [800.0, 0.0]
    assert grad.tolist() == [-1.0, 0.0]
    assert gradwright.autograd.grad(grad.sum(), x)[0].tolist() == [0.0, 0.0]
    assert torch.nn.functional.soft_margin_loss(torch.tensor(-800.0), torch.tensor(1.0)).isinf()


@OF_OUR_FORMULAS
def test_poisson_losses_at_zero_have_a_gradient() -> None:
    """Stirling's term does not count up to 1; PyTorch's gradient there is 0 times infinity."""

    def gradient(library: Any) -> Any:
        target = library.tensor([0.0, 0.5, 2.0], dtype=library.float64, requires_grad=True)
        library.nn.functional.poisson_nll_loss(library.zeros_like(target), target, full=True).backward()
        return target.grad.numpy()

    ours, theirs = gradient(gradwright), gradient(torch)
    assert np.isnan(theirs[0])
    assert ours[0] == 0
    np.testing.assert_allclose(ours[1:], theirs[1:], rtol=1e-12)


@OF_OUR_FORMULAS
@pytest.mark.parametrize("p", [1, 2])
def test_losses_of_margins_have_second_derivatives(p: int) -> None:
    x = names(gradwright)["x"]
    classes, labels = names(gradwright)["classes"], names(gradwright)["labels"]
    for loss in (
        lambda x: gradwright.nn.functional.multi_margin_loss(x, classes, p=p),
        lambda x: gradwright.nn.functional.multilabel_margin_loss(x, labels),
    ):
        assert gradwright.autograd.gradcheck(loss, (x,), check_forward_ad=True)
        assert gradwright.autograd.gradgradcheck(loss, (x,))
