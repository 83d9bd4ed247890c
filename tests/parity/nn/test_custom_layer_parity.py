"""The example of a custom layer gives the same numbers with PyTorch as its `torch`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from support.documents import ROOT

SOURCE = (ROOT / "examples" / "custom_layer.py").read_text(encoding="utf-8")


def example(library: str) -> Any:
    module = types.ModuleType("example")
    text = SOURCE.replace("import gradwright as torch", f"import {library} as torch").replace(
        "from gradwright", f"from {library}"
    )
    exec(compile(text, "custom_layer.py", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("bias", [True, False])
def test_training(bias: bool) -> None:
    losses = {}
    random = np.random.default_rng(0)
    weights = [random.normal(size=shape).astype("float32") for shape in [(16, 3), (2, 16)]]
    inputs, targets = random.normal(size=(8, 3)).astype("float32"), random.normal(size=(8, 2)).astype("float32")
    for library in ("gradwright", "torch"):
        module = example(library)
        nn, tensor = module.nn, module.torch.tensor
        model = nn.Sequential(module.Linear(3, 16, bias), nn.ReLU(), module.Linear(16, 2, bias))
        with module.torch.no_grad():
            for layer, weight in zip((model[0], model[2]), weights, strict=True):
                layer.weight.copy_(tensor(weight.tolist()))
        losses[library] = module.train(model, tensor(inputs.tolist()), tensor(targets.tolist()))
        losses[library] += model[0].weight.flatten().tolist()
    np.testing.assert_allclose(losses["gradwright"], losses["torch"], rtol=1e-4, atol=1e-5)


def test_initial_weights_have_the_same_spread() -> None:
    spread = {}
    for library in ("gradwright", "torch"):
        module = example(library)
        module.torch.manual_seed(1)
        weight = module.Linear(100, 400).weight
        spread[library] = (weight.abs().max().item(), weight.std().item())
    np.testing.assert_allclose(spread["gradwright"], spread["torch"], rtol=0.02)


def test_a_second_derivative_is_refused() -> None:
    for library in ("gradwright", "torch"):
        module = example(library)
        x = module.torch.ones(2, 3, requires_grad=True)
        out = module.Linear(3, 1)(x)
        start = module.torch.ones(2, 1, requires_grad=True)
        (grad,) = module.torch.autograd.grad(out, x, start, create_graph=True)
        with pytest.raises(RuntimeError, match="twice a function that was marked with @once_differentiable"):
            grad.sum().backward()
