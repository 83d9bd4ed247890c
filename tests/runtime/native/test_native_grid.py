"""Images and volumes at the points of a grid as native loops, forward and backward, against the Python kernels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradwright import native, no_grad, ops, set_num_threads
from runtime.base.tensor import wrap
from runtime.operators.kernels import grid as kernels
from support.native_core import needs_core

pytestmark = needs_core

ODD = [np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, 0.5, -3.0, 3.0, 1e6]
IMAGES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3, 5, 7), (4, 12)),
    ((1, 1, 1, 1), (3, 10)),
    ((1, 2, 1, 6), (3, 10)),
    ((2, 4, 9, 4), (30, 40)),
]
VOLUMES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3, 5, 4, 3), (2, 3, 12)),
    ((1, 1, 1, 1, 1), (1, 3, 10)),
    ((1, 2, 1, 6, 2), (2, 10, 15)),
]
CASES = [
    *((mode, *sizes) for mode in (0, 1, 2) for sizes in IMAGES),
    *((mode, *sizes) for mode in (0, 1) for sizes in VOLUMES),
]
over_modes = pytest.mark.parametrize(("mode", "shape", "places"), CASES, ids=str)


def inputs(shape: tuple[int, ...], places: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    dims = len(places)
    grid = rng.uniform(-1.7, 1.7, (shape[0], *places, dims)).astype(dtype)
    grid[:, 0, ..., : len(ODD), 0] = grid[:, -1, ..., : len(ODD), dims - 1] = ODD
    return rng.normal(size=shape).astype(dtype), grid


def name_of(shape: tuple[int, ...], suffix: str = "") -> str:
    return f"grid_sampler_{len(shape) - 2}d{suffix}"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("padding", [0, 1, 2])
@over_modes
def test_modes(mode: int, shape: tuple[int, ...], places: tuple[int, ...], padding: int, dtype: str) -> None:
    x, grid = inputs(shape, places, dtype)
    for align in (False, True):
        expected = getattr(kernels, name_of(shape))(x, grid, mode, padding, align)
        for images, at in ((x, grid), (x.copy("F"), grid.copy("F"))):
            found = ops.grid_sampler(wrap(images), wrap(at), mode, padding, align)._array
            assert (found.dtype, found.shape, found.flags.c_contiguous) == (expected.dtype, expected.shape, True)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("padding", [0, 1, 2])
@over_modes
def test_gradients(mode: int, shape: tuple[int, ...], places: tuple[int, ...], padding: int, dtype: str) -> None:
    x, grid = inputs(shape, places, dtype)
    gradient = np.random.default_rng(1).normal(size=(*shape[:2], *places)).astype(dtype)
    name = name_of(shape, "_backward")
    tolerance = 1e-4 if dtype == "f4" else 1e-12
    for align, mask in itertools.product((False, True), ((True, True), (True, False), (False, True), (False, False))):
        expected = getattr(kernels, name)(gradient, x, grid, mode, padding, align, mask)
        for arrays in ((gradient, x, grid), (gradient.copy("F"), x.copy("F"), grid.copy("F"))):
            found = getattr(ops, name)(*map(wrap, arrays), mode, padding, align, mask)
            for one, other, is_wanted in zip(found, expected, mask, strict=True):
                assert (one is not None, other is not None) == (is_wanted, is_wanted)
                if is_wanted:
                    assert (one._array.dtype, one._array.shape) == (other.dtype, other.shape)
                    np.testing.assert_allclose(one._array, other, rtol=tolerance, atol=tolerance)


def test_gradients_do_not_depend_on_threads() -> None:
    x, grid = inputs((1, 7, 30, 40), (60, 70), "f4")
    gradient = np.random.default_rng(1).normal(size=(1, 7, 60, 70)).astype("f4")
    found = []
    for threads in (1, 2, 5):
        set_num_threads(threads)
        try:
            pair = ops.grid_sampler_2d_backward(wrap(gradient), wrap(x), wrap(grid), 0, 1, False, [True, True])
        finally:
            set_num_threads(1)
        found.append([one._array for one in pair])
    for pair in found[1:]:
        for one, other in zip(pair, found[0], strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_is_not_finite_in_the_image() -> None:
    x, grid = inputs((1, 2, 4, 4), (5, 10), "f4")
    x[0, 0, 1, 1], x[0, 1, 2, 2] = np.nan, np.inf
    gradient = np.ones((1, 2, 5, 10), np.float32)
    for mode, padding in itertools.product((0, 1, 2), (0, 1, 2)):
        arguments = (mode, padding, False)
        expected = kernels.grid_sampler_2d(x, grid, *arguments)
        np.testing.assert_array_equal(ops.grid_sampler(wrap(x), wrap(grid), *arguments)._array, expected)
        both = ops.grid_sampler_2d_backward(wrap(gradient), wrap(x), wrap(grid), *arguments, [True, True])
        wanted = kernels.grid_sampler_2d_backward(gradient, x, grid, *arguments, [True, True])
        for one, other in zip(both, wanted, strict=True):
            np.testing.assert_allclose(one._array, other, rtol=1e-5, atol=1e-5)


def calls(*arguments: Any) -> list[tuple[str, str]]:
    records = native.explain(lambda: ops.grid_sampler(*arguments)).records
    return [(record.name, record.kernel) for record in records]


def test_where_it_is_one_loop() -> None:
    x, grid = (wrap(array) for array in inputs((1, 2, 4, 4), (5, 10), "f4"))
    images = [("grid_sampler", "operators"), ("grid_sampler_2d", "native loop")]
    for mode in (0, 1, 2):
        assert calls(x, grid, mode, 0, False) == images
    v, points = (wrap(array) for array in inputs((1, 2, 4, 4, 3), (5, 2, 10), "f4"))
    assert calls(v, points, 0, 0, False) == [("grid_sampler", "operators"), ("grid_sampler_3d", "native loop")]
    grid.requires_grad_()
    assert calls(x, grid, 0, 0, False) == images
    assert ops.grid_sampler(x, grid, 0, 0, False).requires_grad
    with no_grad():
        assert calls(x, grid, 0, 0, False) == images


def test_a_backward_is_one_loop() -> None:
    x, grid = (wrap(array).requires_grad_() for array in inputs((1, 2, 4, 4), (5, 10), "f4"))
    out = ops.grid_sampler(x, grid, 0, 1, False)
    records = native.explain(lambda: out.backward(ops.ones_like(out))).records
    found = [(record.name, record.kernel) for record in records if "grid" in record.name]
    assert found == [("grid_sampler_2d_backward", "native loop")]


def test_what_is_wrong_is_said() -> None:
    x, grid = (wrap(array) for array in inputs((1, 2, 4, 4), (5, 10), "f4"))
    with pytest.raises(RuntimeError, match="same dtype"):
        ops.grid_sampler(x, grid.double(), 0, 0, False)
    with pytest.raises(RuntimeError, match="same batch size"):
        ops.grid_sampler(wrap(np.ones((2, 2, 4, 4), np.float32)), grid, 0, 0, False)
    with pytest.raises(RuntimeError, match="size 2 in last dimension"):
        ops.grid_sampler(x, wrap(np.ones((1, 4, 4, 3), np.float32)), 0, 0, False)
    with pytest.raises(RuntimeError, match="non-empty spatial dimensions"):
        ops.grid_sampler(wrap(np.ones((1, 2, 0, 4), np.float32)), grid, 0, 0, False)
    with pytest.raises(RuntimeError, match="expected 5D input"):
        ops.grid_sampler_3d(x, grid, 0, 0, False)
    with pytest.raises(RuntimeError, match="bicubic interpolation only supports 4D input"):
        ops.grid_sampler_3d(*(wrap(array) for array in inputs((1, 2, 4, 4, 3), (5, 2, 10), "f4")), 2, 0, False)
    with pytest.raises(RuntimeError, match="expected grad_output to have sizes"):
        ops.grid_sampler_2d_backward(x, x, grid, 0, 0, False, [True, True])
    gradient = wrap(np.ones((1, 2, 5, 10)))
    with pytest.raises(RuntimeError, match="expected grad_output and input to have same dtype"):
        ops.grid_sampler_2d_backward(gradient, x, grid, 0, 0, False, [True, True])
    assert ops.grid_sampler(x, wrap(np.ones((1, 0, 4, 2), np.float32)), 0, 0, False).shape == (1, 2, 0, 4)
