"""Gradients of pointwise operators at their special points, against PyTorch's: kinks, ties, zeros, infinities, NaN."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

inf, nan = math.inf, math.nan
Numbers = tuple[float | complex, ...]

# A name for the test, the function of a library's namespace and Tensors, and one row of numbers for each Tensor.
CASES: list[tuple[str, Callable[..., Any], tuple[Numbers, ...]]] = [
    ("abs", lambda t, x: t.abs(x), ((0.0, -0.0, nan, -inf, 2.0),)),
    ("abs-complex", lambda t, x: t.abs(x), ((0j, 3 + 4j, -1j),)),
    ("acos", lambda t, x: t.acos(x), ((1.0, -1.0, 2.0, 0.5),)),
    ("acosh", lambda t, x: t.acosh(x), ((1.0, 0.5, 3.0),)),
    ("angle", lambda t, x: t.angle(x), ((0.0, -1.0, 2.0),)),
    ("angle-complex", lambda t, x: t.angle(x), ((0j, 1 + 2j, -1 - 1j),)),
    ("asin", lambda t, x: t.asin(x), ((1.0, -1.0, 2.0, 0.5),)),
    ("atan2", lambda t, x, y: t.atan2(x, y), ((0.0, 0.0, inf, 1.0, nan), (0.0, -1.0, inf, inf, 1.0))),
    ("clamp", lambda t, x: t.clamp(x, -1.0, 1.0), ((-1.0, 1.0, nan, 0.0, 2.0),)),
    ("clamp-crossed", lambda t, x: t.clamp(x, 2.0, 1.0), ((0.0, 1.0, 1.5, 2.0, 3.0),)),
    ("clamp-nan-min", lambda t, x: t.clamp(x, nan, 1.0), ((0.0, 2.0, nan),)),
    ("clamp-nan-max", lambda t, x: t.clamp(x, 0.0, nan), ((0.0, 2.0, nan),)),
    (
        "clamp-tensors",
        lambda t, x, low, high: t.clamp(x, low, high),
        ((0.0, 1.0, 2.0, 3.0, nan, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0, nan, 3.0), (2.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0)),
    ),
    ("clamp_max", lambda t, x, y: t.clamp_max(x, y), ((0.0, 1.0, nan, 0.0, 2.0), (0.0, 2.0, 0.0, nan, 1.0))),
    ("clamp_min", lambda t, x, y: t.clamp_min(x, y), ((0.0, 1.0, nan, 0.0, 2.0), (0.0, 2.0, 0.0, nan, 1.0))),
    ("copysign", lambda t, x, y: t.copysign(x, y), ((1.0, -2.0, 3.0, 0.0), (-0.0, 3.0, 1.0, 1.0))),
    ("digamma", lambda t, x: t.digamma(x), ((1.0, -0.5, 3.5),)),
    ("div", lambda t, x, y: t.div(x, y), ((0.0, 1.0, inf, 2.0), (0.0, 0.0, inf, 4.0))),
    ("erfinv", lambda t, x: t.erfinv(x), ((1.0, 0.0, -0.5),)),
    ("floor", lambda t, x: t.floor(x), ((1.0, 1.5),)),
    ("fmax", lambda t, x, y: t.fmax(x, y), ((0.0, 1.0, nan, 0.0, 2.0, nan), (0.0, 2.0, 0.0, nan, 1.0, nan))),
    ("fmin", lambda t, x, y: t.fmin(x, y), ((0.0, 1.0, nan, 0.0, 2.0, nan), (0.0, 2.0, 0.0, nan, 1.0, nan))),
    ("fmod", lambda t, x, y: t.fmod(x, y), ((1.0, 7.0, -7.0), (0.0, 2.0, 2.0))),
    ("hypot", lambda t, x, y: t.hypot(x, y), ((0.0, 3.0, 1.0), (0.0, 4.0, nan))),
    ("lgamma", lambda t, x: t.lgamma(x), ((0.0, 0.5, 2.0),)),
    ("log", lambda t, x: t.log(x), ((0.0, 1.0, -1.0),)),
    ("logaddexp", lambda t, x, y: t.logaddexp(x, y), ((inf, 0.0, -inf, 1.0), (0.0, inf, 0.0, 2.0))),
    ("logit", lambda t, x: t.logit(x), ((0.0, 1.0, -1.0, 0.25),)),
    ("logit-eps", lambda t, x: t.logit(x, 0.125), ((0.0, 1.0, 0.125, 0.875, 0.5),)),
    ("maximum", lambda t, x, y: t.maximum(x, y), ((0.0, 1.0, nan, 0.0, 2.0), (0.0, 2.0, 0.0, nan, 1.0))),
    ("minimum", lambda t, x, y: t.minimum(x, y), ((0.0, 1.0, nan, 0.0, 2.0), (0.0, 2.0, 0.0, nan, 1.0))),
    ("nan_to_num", lambda t, x: t.nan_to_num(x), ((nan, inf, 1.0),)),
    ("pow-half", lambda t, x: x**0.5, ((0.0, -1.0, inf, 4.0),)),
    ("pow-one", lambda t, x: x**1, ((0.0, nan, 2.0),)),
    ("pow-two", lambda t, x: x**2, ((0.0, inf, -3.0),)),
    ("pow-zero", lambda t, x: x**0, ((0.0, nan, 2.0),)),
    (
        "pow",
        lambda t, x, y: t.pow(x, y),
        ((0.0, 0.0, 0.0, 0.0, -1.0, 2.0, nan, inf), (0.0, 1.0, 2.0, -1.0, 2.0, 0.0, 0.0, 0.0)),
    ),
    ("pow-of-zero", lambda t, x: t.pow(0.0, x), ((0.0, 1.0, -1.0),)),
    ("pow-of-negative", lambda t, x: t.pow(-2.0, x), ((0.0, 1.0, -1.0),)),
    ("remainder", lambda t, x, y: t.remainder(x, y), ((1.0, 5.0, -5.0), (0.0, 2.0, 3.0))),
    ("rsqrt", lambda t, x: t.rsqrt(x), ((0.0, inf, 4.0),)),
    ("sgn-complex", lambda t, x: t.sgn(x), ((0j, 1 + 2j),)),
    ("sinc", lambda t, x: t.sinc(x), ((0.0, 0.5, 2.0),)),
    ("special_entr", lambda t, x: t.special.entr(x), ((0.0, -1.0, nan, inf, 2.0),)),
    ("special_erfcx", lambda t, x: t.special.erfcx(x), ((0.0, -30.0, nan, -inf, 2.0),)),
    ("i0", lambda t, x: t.i0(x), ((0.0, -0.0, nan, -2.0, 1e-9),)),
    ("special_i0e", lambda t, x: t.special.i0e(x), ((0.0, -0.0, nan, -2.0, 1e-9, inf, -inf, 1e3),)),
    ("special_i1", lambda t, x: t.special.i1(x), ((0.0, -0.0, inf, -2.0, 1e-9, 0.0999, 0.1, -3.0),)),
    ("special_i1e", lambda t, x: t.special.i1e(x), ((0.0, -0.0, inf, -2.0, 1e-9, 0.0999, 0.1, -inf),)),
    ("special_ndtr", lambda t, x: t.special.ndtr(x), ((0.0, -10.0, nan, inf),)),
    ("special_log_ndtr", lambda t, x: t.special.log_ndtr(x), ((0.0, -10.0, nan, inf),)),
    ("special_ndtri", lambda t, x: t.special.ndtri(x), ((0.0, 1.0, nan, -1.0, 0.25, 1e-300),)),
    (
        "special_xlog1py",
        lambda t, x, y: t.special.xlog1py(x, y),
        ((0.0, 0.0, 0.0, 1.0, 0.0, 2.0), (-1.0, -2.0, nan, -1.0, 2.0, -0.5)),
    ),
    ("special_xlog1py-number", lambda t, x: t.special.xlog1py(x, 0.5), ((0.0, 1.0, -2.0),)),
    ("special_xlog1py-of-one", lambda t, x: t.special.xlog1py(x, -1.0), ((0.0, 1.0, -2.0),)),
    ("special_xlog1py-of-zero", lambda t, x: t.special.xlog1py(0.0, x), ((0.0, 1.0, -0.5),)),
    ("special_zeta", lambda t, x: t.special.zeta(2.5, x), ((0.5, 3.0, -0.5, 0.0),)),
    ("igamma", lambda t, x: t.igamma(t.ones_like(x) * 2.5, x), ((0.5, 3.0, 40.0),)),
    ("igammac", lambda t, x: t.igammac(t.ones_like(x) * 2.5, x), ((0.5, 3.0, 40.0),)),
    ("mvlgamma", lambda t, x: t.mvlgamma(x, 3), ((1.25, 3.0, 0.25, -0.75),)),
    ("frexp", lambda t, x: t.frexp(x).mantissa, ((0.0, 3.0, -0.5, 1e9),)),
    ("sqrt", lambda t, x: t.sqrt(x), ((0.0, -1.0, inf, 4.0),)),
    ("where", lambda t, x, y: t.where(x > 0, x, y), ((nan, 1.0), (1.0, inf))),
    ("xlogy", lambda t, x, y: t.xlogy(x, y), ((0.0, 0.0, 0.0, 1.0, 0.0), (0.0, -1.0, nan, 0.0, 2.0))),
]

ACTIVATIONS: list[tuple[str, str, Numbers]] = [
    ("relu", "relu", (0.0, -0.0, nan, -1.0, inf)),
    ("leaky_relu", "leaky_relu", (0.0, nan, -1.0, -inf)),
    ("elu", "elu", (0.0, nan, -1.0, 1000.0, -inf)),
    ("celu", "celu", (0.0, nan, -1.0, 1000.0)),
    ("selu", "selu", (0.0, nan, -1.0, 1000.0)),
    ("hardtanh", "hardtanh", (-1.0, 1.0, nan, 0.0)),
    ("relu6", "relu6", (0.0, 6.0, nan, 3.0)),
    ("hardsigmoid", "hardsigmoid", (-3.0, 3.0, nan, 0.0)),
    ("hardswish", "hardswish", (-3.0, 3.0, nan, 0.0, -4.0, 4.0)),
    ("softplus", "softplus", (19.0, nan, 30.0, 1000.0, -1000.0)),
    ("log_sigmoid", "logsigmoid", (0.0, nan, 1000.0, -1000.0)),
    ("gelu", "gelu", (0.0, nan, inf, 5.0)),
    ("silu", "silu", (0.0, nan, inf, -1000.0)),
    ("mish", "mish", (0.0, 2.0, -1000.0)),
    ("sigmoid", "sigmoid", (1000.0, -1000.0, nan)),
    ("softshrink", "softshrink", (0.5, -0.5, nan, 1.0)),
    ("hardshrink", "hardshrink", (0.5, -0.5, nan, 1.0)),
]


def tensors(library: Any, rows: tuple[Numbers, ...]) -> list[Any]:
    found = []
    for row in rows:
        is_complex = any(isinstance(number, complex) for number in row)
        dtype = library.complex128 if is_complex else library.float64
        found.append(library.tensor(list(row), dtype=dtype, requires_grad=True))
    return found


def gradients(library: Any, output: Any, inputs: list[Any]) -> list[np.ndarray]:
    """The gradients of the sum of `output`, zero where there is none."""
    if output.is_complex():
        output = library.real(output) + library.imag(output) * 2
    found = library.autograd.grad(output.sum(), inputs, allow_unused=True)
    return [np.zeros(x.shape) if g is None else np.array(g.tolist()) for g, x in zip(found, inputs, strict=True)]


@pytest.mark.parametrize(("function", "rows"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_gradient(function: Callable[..., Any], rows: tuple[Numbers, ...]) -> None:
    ours, theirs = tensors(gradwright, rows), tensors(torch, rows)
    mine = gradients(gradwright, function(gradwright, *ours), ours)
    expected = gradients(torch, function(torch, *theirs), theirs)
    for i, (a, b) in enumerate(zip(mine, expected, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12, err_msg=f"gradient {i}")


@pytest.mark.parametrize(("name", "theirs", "row"), [pytest.param(*case, id=case[0]) for case in ACTIVATIONS])
def test_gradient_of_activation(name: str, theirs: str, row: Numbers) -> None:
    ours, other = tensors(gradwright, (row,)), tensors(torch, (row,))
    mine = gradients(gradwright, getattr(gradwright.ops, name)(*ours), ours)
    function = getattr(torch, theirs) if theirs == "sigmoid" else getattr(torch.nn.functional, theirs)
    expected = gradients(torch, function(*other), other)
    np.testing.assert_allclose(mine[0], expected[0], rtol=1e-7, atol=1e-12)


def second(library: Any, function: Callable[..., Any], rows: tuple[Numbers, ...]) -> list[list[Any]]:
    """The gradients of the sum of each first gradient."""
    inputs = tensors(library, rows)
    first = library.autograd.grad(function(library, *inputs).sum(), inputs, create_graph=True)
    found = []
    for gradient in first:
        again = library.autograd.grad(gradient.sum(), inputs, allow_unused=True, retain_graph=True)
        found.append([None if g is None else g.tolist() for g in again])
    return found


def test_sinc_curves_at_zero() -> None:
    """The Taylor series says -pi^2 / 3; a gradient masked at 0 would say 0."""
    ((curvature,),) = second(gradwright, lambda t, x: t.sinc(x), ((0.0, 0.5),))
    np.testing.assert_allclose(curvature[0], -(math.pi**2) / 3)
    np.testing.assert_allclose(curvature[1], second(torch, lambda t, x: t.sinc(x), ((0.0, 0.5),))[0][0][1])


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        pytest.param(lambda t, x: t.relu(x), ((0.0, 1.0, -1.0),), id="relu"),
        pytest.param(lambda t, x: t.celu(x, 2.0), ((1.0, -1.0, 1000.0),), id="celu"),
        pytest.param(lambda t, x: x**3, ((0.0, 1.0, -1.0),), id="pow-three"),
        pytest.param(lambda t, x: t.sqrt(x), ((0.25, 4.0),), id="sqrt"),
        pytest.param(lambda t, x, y: t.pow(x, y), ((2.0, 3.0), (3.0, 0.5)), id="pow"),
        pytest.param(lambda t, x, y: t.atan2(x, y), ((1.0, -2.0), (2.0, 1.0)), id="atan2"),
        pytest.param(lambda t, x, y: x / y, ((1.0, -2.0), (2.0, 1.0)), id="div"),
        pytest.param(lambda t, x, y: t.xlogy(x, y), ((0.5, 2.0), (2.0, 1.0)), id="xlogy"),
    ],
)
def test_second_gradient(function: Callable[..., Any], rows: tuple[Numbers, ...]) -> None:
    mine, expected = second(gradwright, function, rows), second(torch, function, rows)
    for a, b in zip(itertools.chain(*mine), itertools.chain(*expected), strict=True):
        a, b = (np.zeros(len(rows[0])) if g is None else np.array(g) for g in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
