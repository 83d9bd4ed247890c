"""The pointwise kernels against PyTorch: values, dtypes, special numbers, shapes and memory layouts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from generated import kernels
from runtime.operators.kernels import activation, arithmetic, comparison, exponential, special, trigonometric
from runtime.operators.kernels import complex as complex_kernels

Case = tuple[str, Callable[..., Any], Callable[..., Any], str]

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 1.5, 0.1, 3.0, -3.0, 6.5, -7.25, 25.0, np.inf, -np.inf, np.nan]
DTYPES = {"f": np.float32, "d": np.float64, "c": np.complex128, "i": np.int64, "b": np.bool_}


def values(kind: str) -> np.ndarray:
    """Numbers of one dtype; the complex ones are finite, as the two libraries differ in signs of infinite parts."""
    if kind == "c":
        parts = np.array([-2.5, -0.7, -0.2, 0.3, 0.8, 1.9])
        return (parts[:, None] + 1j * parts).ravel()
    if kind == "i":
        return np.array([-7, -3, -1, 1, 2, 3, 5, 8], np.int64)
    if kind == "b":
        return np.array([True, False, True])
    return np.array(SPECIAL, DTYPES[kind])


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(np.array(array))


def check(ours: Any, theirs: Any, rtol: float | None = None) -> None:
    ours = np.asarray(ours)
    expected = theirs.numpy()
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    loose = expected.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(ours, expected, rtol=rtol or (2e-5 if loose else 1e-11), atol=1e-6 if loose else 1e-13)


def compare(kernel: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any, rtol: float | None = None) -> None:
    before = [np.array(array) for array in arrays]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        check(kernel(*arrays), theirs(*[tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]), rtol)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def layouts(array: np.ndarray) -> list[np.ndarray]:
    """The numbers as they are, as a strided and a transposed array, a 0-dim one, and none of them."""
    even = array[: len(array) // 2 * 2]
    return [array, np.repeat(array, 2)[::2], even.reshape(2, -1).T, np.array(array[0]), array[:0].reshape(0, 3)]


functional = torch.nn.functional

UNARY: list[Case] = [
    ("neg", arithmetic.neg, torch.neg, "fdci"),
    ("reciprocal", arithmetic.reciprocal, torch.reciprocal, "fdc"),
    ("deg2rad", kernels.deg2rad_default, torch.deg2rad, "fd"),
    ("rad2deg", kernels.rad2deg_default, torch.rad2deg, "fd"),
    ("floor", arithmetic.floor, torch.floor, "fdi"),
    ("ceil", arithmetic.ceil, torch.ceil, "fdi"),
    ("trunc", arithmetic.trunc, torch.trunc, "fdi"),
    ("frac", kernels.frac_default, torch.frac, "fd"),
    ("round", arithmetic.round_half_even, torch.round, "fdi"),
    ("exp", exponential.exp, torch.exp, "fdc"),
    ("exp2", exponential.exp2, torch.exp2, "fdc"),
    ("expm1", exponential.expm1, torch.expm1, "fdc"),
    ("log", exponential.log, torch.log, "fdc"),
    ("log2", exponential.log2, torch.log2, "fdc"),
    ("log10", exponential.log10, torch.log10, "fdc"),
    ("log1p", exponential.log1p, torch.log1p, "fdc"),
    ("sqrt", exponential.sqrt, torch.sqrt, "fdc"),
    ("rsqrt", kernels.rsqrt_default, torch.rsqrt, "fdc"),
    ("sin", trigonometric.sin, torch.sin, "fdc"),
    ("cos", trigonometric.cos, torch.cos, "fdc"),
    ("tan", trigonometric.tan, torch.tan, "fdc"),
    ("asin", trigonometric.asin, torch.asin, "fdc"),
    ("acos", trigonometric.acos, torch.acos, "fdc"),
    ("atan", trigonometric.atan, torch.atan, "fdc"),
    ("sinh", trigonometric.sinh, torch.sinh, "fdc"),
    ("cosh", trigonometric.cosh, torch.cosh, "fdc"),
    ("tanh", trigonometric.tanh, torch.tanh, "fdc"),
    ("asinh", trigonometric.asinh, torch.asinh, "fdc"),
    ("acosh", trigonometric.acosh, torch.acosh, "fdc"),
    ("atanh", trigonometric.atanh, torch.atanh, "fdc"),
    ("erf", special.erf, torch.erf, "fd"),
    ("erfc", special.erfc, torch.erfc, "fd"),
    ("erfinv", special.erfinv, torch.erfinv, "fd"),
    ("lgamma", special.lgamma, torch.lgamma, "fd"),
    ("digamma", special.digamma, torch.digamma, "fd"),
    ("i0", special.i0, torch.i0, "fd"),
    ("special_i0e", special.special_i0e, torch.special.i0e, "fd"),
    ("special_i1", special.special_i1, torch.special.i1, "fd"),
    ("special_i1e", special.special_i1e, torch.special.i1e, "fd"),
    ("special_entr", kernels.special_entr_default, torch.special.entr, "fd"),
    ("special_erfcx", special.special_erfcx, torch.special.erfcx, "fd"),
    ("special_log_ndtr", special.special_log_ndtr, torch.special.log_ndtr, "fd"),
    ("special_ndtri", special.special_ndtri, torch.special.ndtri, "fd"),
    ("abs", complex_kernels.magnitude, torch.abs, "fdci"),
    ("sgn", complex_kernels.sgn, torch.sgn, "fdcib"),
    ("sign", complex_kernels.sign, torch.sign, "fdib"),
    ("signbit", complex_kernels.signbit, torch.signbit, "fdib"),
    ("angle", complex_kernels.angle, torch.angle, "fdc"),
    ("conj_physical", complex_kernels.conjugate, torch.conj_physical, "fdci"),
    ("isnan", comparison.isnan, torch.isnan, "fdcib"),
    ("isinf", comparison.isinf, torch.isinf, "fdcib"),
    ("isfinite", comparison.isfinite, torch.isfinite, "fdcib"),
    ("isposinf", kernels.isposinf_default, torch.isposinf, "fdib"),
    ("isneginf", kernels.isneginf_default, torch.isneginf, "fdib"),
    ("logical_not", comparison.logical_not, torch.logical_not, "fdcib"),
    ("bitwise_not", comparison.bitwise_not, torch.bitwise_not, "ib"),
    ("nan_to_num", comparison.nan_to_num, torch.nan_to_num, "fdcib"),
    ("relu", kernels.relu_default, torch.relu, "fdi"),
    ("leaky_relu", kernels.leaky_relu_default, functional.leaky_relu, "fd"),
    ("elu", kernels.elu_default, functional.elu, "fd"),
    ("sigmoid", kernels.sigmoid_default, torch.sigmoid, "fdc"),
    ("log_sigmoid", kernels.log_sigmoid_default, functional.logsigmoid, "fd"),
    ("gelu", kernels.gelu_default, functional.gelu, "d"),
    ("silu", kernels.silu_default, functional.silu, "fdc"),
    ("mish", kernels.mish_default, functional.mish, "fd"),
    ("softplus", kernels.softplus_default, functional.softplus, "fd"),
    ("hardtanh", activation.hardtanh, functional.hardtanh, "fdi"),
    ("hardsigmoid", kernels.hardsigmoid_default, functional.hardsigmoid, "fd"),
    ("hardswish", kernels.hardswish_default, functional.hardswish, "fd"),
    ("softshrink", kernels.softshrink_default, functional.softshrink, "fd"),
    ("hardshrink", kernels.hardshrink_default, functional.hardshrink, "fd"),
    ("sinc", kernels.sinc_default, torch.sinc, "fdc"),
    ("logit", kernels.logit_default, torch.logit, "fd"),
]

BINARY: list[Case] = [
    ("add", arithmetic.add, torch.add, "fdcib"),
    ("sub", arithmetic.sub, torch.sub, "fdci"),
    ("rsub", kernels.rsub_Tensor, torch.rsub, "fdci"),
    ("mul", arithmetic.mul, torch.mul, "fdcib"),
    ("div", arithmetic.div, torch.div, "fdc"),
    ("floor_divide", arithmetic.floor_divide, torch.floor_divide, "fdi"),
    ("fmod", arithmetic.fmod, torch.fmod, "fdi"),
    ("remainder", arithmetic.remainder, torch.remainder, "fdi"),
    ("hypot", arithmetic.hypot, torch.hypot, "fd"),
    ("copysign", arithmetic.copysign, torch.copysign, "fd"),
    ("ldexp", kernels.ldexp_Tensor, torch.ldexp, "fd"),
    ("gcd", arithmetic.gcd, torch.gcd, "i"),
    ("lcm", arithmetic.lcm, torch.lcm, "i"),
    ("logaddexp", exponential.logaddexp, torch.logaddexp, "fd"),
    ("logaddexp2", exponential.logaddexp2, torch.logaddexp2, "fd"),
    ("xlogy", kernels.xlogy_Tensor, torch.xlogy, "fd"),
    ("pow", exponential.pow_tensor_tensor, torch.pow, "fdci"),
    ("atan2", trigonometric.atan2, torch.atan2, "fd"),
    ("eq", comparison.eq, torch.eq, "fdcib"),
    ("ne", comparison.ne, torch.ne, "fdcib"),
    ("lt", comparison.lt, torch.lt, "fdib"),
    ("le", comparison.le, torch.le, "fdib"),
    ("gt", comparison.gt, torch.gt, "fdib"),
    ("ge", comparison.ge, torch.ge, "fdib"),
    ("maximum", comparison.maximum, torch.maximum, "fdib"),
    ("minimum", comparison.minimum, torch.minimum, "fdib"),
    ("fmax", comparison.fmax, torch.fmax, "fdib"),
    ("fmin", comparison.fmin, torch.fmin, "fdib"),
    ("logical_and", comparison.logical_and, torch.logical_and, "fdcib"),
    ("logical_or", comparison.logical_or, torch.logical_or, "fdcib"),
    ("logical_xor", comparison.logical_xor, torch.logical_xor, "fdcib"),
    ("bitwise_and", comparison.bitwise_and, torch.bitwise_and, "ib"),
    ("bitwise_or", comparison.bitwise_or, torch.bitwise_or, "ib"),
    ("bitwise_xor", comparison.bitwise_xor, torch.bitwise_xor, "ib"),
    ("heaviside", kernels.heaviside_default, torch.heaviside, "fdi"),
    ("lerp", kernels.lerp_Scalar, lambda a, b: torch.lerp(a, b, 0.5), "fd"),
]

# Kernel, PyTorch's function, and the arguments after the first array.
WITH_NUMBERS: list[tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...], str]] = [
    *[("pow", exponential.pow_tensor_scalar, torch.pow, (p,), "fdc") for p in (0, 1, 2, 3, -1, -2, 1.5, 0.5, -0.5)],
    *[("pow", exponential.pow_tensor_scalar, torch.pow, (p,), "i") for p in (0, 1, 2, 3, 5)],
    *[
        ("clamp", kernels.clamp_default, torch.clamp, pair, "fd")
        for pair in ((-1, 1.5), (None, 1), (0.5, None), (2, -1))
    ],
    ("clamp", kernels.clamp_default, torch.clamp, (np.nan, 1.0), "fd"),
    ("clamp", kernels.clamp_default, torch.clamp, (-2, 3), "i"),
    ("clamp_min", comparison.clamp_min, torch.clamp_min, (0.5,), "fd"),
    ("clamp_max", comparison.clamp_max, torch.clamp_max, (0.5,), "fd"),
    ("nan_to_num", comparison.nan_to_num, torch.nan_to_num, (1.0, 2.0, 3.0), "fd"),
    ("threshold", kernels.threshold_default, functional.threshold, (0.5, 2), "fdi"),
    ("leaky_relu", kernels.leaky_relu_default, functional.leaky_relu, (-0.5,), "fd"),
    ("leaky_relu", kernels.leaky_relu_default, functional.leaky_relu, (2.0,), "fd"),
    ("elu", kernels.elu_default, torch._C._nn.elu, (1.5, 2.0, 0.5), "fd"),
    ("softplus", kernels.softplus_default, functional.softplus, (2.0, 1.0), "fd"),
    ("hardtanh", activation.hardtanh, functional.hardtanh, (-0.5, 0.3), "fd"),
    ("gelu", kernels.gelu_default, lambda x, a: functional.gelu(x, approximate=a), ("tanh",), "fd"),
    ("logit", kernels.logit_default, torch.logit, (0.1,), "fd"),
    ("round", arithmetic.round_decimals, lambda x, d: torch.round(x, decimals=d), (1,), "fd"),
    ("round", arithmetic.round_decimals, lambda x, d: torch.round(x, decimals=d), (-1,), "fd"),
    ("add", arithmetic.add, torch.add, (2,), "fdci"),
    ("div", arithmetic.div, torch.div, (2,), "fdc"),
    ("remainder", arithmetic.remainder, torch.remainder, (-2.5,), "fd"),
    ("fmod", arithmetic.fmod, torch.fmod, (3,), "fdi"),
    ("eq", comparison.eq, torch.eq, (1,), "fdcib"),
    ("lt", comparison.lt, torch.lt, (0.5,), "fd"),
    ("xlogy", kernels.xlogy_Scalar_Other, torch.xlogy, (0.5,), "fd"),
]


def spread(cases: list[Any]) -> list[Any]:
    """One parameter set for each dtype of each case."""
    return [
        pytest.param(*case[1:-1], kind, id=f"{case[0]}{list(case[3]) if len(case) == 5 else ''}-{kind}")
        for case in cases
        for kind in case[-1]
    ]


@pytest.mark.parametrize(("kernel", "theirs", "kind"), spread(UNARY))
def test_unary(kernel: Callable[..., Any], theirs: Callable[..., Any], kind: str) -> None:
    for array in layouts(values(kind)):
        compare(kernel, theirs, array)


@pytest.mark.parametrize(("kernel", "theirs", "kind"), spread(BINARY))
def test_binary(kernel: Callable[..., Any], theirs: Callable[..., Any], kind: str) -> None:
    numbers = values(kind)
    if kernel is kernels.lerp_Scalar:
        compare(lambda a, b: kernel(a, b, 0.5), theirs, numbers[:, None], numbers)
        return
    compare(kernel, theirs, numbers[:, None], numbers)
    compare(kernel, theirs, np.array(numbers[-1]), numbers)
    compare(kernel, theirs, np.array(numbers[0]), np.array(numbers[1]))
    compare(kernel, theirs, numbers[:0], numbers[:1])


@pytest.mark.parametrize(("kernel", "theirs", "numbers", "kind"), spread(WITH_NUMBERS))
def test_with_numbers(kernel: Callable[..., Any], theirs: Callable[..., Any], numbers: Any, kind: str) -> None:
    for array in layouts(values(kind)):
        compare(kernel, theirs, array, *numbers)


@pytest.mark.parametrize("kind", "fd")
def test_three_arrays(kind: str) -> None:
    a = values(kind)
    b, c = a[:, None], a[::-1].copy()
    compare(kernels.addcmul_default, torch.addcmul, a, b, c)
    compare(kernels.addcdiv_default, torch.addcdiv, a, b, c)
    compare(
        lambda x, y, z: kernels.addcmul_default(x, y, z, 2), lambda x, y, z: torch.addcmul(x, y, z, value=2), a, b, c
    )
    compare(kernels.lerp_Tensor, torch.lerp, a[:15], b[:15], c[3:])
    compare(kernels.clamp_Tensor, torch.clamp, a, b, c[:, None])
    compare(comparison.where, torch.where, a > 0, b, c)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_polygamma(n: int) -> None:
    x = np.array([0.1, 0.5, 1.0, 2.5, 7.0, -0.5, -1.5])
    compare(lambda a: special.polygamma(n, a), lambda a: torch.polygamma(n, a), x, rtol=1e-8)


def test_gelu_in_single_precision() -> None:
    """PyTorch's is an approximation there, and differs at infinity from its own in double precision."""
    compare(kernels.gelu_default, functional.gelu, values("f")[:15], rtol=1e-3)


def test_parts_of_complex_numbers() -> None:
    a, b = values("d")[:15], values("d")[:15, None]
    compare(complex_kernels.complex_, torch.complex, a, b)
    compare(kernels.polar_default, torch.polar, a, b)


def test_equal() -> None:
    a = np.array([1.0, 2.0])
    assert comparison.equal(a, a) is True
    assert comparison.equal(a, a[:1]) is False
    assert comparison.equal(np.array(np.nan), np.array(np.nan)) is False


@pytest.mark.parametrize(
    ("kernel", "theirs", "arguments"),
    [
        (arithmetic.sub, torch.sub, (np.array([True]), np.array([True]))),
        (arithmetic.floor_divide, torch.floor_divide, (np.array([1]), np.array([0]))),
        (arithmetic.remainder, torch.remainder, (np.array([1]), 0)),
        (arithmetic.fmod, torch.fmod, (np.array([1]), 0)),
        (exponential.pow_tensor_scalar, torch.pow, (np.array([2]), -1)),
        (kernels.clamp_default, torch.clamp, (np.array([1.0]),)),
        (comparison.where, torch.where, (np.array([1]), np.array([1]), np.array([2]))),
    ],
)
def test_errors(kernel: Callable[..., Any], theirs: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    given = [tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with pytest.raises(RuntimeError) as error:
        theirs(*given)
    with pytest.raises(RuntimeError) as mine:
        kernel(*arguments)
    assert issubclass(mine.type, error.type) or issubclass(error.type, mine.type)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex128, np.int64])
def test_selection_of_large_arrays(dtype: type) -> None:
    """Large arrays are chosen from by their bits: every special number has to come through unchanged."""
    random = np.random.default_rng(0)
    numbers = np.array([0, 1, -2] if dtype is np.int64 else SPECIAL)
    a, b = (random.choice(numbers, (80, 90)).astype(dtype) for _ in range(2))
    condition = random.random((80, 90)) < 0.5
    for chosen, other in ((a, b), (a, b.T.copy().T), (a[:, :1], b), (a[0, 0].reshape(()), b[:, :1])):
        ours = comparison.where(condition, chosen, other)
        assert ours.tobytes() == np.where(condition, chosen, other).astype(dtype).tobytes()
    zero = np.zeros((), dtype)
    np.testing.assert_array_equal(comparison.where(condition, a, 0), np.where(condition, a, zero))
    np.testing.assert_array_equal(comparison.where(condition, 0, a), np.where(condition, zero, a))
    np.testing.assert_array_equal(
        comparison.where(condition.T, a[:1, :1], 2), np.where(condition.T, a[:1, :1], dtype(2))
    )


def test_threshold_backward_of_a_large_array() -> None:
    random = np.random.default_rng(0)
    grad, x = (random.choice(np.array(SPECIAL, np.float32), (70, 80)) for _ in range(2))
    for threshold in (0, 0.5):
        compare(
            lambda g, a, t=threshold: kernels.threshold_backward_default(g, a, t),
            lambda g, a, t=threshold: torch.ops.aten.threshold_backward(g, a, t),
            grad,
            x,
        )
