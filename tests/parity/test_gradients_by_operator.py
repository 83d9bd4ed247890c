"""Every operator against PyTorch's of the same name: results, gradients, their gradients, tangents.

Runs on whatever was generated: on this project's formulas, and by `make upstream` on PyTorch's own.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import runtime
from codegen import pipeline
from codegen.paths import project_paths
from codegen.source import Diagnostics
from generated import operators
from generated.registry import OPERATORS
from runtime.registry import OperatorInfo
from runtime.tensor import Tensor
from runtime.testing import Sample, sample_inputs

torch = pytest.importorskip("torch")
# PyTorch's own out= kernels, in second derivatives of losses.
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")]

DTYPES = ("float64", "complex128")
# The stages of a comparison.  Where PyTorch refuses the call itself, there are no others.
STAGES = ("call", "result", "requires_grad", "gradient", "second", "forward")
ON_PYTORCHS_FORMULAS = "GRADWRIGHT_GENERATED" in os.environ

# Where results are not PyTorch's, and why: operator -> stage -> reason.  docs/upstream.md tells of each.  An entry that
# is no longer true fails.
BOTH: dict[str, dict[str, str]] = {}
ON_OWN_FORMULAS: dict[str, dict[str, str]] = {}
ON_THEIR_FORMULAS: dict[str, dict[str, str]] = {}
DEVIATIONS = {**BOTH, **(ON_THEIR_FORMULAS if ON_PYTORCHS_FORMULAS else ON_OWN_FORMULAS)}

# What PyTorch refuses, or has not: there is nothing to compare with.  Strict, too.
REFUSED: dict[str, set[str]] = {}

# Operators of this project alone.
NOT_IN_PYTORCH: frozenset[str] = frozenset()

# Their values are whatever is in memory.
UNINITIALIZED = frozenset(("empty.memory_format", "empty_like", "new_empty"))
# Random only for arguments that no sample gives.
DETERMINISTIC = frozenset(("scaled_dot_product_attention",))

# Samples of operators that are in PyTorch's YAML only, and that `runtime/upstream/` implements for its formulas.
SAMPLES: dict[str, tuple[str, ...]] = {
    "mH": ("T(2, 3, 4)",),
    "trace_backward": ("T(), [3, 4]",),
    "cummaxmin_backward": ("T(3, 4), D(3, 4), I(3, 4), 0",),
    "cumprod_backward": ("T(3, 4), T(3, 4), 1, D(3, 4)",),
    "value_selecting_reduction_backward": ("T(4), 0, I(4), [3, 4], False", "T(3, 1), 1, I(3, 1), [3, 4], True"),
    "index_select_backward": ("T(2, 4), [3, 4], 0, I(2)",),
    "gather_backward": ("T(2, 3), T(3, 4), 0, I(2, 3), False",),
    "masked_select_backward": ("T(4), D(4), B(4)",),
    "masked_scatter_backward": ("T(3, 4), B(3, 4), [12]",),
    "embedding_backward": ("T(5, 2), I(5), 3, -1, False, False", "T(5, 2), I(5), 3, 1, False, False"),
    "linear_backward": ("T(2, 3), T(2, 4), T(4, 3), [True, True, True]",),
    "matmul_backward": ("T(2, 4), T(2, 3), T(3, 4), [True, True]",),
    "elu_backward": ("T(3, 4, complex=False), 1.5, 1.0, 0.5, False, T(3, 4, complex=False)",),
    "silu_backward": ("T(3, 4, complex=False), T(3, 4, complex=False)",),
    "mish_backward": ("T(3, 4, complex=False), T(3, 4, complex=False)",),
    "logit_backward": ("T(3, 4, complex=False), T(3, 4, low=0.1, high=0.9, complex=False), 0.2",),
    "glu_backward": ("T(3, 2, complex=False), T(3, 4, complex=False), 1",),
    "glu_jvp": ("T(3, 2, complex=False), T(3, 4, complex=False), T(3, 4, complex=False), 1",),
    "glu_backward_jvp": (
        "T(3, 4, complex=False), T(3, 2, complex=False), T(3, 4, complex=False), T(3, 2, complex=False), "
        "T(3, 4, complex=False), 1",
    ),
    "hardshrink_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 0.5",),
    "softshrink_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 0.5",),
    "hardsigmoid_backward": ("T(3, 4, complex=False), T(3, 4, low=-4.0, high=4.0, complex=False)",),
    "hardswish_backward": ("T(3, 4, complex=False), T(3, 4, low=-4.0, high=4.0, complex=False)",),
    "hardtanh_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), -1, 1",),
    "leaky_relu_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 0.1, False",),
    "softplus_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 2.0, 1.0",),
    "_unique": ("D(6, complex=False)",),
}


def flat(value: Any) -> Iterator[Any]:
    """The Tensors in a result or in arguments, of either library."""
    if isinstance(value, Tensor | torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with all that is in it changed."""
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change) for item in value)
    return change(value)


def to_torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.tensor(value.detach().numpy(), requires_grad=value.requires_grad)
    if isinstance(value, runtime.dtype):
        return getattr(torch, str(value).rpartition(".")[2])
    return value


def to_numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    return tensor.numpy() if isinstance(tensor, Tensor) else tensor.numpy(force=True)


def numbers(random: np.random.Generator, like: np.ndarray) -> np.ndarray:
    values = random.standard_normal(like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * random.standard_normal(like.shape)
    return np.asarray(values, like.dtype)


class Side:
    """One library's part in a comparison: a call, its inputs, and what comes of it."""

    def __init__(self, library: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]):
        self.library, self.function, self.args, self.kwargs = library, function, args, kwargs
        self.inputs = [t for t in flat([*args, *kwargs.values()]) if t.requires_grad]

    def call(self, tensors: Sequence[Any]) -> list[Any]:
        """The results for other Tensors in the places of the inputs."""
        replacement = {id(old): new for old, new in zip(self.inputs, tensors, strict=True)}

        def replaced(value: Any) -> Any:
            return mapped(value, lambda item: replacement.get(id(item), item))

        kwargs = {name: replaced(value) for name, value in self.kwargs.items()}
        return list(flat([self.function(*replaced(list(self.args)), **kwargs)]))

    def tensor(self, array: np.ndarray) -> Any:
        return self.library.tensor(array, requires_grad=True)

    def gradients(self, outs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """None where nothing flows."""
        return list(self.library.autograd.grad(outs, inputs, cotangents, allow_unused=True, create_graph=True))

    def tangents(self, tangents: Sequence[Any]) -> list[Any]:
        forward_ad = self.library.autograd.forward_ad
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x.detach(), t) for x, t in zip(self.inputs, tangents, strict=True)]
            return [forward_ad.unpack_dual(out).tangent for out in self.call(duals)]


class Comparison:
    """One sample of an operator in both libraries; `only`: the number of the one input that has a gradient."""

    def __init__(self, name: str, ours: Any, theirs: Any, sample: Sample, values: bool, only: int | None = None):
        self.name, self.values = name, values
        self.where = f"{name}({sample.text})" if only is None else f"{name}({sample.text}) for input {only}"
        self.random = np.random.default_rng(zlib.crc32(self.where.encode()))
        arguments = mapped(list(sample.args), lambda item: item), dict(sample.kwargs)
        self.ours = Side(runtime, ours, *arguments)
        self.theirs = Side(torch, theirs, *mapped_arguments(arguments))
        for side in (self.ours, self.theirs):
            for number, tensor in enumerate(side.inputs):
                tensor.requires_grad_(only is None or number == only)
            side.inputs = [tensor for tensor in side.inputs if tensor.requires_grad]
        self.refused: set[str] = set()
        self.deviated: set[str] = set()

    def run(self) -> None:
        theirs = self.ask("call", lambda: self.theirs.call(self.theirs.inputs))
        if theirs is None:
            return
        ours = self.ours.call(self.ours.inputs)
        self.compare("result", ours, theirs)
        self.backward(ours, theirs)
        if self.theirs.inputs:
            tangents = self.random_like(self.theirs.inputs)
            found = self.ask("forward", lambda: self.theirs.tangents(tangents[1]))
            if found is not None:
                self.compare("forward", self.ours.tangents(tangents[0]), found)

    def backward(self, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        requires_grad = [[out.requires_grad for out in outs] for outs in (ours, theirs)]
        self.check("requires_grad", lambda: self.equal(*requires_grad))
        chosen = [i for i, pair in enumerate(zip(*requires_grad, strict=True)) if all(pair)]
        if not chosen:
            return
        outs = [[side[i] for i in chosen] for side in (ours, theirs)]
        cotangents = self.random_like(outs[1])
        inputs = [self.ours.inputs, self.theirs.inputs]
        first = self.gradients("gradient", outs, inputs, cotangents)
        chosen = [i for i, pair in enumerate(zip(*first, strict=True)) if all(g is not None and g.requires_grad for g in pair)]
        if chosen:
            again = [[side[i] for i in chosen] for side in first]
            inputs = [[*i, *c] for i, c in zip(inputs, cotangents, strict=True)]
            self.gradients("second", again, inputs, self.random_like(again[1]))

    def gradients(
        self, stage: str, outs: list[list[Any]], inputs: list[list[Any]], cotangents: list[list[Any]]
    ) -> tuple[list[Any], list[Any]]:
        theirs = self.ask(stage, lambda: self.theirs.gradients(outs[1], inputs[1], cotangents[1]))
        if theirs is None:
            return [], []
        ours = self.ours.gradients(outs[0], inputs[0], cotangents[0])
        self.compare(stage, ours, theirs)
        return ours, theirs

    def ask(self, stage: str, call: Callable[[], Any]) -> Any:
        """What PyTorch says; None where it refuses."""
        try:
            return call()
        except (RuntimeError, ValueError, IndexError) as error:
            self.note(stage, error)
            return None

    def note(self, stage, error):
        print("REFUSED", self.name, stage, str(error).splitlines()[0])
        self.refused.add(stage)

    def random_like(self, tensors: Sequence[Any]) -> list[list[Any]]:
        arrays = [numbers(self.random, to_numpy(tensor)) for tensor in tensors]
        return [[side.tensor(array) for array in arrays] for side in (self.ours, self.theirs)]

    def check(self, stage: str, call: Callable[[], None]) -> None:
        try:
            call()
        except AssertionError:
            if stage not in DEVIATIONS.get(self.name, ()):
                raise
            self.deviated.add(stage)

    def equal(self, ours: Any, theirs: Any) -> None:
        assert ours == theirs, self.where

    def compare(self, stage: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        self.check(stage, lambda: self.compare_tensors(f"{stage} of {self.where}", ours, theirs))

    def compare_tensors(self, where: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        """Shapes, dtypes and values; no gradient is as good as one of zeros."""
        assert len(ours) == len(theirs), where
        for a, b in zip(ours, theirs, strict=True):
            if a is None and b is None:
                continue
            a = np.zeros_like(to_numpy(b)) if a is None else to_numpy(a)
            b = np.zeros_like(a) if b is None else to_numpy(b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype), where
            if self.values:
                rtol = 1e-6 if a.dtype in ("float32", "complex64") else 1e-8
                np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-10, err_msg=where)


def mapped_arguments(arguments: tuple[list[Any], dict[str, Any]]) -> tuple[list[Any], dict[str, Any]]:
    return mapped(arguments[0], to_torch), {name: mapped(value, to_torch) for name, value in arguments[1].items()}


def runtime_operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return consistent(name, getattr(operators, f"{base}_{overload or 'default'}"), runtime.ops)


def torch_operator(name: str) -> Any:
    """`torch.ops.aten.add.Tensor`; None if PyTorch has no such operator."""
    base, _, overload = name.partition(".")
    return consistent(name, getattr(getattr(torch.ops.aten, base, None), overload or "default", None), torch.ops.aten)


def consistent(name: str, function: Any, ops: Any) -> Any:
    """The operator, with those arguments that are results of another operator made by that, as formulas may assume."""

    def native_layer_norm_backward(grad_out: Any, input: Any, shape: Any, mean: Any, rstd: Any, *rest: Any) -> Any:
        _, mean, rstd = ops.native_layer_norm(input, shape, None, None, 0.1)
        found = function(grad_out, input, shape, mean, rstd, *rest)
        # In forward mode PyTorch gives 0-dim zeros for what the mask leaves out.
        return [result for result, wanted in zip(found, rest[-1], strict=True) if wanted]

    def glu_backward_jvp(grad_x: Any, grad_glu: Any, x: Any, dgrad_glu: Any, dx: Any, dim: int) -> Any:
        return function(ops.glu_backward(grad_glu, x, dim), grad_glu, x, dgrad_glu, dx, dim)

    made = {"native_layer_norm_backward": native_layer_norm_backward, "glu_backward_jvp": glu_backward_jvp}
    return made.get(name, function)


def inplace(function: Any) -> Any:
    """An in-place operator on a copy: inputs that require grad must not be written."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self.clone(), *args, **kwargs)

    return call


def with_samples() -> dict[str, OperatorInfo]:
    found = {name: replace(info, samples=info.samples or SAMPLES.get(name, ())) for name, info in OPERATORS.items()}
    return {name: info for name, info in found.items() if info.samples}


TESTED = with_samples()


def compared(info: OperatorInfo, name: str, ours: Any, theirs: Any, samples: Callable[[str], list[Sample]]) -> None:
    refused, deviated = set(), set()
    values = (not info.random or name in DETERMINISTIC) and name not in UNINITIALIZED
    for dtype in DTYPES:
        for number, sample in enumerate(samples(dtype)):
            count = len(sample.tensors())
            if dtype == "complex128" and not count:
                continue  # it was there, in float64
            for only in (None, *(range(count) if count > 1 and dtype == "float64" else ())):
                comparison = Comparison(name, ours, theirs, samples(dtype)[number], values, only)
                comparison.run()
                deviated |= comparison.deviated
                refused |= {stage if dtype == "float64" else f"{stage} {dtype}" for stage in comparison.refused}
    assert refused == REFUSED.get(name, set())
    assert deviated == DEVIATIONS.get(name, {}).keys()


@pytest.mark.parametrize("name", [name for name in TESTED if name not in NOT_IN_PYTORCH])
def test_operator(name: str) -> None:
    info = TESTED[name]
    compared(info, name, getattr(operators, info.function), torch_operator(name), lambda dtype: sample_inputs(info, dtype))
