"""Loops that write around the caches: the lines that they write, and results of calls that are large enough."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import gradwright
from support.compiling import loaded

PROGRAM = r"""
#include "operand_blocks.cpp"
using namespace gradwright;

int gradwright::cpu_generation() { return 0; }

struct Fma {
  template <class T>
  static T apply(T a, T b, T c) { return a * b + c; }
};

extern "C" void run(int wide, char** args, npy_intp size, const npy_intp* steps) {
  const Loop& loop = wide ? own_loop<Fma, double> : own_loop<Fma, float>;
  loop.streaming(args, &size, steps, loop.data);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return loaded(tmp_path_factory.mktemp("streaming"), PROGRAM)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("single", [(), (0,), (2,), (0, 1), (0, 1, 2)])
def test_lines_and_what_is_before_and_behind_them(
    library: ctypes.CDLL, dtype: type[np.floating], single: tuple[int, ...]
) -> None:
    random = np.random.default_rng(0)
    item = np.dtype(dtype).itemsize
    for size in (0, 1, 7, 8, 15, 16, 17, 31, 64, 100, 512, 1100):
        for shift in (0, 1, 3, 15):
            operands = [random.normal(size=size + 16).astype(dtype)[k : size + k] for k in range(3)]
            memory = np.full(size + 48, 7, dtype)
            memory = memory[-memory.ctypes.data % 64 // item :]
            result = memory[shift : shift + size]
            args = (ctypes.c_void_p * 4)(*(array.ctypes.data for array in (*operands, result)))
            steps = (ctypes.c_ssize_t * 4)(*(0 if k in single else item for k in range(3)), item)
            library.run(int(dtype is np.float64), args, ctypes.c_long(size), steps)
            a, b, c = (array[:1] if k in single else array for k, array in enumerate(operands))
            np.testing.assert_array_equal(result, np.broadcast_to(a * b + c, (size,)) if size else [])
            assert (memory[:shift] == 7).all()
            assert (memory[shift + size : shift + size + 16] == 7).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_calls_on_more_than_the_caches_hold(threads: int) -> None:
    """Three operands of 48 MiB."""
    before = gradwright.get_num_threads()
    gradwright.set_num_threads(threads)
    try:
        x = np.arange(12 * 2**20 + 5, dtype=np.float32)
        a, b = gradwright.tensor(x)[1:].requires_grad_(), gradwright.tensor(x[::-1].copy())[1:]
        out = a * b
        np.testing.assert_array_equal(out.detach(), x[1:] * x[::-1][1:])
        np.testing.assert_array_equal((a + 0.5).detach(), x[1:] + np.float32(0.5))
        np.testing.assert_array_equal((2.0 / a).detach(), np.float32(2) / x[1:])
        out = gradwright.relu(a - 1000.0)
        out.backward(b)
        np.testing.assert_array_equal(a.grad, np.where(x[1:] > 1000, b.numpy(), np.float32(0)))
        # Two formulas in turns, the second in the memory of the gradient where nobody else has it.
        b.requires_grad_()
        for scale in (None, 2.0):
            product = a * b if scale is None else (a * b) * scale
            factor = np.float32(scale or 1)
            for found, other in zip(gradwright.autograd.grad(product, (a, b), b.detach()), (b, a), strict=True):
                np.testing.assert_array_equal(found, b.detach().numpy() * factor * other.detach().numpy())
    finally:
        gradwright.set_num_threads(before)
