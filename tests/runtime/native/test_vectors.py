"""Functions of vectors.hpp against longer numbers: how far they are off, at the ends too, on each processor."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import gradwright
from gradwright.nn import functional as F
from runtime import native
from support.documents import ROOT
from support.native_core import NO_CORE

if not native.is_available():
    pytest.skip(NO_CORE, allow_module_level=True)

Array = np.ndarray[Any, Any]
Long = np.longdouble
longer = pytest.mark.skipif(np.finfo(Long).nmant <= 52, reason="no numbers longer than double here")

SPECIAL = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    5e-324,
    -5e-324,
    1,
    -1,
    88.7,
    88.72283,  # the last one whose exponential is finite in single precision
    88.72284,
    -49.99999,
    -50.00001,
    -87.5,
    -103.5,
    -103.97,
    -104.1,
    709.7,
    -745,
    1e38,
)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def by_doubles(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function of SciPy's, which has no longer numbers."""
    return lambda x: function(x.astype(np.float64))


def trigamma(x: Array) -> Array:
    """By reflection for negative numbers, of which SciPy's is another function."""
    reflected = np.square(np.pi / np.sin(np.pi * (x - np.round(x)))) - special.zeta(2, 1 - x)
    return np.where(x < 0, reflected, special.zeta(2, np.abs(x)))


# By name: the function, the same of longer numbers, the range that is looked at closely, and how far off it may be.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array], float, float, float]] = {
    "expm1": (gradwright.expm1, np.expm1, -2, 2, 1.5),
    "log1p": (gradwright.log1p, np.log1p, -1, 3, 1),
    "sigmoid": (gradwright.sigmoid, sigmoid, -80, 80, 2),
    "silu": (F.silu, lambda x: x * sigmoid(x), -80, 80, 2.5),
    "softplus": (F.softplus, lambda x: np.where(x > 20, x, softplus(x)), -20, 20, 2),
    "log_sigmoid": (F.logsigmoid, lambda x: -softplus(-x), -80, 80, 2),
    "elu": (F.elu, lambda x: np.maximum(x, 0) + np.expm1(np.minimum(x, 0)), -20, 20, 1.5),
}
DOUBLE = {
    "exp": (gradwright.exp, np.exp, -20.0, 20.0, 1.0),
    "log": (gradwright.log, np.log, 0.0, 3.0, 1.0),
    "sin": (gradwright.sin, np.sin, -30_000.0, 30_000.0, 1.0),
    "cos": (gradwright.cos, np.cos, -30_000.0, 30_000.0, 1.0),
}
SINGLE = {
    "exp": (gradwright.exp, np.exp, -104.0, 89.0, 1.2),
    "mish": (F.mish, lambda x: x * np.tanh(softplus(x)), -20.0, 20.0, 1.0),
}
# Of single precision they are computed in double precision, and SciPy's in double precision is exact enough.
OF_DOUBLES: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array], float, float, float]] = {
    "lgamma": (
        gradwright.lgamma,
        by_doubles(lambda x: special.gammaln(np.where(np.isinf(x), np.inf, x))),
        -12.0,
        12.0,
        0.7,
    ),
    "digamma": (gradwright.digamma, by_doubles(special.digamma), -12.0, 12.0, 0.7),
    "trigamma": (lambda x: gradwright.polygamma(1, x), by_doubles(trigamma), -12.0, 12.0, 0.7),
    "i0": (gradwright.i0, by_doubles(special.i0), -90.0, 90.0, 0.7),
    "i1": (gradwright.special.i1, by_doubles(special.i1), -90.0, 90.0, 0.7),
    "erfc": (gradwright.erfc, by_doubles(special.erfc), -6.0, 11.0, 0.7),
    "ndtr": (gradwright.special.ndtr, by_doubles(special.ndtr), -15.0, 7.0, 0.7),
    "erfcx": (gradwright.special.erfcx, by_doubles(special.erfcx), -9.0, 40.0, 0.7),
    "log_ndtr": (gradwright.special.log_ndtr, by_doubles(special.log_ndtr), -40.0, 12.0, 0.7),
}
CASES = [
    *((dtype, name, row) for dtype in ("float32", "float64") for name, row in FUNCTIONS.items()),
    *(("float64", name, row) for name, row in DOUBLE.items()),
    *(("float32", name, row) for name, row in SINGLE.items()),
    *(("float32", name, row) for name, row in OF_DOUBLES.items()),
]


def inputs(dtype: str, low: float, high: float) -> Array:
    """Values of the range, numbers of all sizes, and the special ones."""
    random = np.random.default_rng(5)
    bits = random.integers(0, 2**63, 20_000, dtype=np.uint64) * 2 + random.integers(0, 2, 20_000).astype(np.uint64)
    sizes = bits.view(np.float64) if dtype == "float64" else (bits >> np.uint64(32)).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        return np.concatenate([random.uniform(low, high, 60_000), sizes, SPECIAL]).astype(dtype)


def places(got: Array, wanted: Array) -> Array:
    """How far each is from a longer number, in units of its last place; infinite where the kind or sign differs."""
    with np.errstate(all="ignore"):
        near = wanted.astype(got.dtype)
        unit = np.spacing(np.abs(near)).astype(Long)
        off = np.abs((got.astype(Long) - wanted) / unit)
        same = (got == near) & (np.signbit(got) == np.signbit(near)) | (np.isnan(got) & np.isnan(near))
        return np.asarray(np.where(same, 0, np.where(np.isfinite(near) & np.isfinite(got), off, np.inf)))


def check(x: Array, got: Array, function: Callable[[Array], Array], most: float) -> None:
    with np.errstate(all="ignore"):
        wanted = function(x.astype(Long))
        # The sigmoid of what exp of its negative overflows for is 0, as with NumPy.
        subnormal = (np.abs(wanted) < np.finfo(x.dtype).tiny) & (got == 0)
        off = np.where(subnormal, 0, places(got, wanted))
    worst = int(np.argmax(off))
    assert off[worst] <= most, (x[worst], got[worst], wanted[worst])


@longer
@pytest.mark.parametrize(("dtype", "name", "row"), CASES, ids=[f"{name} {dtype}" for dtype, name, _ in CASES])
def test_functions_are_close(dtype: str, name: str, row: tuple[Any, Any, float, float, float]) -> None:
    function, wanted, low, high, most = row
    x = inputs(dtype, low, high)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = function(gradwright.tensor(x)).numpy()
    if name in ("sin", "cos"):  # the longer function is not exact for what is larger than this
        keep = ~(np.abs(x) > 1e15)
        x, got = x[keep], got[keep]
    check(x, got, wanted, most)


def test_the_sigmoid_where_an_exponential_is_next_to_infinity() -> None:
    """Its values are subnormal there, and 0 where 1 + exp(-x) is infinite."""
    x = np.linspace(-89.5, -86, 5000).astype(np.float32)
    with np.errstate(over="ignore"):
        wanted = 1 / (1 + np.exp(-x))
    got = gradwright.sigmoid(gradwright.tensor(x)).numpy()
    assert (got[wanted == 0] == 0).all()
    assert (wanted == 0).sum() > 1000
    np.testing.assert_array_less(np.abs(got - wanted), 3 * np.spacing(wanted))


def test_the_error_function_in_double_precision() -> None:
    x = np.concatenate([np.linspace(-6.5, 6.5, 1500), np.linspace(0.99, 1.01, 100), np.geomspace(1e-300, 0.5, 200)])
    got = gradwright.erf(gradwright.tensor(x)).numpy()
    with mpmath.workdps(40):
        exact = [mpmath.erf(mpmath.mpf(float(value))) for value in x]
        off = [
            float(abs(mpmath.mpf(float(value)) - wanted) / float(np.spacing(abs(float(wanted)) or 1)))
            for value, wanted in zip(got, exact, strict=True)
        ]
    assert max(off) <= 1.5
    ends = gradwright.erf(gradwright.tensor(np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 300.0]))).numpy()
    np.testing.assert_array_equal(ends, [np.nan, 1, -1, -0.0, 5e-324, 1])
    assert np.signbit(ends[3])


def test_the_inverse_error_function_in_single_precision() -> None:
    near_one = 1 - 2.0 ** -np.arange(1, 25)
    x = np.concatenate([np.linspace(-0.9999, 0.9999, 1501), near_one, -near_one, 2.0 ** -np.arange(1, 140)]).astype(
        np.float32
    )
    got = gradwright.erfinv(gradwright.tensor(x)).numpy()
    with mpmath.workdps(30):
        exact = np.array([float(mpmath.erfinv(mpmath.mpf(float(value)))) for value in x])
    assert (np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() <= 2.1  # 2 with joined products
    ends = gradwright.erfinv(gradwright.tensor([1.0, -1.0, 0.0, -0.0, 1.5, -2.0, np.nan, np.inf])).numpy()
    np.testing.assert_array_equal(ends, [np.inf, -np.inf, 0, 0, np.nan, np.nan, np.nan, np.nan])
    assert np.signbit(ends[:4]).tolist() == [False, True, False, True]


@pytest.mark.parametrize("name", OF_DOUBLES)
def test_functions_by_doubles_at_their_ends(name: str) -> None:
    """Poles, infinities and zeros, roots of the gamma functions and their surroundings: as SciPy's."""
    function, wanted, *_, most = OF_DOUBLES[name]
    roots = [1, 2, 3, 4, 5, 8, 1.4616321, -2.4570247, -2.7476826, -3.1435809, -0.5040830, -1.5734985, -0.7071, 0.0]
    whole = np.arange(-20, 21)
    around = np.arange(-50, 50)
    x = np.concatenate([np.float32(each) + around * np.spacing(np.float32(each or 1)) for each in roots])
    x = np.concatenate([x, whole, [2.0**24, -(2.0**24), 3e38, -3e38, *SPECIAL]]).astype(np.float32)
    got = function(gradwright.tensor(x)).numpy()
    if name == "digamma":  # SciPy has an infinity at each pole
        pole = (x < 0) & (x == np.floor(x))
        assert np.isnan(got[pole]).all()
        x, got = x[~pole], got[~pole]
    if name == "lgamma":  # near a root of this, a double is too short for the last place
        most = 4
    check(x, got, wanted, most)


def pairs(dtype: str) -> tuple[Array, Array]:
    """Pairs of near and far numbers, of all sizes, and each special one with each."""
    x, ends = inputs(dtype, -20, 20), np.array([*SPECIAL, 2, -2, 0.3], dtype)
    left, right = np.repeat(ends, ends.size), np.tile(ends, ends.size)
    return np.concatenate([x, left]), np.concatenate([np.random.default_rng(3).permutation(x), right])


@longer
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("base", [np.e, 2])
def test_smooth_maxima(dtype: str, base: float) -> None:
    """As NumPy's, in units of the maximum and of what there is more of it, of which one may nearly undo the other."""
    x, y = pairs(dtype)
    function, numpy = (gradwright.logaddexp2, np.logaddexp2) if base == 2 else (gradwright.logaddexp, np.logaddexp)
    got, unit = function(gradwright.tensor(x), gradwright.tensor(y)).numpy(), np.log(Long(2)) if base == 2 else Long(1)
    with np.errstate(all="ignore"):
        wanted = numpy(x, y)
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(got[~finite], wanted[~finite])
        units = np.spacing(np.maximum(np.abs(np.maximum(x, y)), np.abs(wanted)))
        assert (np.abs(got - wanted) / units)[finite].max() <= 4
    for first, second in ((0.0, -30.5), (0.0, -100.25), (0.0, -130.75), (-0.0, -149.0)):  # all places of a small one
        small = np.array([first, second], dtype)
        result = function(gradwright.tensor(small[:1]), gradwright.tensor(small[1:])).numpy()
        longer_one = np.log1p(np.exp(Long(second) * unit)) / unit
        assert places(result, np.array([longer_one])).max() <= 2


@longer
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["hypot", "copysign", "nextafter"])
def test_functions_of_two_numbers(dtype: str, name: str) -> None:
    x, y = pairs(dtype)
    function, numpy = getattr(gradwright, name), getattr(np, name)
    got = function(gradwright.tensor(x), gradwright.tensor(y)).numpy()
    with np.errstate(all="ignore"):
        if name == "hypot":
            assert places(got, numpy(x.astype(Long), y.astype(Long))).max() <= (0.501 if dtype == "float32" else 1.5)
            return
        wanted = numpy(x, y)
    np.testing.assert_array_equal(got, wanted, strict=True)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(wanted)[~np.isnan(got)])


@longer
@pytest.mark.parametrize("size", [1e3, 1e6, 1e12])
def test_sines_of_large_numbers(size: float) -> None:
    x = np.random.default_rng(0).uniform(-size, size, 20_000)
    check(x, gradwright.sin(gradwright.tensor(x)).numpy(), np.sin, 1)
    check(x, gradwright.cos(gradwright.tensor(x)).numpy(), np.cos, 1)


PROGRAM = """
import sys
import numpy as np, gradwright
sys.path[:0] = sys.argv[2:]
import test_vectors
results = [row[0](gradwright.tensor(test_vectors.inputs(dtype, *row[2:4]))).numpy()
           for dtype, _, row in test_vectors.CASES]
np.savez(sys.argv[1], *results)
"""


@longer
def test_older_processors(tmp_path: Path) -> None:
    found = {}
    for generation in ("baseline", "avx2"):
        file = tmp_path / f"{generation}.npz"
        command = [sys.executable, "-c", PROGRAM, str(file), str(Path(__file__).parent), str(ROOT / "tests")]
        environment = {**os.environ, "GRADWRIGHT_CPU": generation}
        subprocess.run(command, env=environment, check=True, cwd=ROOT)
        found[generation] = list(np.load(file).values())
    for index, (dtype, name, (function, wanted, low, high, most)) in enumerate(CASES):
        x = inputs(dtype, low, high)
        np.testing.assert_array_equal(function(gradwright.tensor(x)).numpy(), found["avx2"][index])
        keep = ~(np.abs(x) > 1e15) if name in ("sin", "cos") else np.ones(x.shape, bool)
        check(x[keep], found["baseline"][index][keep], wanted, most + 0.5)


def test_half_precision_is_computed_in_single() -> None:
    x = np.random.default_rng(0).uniform(-4, 4, 1000).astype(np.float16)
    for function in (gradwright.sigmoid, F.silu, F.softplus, F.elu, F.mish, gradwright.erf, gradwright.expm1):
        single = function(gradwright.tensor(x.astype(np.float32))).numpy()
        half = function(gradwright.tensor(x)).numpy()
        assert half.dtype == np.float16
        with np.errstate(all="ignore"):
            assert np.max(np.abs(half - single) / np.spacing(np.abs(single.astype(np.float16)))) <= 1


def test_a_formula_is_one_function_of_its_gradient_and_input() -> None:
    """The memory of the gradient becomes the result's where nobody else has it."""
    x = gradwright.linspace(-3, 3, 100_001).requires_grad_()
    for function in (F.silu, F.softplus, F.elu, F.mish, F.hardswish):
        kept = gradwright.ones(100_001)
        x.grad = None
        function(x).backward(kept)
        direct = x.grad
        x.grad = None
        (function(x) * 1.0).backward(gradwright.ones(100_001))  # what comes to the formula is nobody else's
        assert direct is not None
        assert x.grad is not None
        np.testing.assert_array_equal(direct.numpy(), x.grad.numpy())
