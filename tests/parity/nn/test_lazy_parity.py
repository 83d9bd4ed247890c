"""Lazy Modules, and parameters and buffers without a shape, against PyTorch: one expression a line."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.modules.lazy import LazyModuleMixin as TheirMixin
from torch.nn.parameter import UninitializedTensorMixin as TheirTensorMixin

import gradwright
from gradwright.nn.lazy import LazyModuleMixin
from gradwright.nn.parameter import UninitializedTensorMixin
from support.both import assert_same, with_weights

MODULES = """
nn.LazyLinear(4) | (3, 5)
nn.LazyLinear(4, bias=False) | (2, 3, 5)
nn.LazyConv1d(4, 3) | (2, 6, 7)
nn.LazyConv2d(4, 2, stride=2, padding=1, groups=2) | (2, 6, 5, 5)
nn.LazyConv2d(4, (2, 3), padding="same", padding_mode="circular", bias=False) | (6, 5, 5)
nn.LazyConv3d(2, 2, dilation=2) | (1, 3, 4, 4, 4)
nn.LazyConvTranspose1d(4, 3, 2, output_padding=1) | (2, 6, 4)
nn.LazyConvTranspose2d(4, 2, groups=2) | (2, 6, 3, 3)
nn.LazyConvTranspose3d(2, 2, bias=False) | (1, 3, 2, 2, 2)
nn.LazyBatchNorm1d() | (4, 3)
nn.LazyBatchNorm1d(affine=False) | (4, 3, 2)
nn.LazyBatchNorm2d(momentum=None, bias=False) | (4, 3, 2, 2)
nn.LazyBatchNorm3d(eps=0.1, track_running_stats=False) | (4, 3, 2, 1, 2)
nn.LazyInstanceNorm1d() | (4, 3, 5)
nn.LazyInstanceNorm2d(affine=True) | (4, 3, 2, 2)
nn.LazyInstanceNorm3d(track_running_stats=True, affine=False) | (4, 3, 2, 1, 2)
nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2)) | (3, 5)
"""


def _numbers(library: Any, *shape: int) -> Any:
    values = np.random.default_rng(3).standard_normal(shape)
    return library.tensor(values.tolist(), dtype=library.float64)


def _shown(module: Any) -> Any:
    state = {name: repr(value) if "Uninit" in repr(value) else value for name, value in module.state_dict().items()}
    kinds = [type(value).__name__ for value in (*module.parameters(), *module.buffers())]
    return repr(module), type(module).__name__, state, kinds, len(module._forward_pre_hooks)


@pytest.mark.parametrize("line", MODULES.strip().splitlines())
def test_a_module_is_made_by_its_first_call(line: str) -> None:
    text, _, shape = line.partition("|")

    def body(library: Any) -> Any:
        module = eval(text, {"nn": library.nn}).double()
        before = _shown(module)
        other = eval(text, {"nn": library.nn}).double()
        pickled = pickle.loads(pickle.dumps(module))
        x = _numbers(library, *eval(shape))
        first = module(x).shape
        module = with_weights(library, module, np.random.default_rng(4).standard_normal(2000))
        out = module(x)
        again = other.load_state_dict(module.state_dict())
        made = other.state_dict()
        loaded = None if "Instance" in text else other(x)  # PyTorch forgets the number of channels
        grads = library.autograd.grad(out.square().sum(), list(module.parameters()))
        return before, _shown(pickled), first, _shown(module), out, again, made, loaded, _shown(other)[1:4], grads

    assert_same(body)


def _parameter(library: Any, **given: Any) -> Any:
    return library.nn.parameter.UninitializedParameter(**given)


def _buffer(library: Any, **given: Any) -> Any:
    return library.nn.parameter.UninitializedBuffer(**given)


def _materialized(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    tensor.materialize(*args, **kwargs)
    mark = getattr(tensor, "_is_buffer", None), tensor.is_leaf
    return type(tensor).__name__, tuple(tensor.shape), str(tensor.dtype)[-7:], tensor.requires_grad, mark


def _mixed(library: Any, initialize: Any = None) -> Any:
    class Made(TheirMixin if library is torch else LazyModuleMixin, library.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = _parameter(library)
            self.kept = _buffer(library)

        def forward(self, x: Any) -> Any:
            return x * self.w + self.kept

        if initialize is not None:

            def initialize_parameters(self, x: Any) -> None:
                initialize(self, x)

    return Made()


def _fill(module: Any, x: Any) -> None:
    module.w.materialize(x.shape[-1:])
    module.kept.materialize(x.shape[-1:])
    module.w.data.fill_(2.0)
    module.kept.fill_(3.0)


def _loaded(into: Any, state: Any, x: Any, **given: Any) -> Any:
    result = into.load_state_dict(state, **given)
    return result, repr(into), into(x), repr(into)


SURFACE = """
repr(p()), repr(b()), p().requires_grad, b().requires_grad, p(requires_grad=False).requires_grad
isinstance(p(), lib.nn.Parameter), isinstance(b(), lib.nn.Buffer), b(persistent=False).persistent
lib.nn.parameter.is_lazy(p()), lib.nn.parameter.is_lazy(b()), lib.nn.parameter.is_lazy(x)
isinstance(p(), mixin), isinstance(b(), mixin), lib.nn.UninitializedParameter is lib.nn.parameter.UninitializedParameter
p().size(), p().is_leaf, p().grad, p().ndim
p(dtype=lib.float64).dtype == lib.float64, str(p().device), repr(copy.deepcopy(p()))
repr(pickle.loads(pickle.dumps(p()))), hash(p()) is not None
made(p(), (2, 3)), made(p(requires_grad=False), [2], dtype=lib.float64), made(b(), (3,)), made(p(dtype=lib.float64), ())
p().double().dtype == lib.float64
p().shape
b().shape
p() + 1
1 * p()
p() == p()
p()[0]
p().numel()
p().dim()
p().sum()
len(p())
bool(p())
p().tolist()
p().item()
p().detach()
p().clone()
p().zero_()
p().share_memory_()
lib.sum(p())
lib.cat([x, b()])
lib.nn.functional.linear(x, p())
x @ b()
lib.nn.init.ones_(p())
lib.nn.utils.parameters_to_vector([p()])
lib.nn.LazyLinear(3).forward(x)
lib.nn.LazyLinear(3).initialize_parameters
lib.nn.LazyLinear(3).has_uninitialized_params(), lib.nn.LazyLinear(3).cls_to_become is lib.nn.Linear
lib.nn.LazyConv2d(3, 2)(x)
lib.nn.LazyConv2d(4, 2, groups=4)(lib.zeros(1, 6, 4, 4))
lib.nn.LazyConv2d(4, 2, padding_mode="none")
lib.nn.LazyConvTranspose2d(4, 2, padding_mode="reflect")
lib.nn.LazyBatchNorm2d()(x)
lib.nn.LazyInstanceNorm1d()(x[0])
lib.nn.LazyLinear(3)()
loaded(lib.nn.LazyLinear(3), lib.nn.Linear(5, 3).double().state_dict(), x)[:2]
loaded(lib.nn.LazyLinear(3), {"weight": lib.ones(3, 5), "bias": lib.ones(3)}, x.float())
loaded(lib.nn.LazyLinear(3), {"weight": lib.ones(3, 5), "bias": lib.ones(3)}, x.float(), assign=True)
loaded(lib.nn.LazyLinear(3), {"weight": lib.ones(3, 5)}, x.float())
loaded(lib.nn.LazyLinear(3), {"weight": lib.ones(3, 5), "bias": lib.ones(3)}, x.float()[:, :2])
loaded(lib.nn.LazyLinear(3), lib.nn.LazyLinear(3).state_dict(), x.float())[:2]
lib.nn.Linear(5, 3).load_state_dict(lib.nn.LazyLinear(3).state_dict())
loaded(lib.nn.LazyBatchNorm1d(), lib.nn.BatchNorm1d(5).state_dict(), x.float())[2]
mixed(lib)(x)
mixed(lib, lambda module, x: None)(x)
mixed(lib, fill)(x.float()), type(mixed(lib, fill)).__name__
mixed(lib, fill).state_dict().keys()
"""


@pytest.mark.parametrize("text", SURFACE.strip().splitlines())
def test_surface(text: str) -> None:
    def body(library: Any) -> Any:
        found = eval(
            text,
            {
                "lib": library,
                "p": lambda **given: _parameter(library, **given),
                "b": lambda **given: _buffer(library, **given),
                "x": _numbers(library, 4, 5),
                "mixin": TheirTensorMixin if library is torch else UninitializedTensorMixin,
                "made": _materialized,
                "mixed": _mixed,
                "loaded": _loaded,
                "fill": _fill,
                "copy": copy,
                "pickle": pickle,
            },
        )
        return None if callable(found) else found

    assert_same(body)


def test_what_was_loaded_has_its_channels() -> None:
    """PyTorch's normalizations have none after it, and refuse their input."""

    def loaded(library: Any) -> Any:
        module = library.nn.LazyInstanceNorm1d(affine=True)
        module.load_state_dict(library.nn.InstanceNorm1d(3, affine=True, track_running_stats=True).state_dict())
        return module(library.zeros(2, 3, 4)), module.num_features

    assert loaded(gradwright)[1] == 3
    with pytest.raises(ValueError, match="num_features"):
        loaded(torch)


def test_copies_without_a_shape() -> None:
    """PyTorch copies uninitialized parameters, but no buffers."""
    module = copy.deepcopy(gradwright.nn.Sequential(gradwright.nn.LazyBatchNorm1d(dtype=gradwright.float64)))
    assert module[0].running_mean.dtype is gradwright.float64
    assert module(gradwright.ones(2, 3, dtype=gradwright.float64)).shape == (2, 3)
    assert repr(module[0]).startswith("BatchNorm1d(3, ")
    with pytest.raises(ValueError, match="uninitialized parameter"):
        copy.deepcopy(torch.nn.LazyBatchNorm1d())


def test_a_lazy_module_trains() -> None:
    """Made, converted, given to an optimizer after its first call, and trained."""
    module = gradwright.nn.Sequential(
        gradwright.nn.LazyLinear(8), gradwright.nn.LazyBatchNorm1d(), gradwright.nn.LazyLinear(1)
    )
    module = module.double()
    x, y = gradwright.randn(64, 3, dtype=gradwright.float64), gradwright.randn(64, 1, dtype=gradwright.float64)
    module(x)
    optimizer = gradwright.optim.SGD(module.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (module(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_a_frozen_module_stays_frozen() -> None:
    """`requires_grad_` is about no values, and holds for what is made; PyTorch refuses it."""
    module = gradwright.nn.LazyLinear(3).requires_grad_(False)
    module(gradwright.zeros(2, 5))
    assert not any(parameter.requires_grad for parameter in module.parameters())
    with pytest.raises(ValueError, match="uninitialized parameter"):
        torch.nn.LazyLinear(3).requires_grad_(False)
