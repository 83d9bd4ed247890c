"""Loops of complex numbers in C++, of operators that are expressions over elements, against their kernels in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright import native
from runtime.base.tensor import wrap
from support.complex_parts import check_parts
from support.native_core import NO_CORE

if not native.is_available():
    pytest.skip(NO_CORE, allow_module_level=True)

from generated import operators

Array = np.ndarray[Any, Any]

DTYPES = ("c8", "c16")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5)

# Operators, how many Tensors they take, and the numbers behind them.
CASES: dict[str, tuple[int, tuple[Any, ...]]] = {
    "rsub_Tensor": (2, ()),
    "addcmul_default": (3, ()),
    "addcdiv_default": (3, ()),
    "lerp_Scalar": (2, (0.75,)),
    "lerp_Tensor": (3, ()),
    "rsqrt_default": (1, ()),
    "sinc_default": (1, ()),
    "sigmoid_default": (1, ()),
    "sigmoid_backward_default": (2, ()),
    "tanh_backward_default": (2, ()),
    "silu_default": (1, ()),
    "silu_backward_default": (2, ()),
    "native_dropout_backward_default": (2, (2.5,)),
}


def entry(function: str) -> Any:
    return getattr(operators, function)


def in_python(function: str, arguments: list[Any]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(entry(function).__wrapped__(*arguments)._array)


def check_same(function: str, arrays: list[Array], numbers: tuple[Any, ...] | None = None) -> None:
    """The result is that of the kernels in Python, which are NumPy's functions one after the other."""
    numbers = CASES[function][1] if numbers is None else numbers
    arguments = [*map(wrap, arrays), *numbers]
    check_parts(function, entry(function)(*arguments)._array, in_python(function, arguments), arrays, numbers)


def values(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    random = np.random.default_rng(seed)
    array = np.empty(shape, dtype)
    array.real, array.imag = random.normal(size=shape) * 3, random.normal(size=shape) * 3
    return array


def cut(array: Array) -> Array:
    """Complex numbers that begin with the imaginary part of another one."""
    return array.view(array.real.dtype)[1:-1].view(array.dtype)


def grid(dtype: str) -> Array:
    """All pairs of special parts."""
    parts = np.array(SPECIAL)
    array = np.empty(len(parts) ** 2, dtype)
    array.real, array.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    return array


FORMS: dict[str, Callable[[str, int], Array]] = {
    "dense": lambda dtype, seed: values((3, 4, 5), dtype, seed),
    "transposed": lambda dtype, seed: values((5, 4, 3), dtype, seed).T,
    "every second": lambda dtype, seed: values((6, 8, 5), dtype, seed)[::2, ::2],
    "backwards": lambda dtype, seed: values((3, 4, 5), dtype, seed)[:, ::-1],
    "expanded": lambda dtype, seed: np.broadcast_to(values((1, 4, 1), dtype, seed), (3, 4, 5)),
    "one repeated": lambda dtype, seed: np.broadcast_to(values((), dtype, seed), (3, 4, 5)),
    "row": lambda dtype, seed: values((5,), dtype, seed),
    "no dimensions": lambda dtype, seed: values((), dtype, seed),
    "empty": lambda dtype, seed: values((3, 0, 5), dtype, seed),
    "blocks": lambda dtype, seed: values((3, 40, 50), dtype, seed),
    "blocks, transposed": lambda dtype, seed: values((50, 40, 3), dtype, seed).T,
    "in the middle of a number": lambda dtype, seed: cut(values((61,), dtype, seed)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", CASES)
def test_results_are_numpys(function: str, dtype: str) -> None:
    count = CASES[function][0]
    for form in FORMS:
        check_same(function, [FORMS[form](dtype, seed) for seed in range(count)])
    for forms in itertools.product(("dense", "transposed", "row", "no dimensions", "expanded"), repeat=count):
        check_same(function, [FORMS[form](dtype, seed) for seed, form in enumerate(forms)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", CASES)
def test_special_values_are_numpys(function: str, dtype: str) -> None:
    """NaN, infinities and zeros of both signs, in both parts of all operands."""
    count, special = CASES[function][0], grid(dtype)
    if count < 3:
        check_same(function, list(np.meshgrid(*[special] * count, sparse=True)) if count > 1 else [special])
        return
    for third in (special[::7], values((9,), dtype, 5)):
        check_same(function, [special[:, None, None], special[::5][:, None], third])


@pytest.mark.parametrize("weight", [0.25, 0.75, 2, -3])
def test_numbers_of_lerp(weight: float) -> None:
    for dtype in DTYPES:
        check_same("lerp_Scalar", [values((70,), dtype, 1), values((70,), dtype, 2)], (weight,))
        special = grid(dtype)
        check_same("lerp_Scalar", [special[:, None], special], (weight,))


@pytest.mark.parametrize("value", [1, 0.5, -2])
def test_numbers_of_sums(value: float) -> None:
    for function in ("addcmul_default", "addcdiv_default"):
        for dtype in DTYPES:
            special = grid(dtype)
            arrays = [values((81, 1), dtype, 1), special[:, None], special]
            arguments = [*map(wrap, arrays)]
            got = entry(function)(*arguments, value=value)._array
            with np.errstate(all="ignore"):
                wanted = entry(function).__wrapped__(*arguments, value=value)._array
            for one, other in ((got.real, wanted.real), (got.imag, wanted.imag)):
                np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
                np.testing.assert_allclose(one, other, rtol=1e-4 if dtype == "c8" else 1e-12)


@pytest.mark.parametrize("function", CASES)
def test_a_loop_in_cpp_computes_them(function: str) -> None:
    count, numbers = CASES[function]
    for dtype in DTYPES:
        arguments = [*(wrap(values((4, 5), dtype, seed)) for seed in range(count)), *numbers]
        (record,) = native.explain(lambda arguments=arguments: entry(function)(*arguments)).records
        assert (record.fast, record.kernel) == (True, "native loop"), record


def test_complex_numbers_beside_tensors_are_left_to_python() -> None:
    z = gradwright.tensor([1 + 2j, 3 - 1j])
    (record,) = native.explain(lambda: gradwright.addcmul(z, z, z, value=2j)).records
    assert not record.fast
    np.testing.assert_allclose(gradwright.addcmul(z, z, z, value=2j).numpy(), z.numpy() + z.numpy() ** 2 * 2j)


@pytest.mark.parametrize("function", CASES)
def test_threads_make_no_difference(function: str) -> None:
    count, numbers = CASES[function]
    before = gradwright.get_num_threads()
    for dtype, form in itertools.product(DTYPES, ("dense", "transposed")):
        arrays = [values((300, 400), dtype, seed) for seed in range(count)]
        arguments = [*(wrap(array.T if form == "transposed" else array) for array in arrays), *numbers]
        results = []
        for threads in (1, 3):
            gradwright.set_num_threads(threads)
            try:
                results.append(entry(function)(*arguments)._array)
            finally:
                gradwright.set_num_threads(before)
        assert np.array_equal(*results)


@pytest.mark.parametrize("name", ["sigmoid", "silu", "rsqrt", "sinc"])
@pytest.mark.parametrize("dtype", [gradwright.complex64, gradwright.complex128])
def test_gradients_go_through_them(name: str, dtype: Any) -> None:
    """The derivative along both axes, by differences of the result."""
    z = gradwright.tensor([0.3 + 0.4j, -1.2 + 0.7j, 2.0 - 0.5j], dtype=dtype, requires_grad=True)
    seed = gradwright.tensor([1 - 1j, 0.5 + 2j, 3.0 + 0j], dtype=dtype)
    function = gradwright.nn.functional.silu if name == "silu" else getattr(gradwright, name)
    (got,) = gradwright.autograd.grad(function(z), z, seed)
    exact = z.detach().numpy().astype(np.complex128)
    functions: dict[str, Callable[[Array], Array]] = {
        "sigmoid": lambda x: np.asarray(1 / (1 + np.exp(-x))),
        "silu": lambda x: np.asarray(x / (1 + np.exp(-x))),
        "rsqrt": lambda x: np.asarray(1 / np.sqrt(x)),
        "sinc": lambda x: np.asarray(np.sin(np.pi * x) / (np.pi * x)),
    }
    step = 1e-6
    slope = (functions[name](exact + step) - functions[name](exact - step)) / (2 * step)
    wanted = np.conj(slope) * seed.numpy()
    assert got.dtype == dtype
    np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-5 if dtype == gradwright.complex64 else 1e-8)


def test_gradients_of_sums_go_through_them() -> None:
    random = [gradwright.tensor(values((4, 5), "c16", seed), requires_grad=True) for seed in range(3)]
    for function in ("addcmul", "addcdiv", "lerp"):
        assert gradwright.autograd.gradcheck(getattr(gradwright, function), tuple(random))


def test_writing_in_place() -> None:
    """What is written is what a new Tensor would be, also where the loop works in blocks."""
    for dtype in DTYPES:
        for name in ("sigmoid", "rsqrt", "silu"):
            x = wrap(values((3, 700), dtype, 1))
            wanted = entry(f"{name}_default")(x)._array.copy()
            y = x.clone()
            assert getattr(operators, f"{name}__default")(y) is y
            assert np.array_equal(y._array, wanted)
        a, b, c = (wrap(values((3, 700), dtype, seed)) for seed in range(3))
        for name in ("addcmul", "addcdiv"):
            wanted = entry(f"{name}_default")(a, b, c, value=0.5)._array
            assert np.array_equal(getattr(a.clone(), f"{name}_")(b, c, value=0.5)._array, wanted)
