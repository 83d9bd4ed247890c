"""Images at the places of a grid as one native loop, against the operators that it is composed of."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradwright import no_grad, ops
from runtime import native
from runtime.base.tensor import wrap
from runtime.composite.grid import grid_sampler
from support.native_core import needs_core

pytestmark = needs_core

ODD = [np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, 0.5, -3.0, 3.0, 1e6]


def inputs(shape: tuple[int, ...], places: tuple[int, int], dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    grid = rng.uniform(-1.7, 1.7, (shape[0], *places, 2)).astype(dtype)
    grid[:, 0, : len(ODD), 0] = grid[:, -1, : len(ODD), 1] = ODD
    return rng.normal(size=shape).astype(dtype), grid


@np.errstate(invalid="ignore")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("shape", "places"),
    [((2, 3, 5, 7), (4, 12)), ((1, 1, 1, 1), (3, 10)), ((1, 2, 1, 6), (3, 10)), ((2, 4, 9, 4), (30, 40))],
    ids=str,
)
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1])
def test_modes(mode: int, padding: int, shape: tuple[int, ...], places: tuple[int, int], dtype: str) -> None:
    x, grid = inputs(shape, places, dtype)
    for align in (False, True):
        expected = grid_sampler(wrap(x), wrap(grid), mode, padding, align)._array
        for images, at in ((x, grid), (x.copy("F"), grid.copy("F"))):
            found = ops.grid_sampler(wrap(images), wrap(at), mode, padding, align)._array
            assert (found.dtype, found.shape, found.flags.c_contiguous) == (expected.dtype, expected.shape, True)
            np.testing.assert_array_equal(found, expected)


def test_what_is_not_finite_in_the_image() -> None:
    x, grid = inputs((1, 2, 4, 4), (5, 10), "f4")
    x[0, 0, 1, 1], x[0, 1, 2, 2] = np.nan, np.inf
    for mode, padding in itertools.product((0, 1), (0, 1, 2)):
        with np.errstate(invalid="ignore"):
            expected = grid_sampler(wrap(x), wrap(grid), mode, padding, False)._array
            np.testing.assert_array_equal(ops.grid_sampler(wrap(x), wrap(grid), mode, padding, False)._array, expected)


def calls(*arguments: Any) -> list[str]:
    return [record.name for record in native.explain(lambda: ops.grid_sampler(*arguments)).records]


def test_where_it_is_one_loop() -> None:
    x, grid = (wrap(array) for array in inputs((1, 2, 4, 4), (5, 10), "f4"))
    assert calls(x, grid, 0, 0, False) == ["grid_sampler"]
    assert len(calls(x, grid, 2, 0, False)) > 1  # bicubic
    grid.requires_grad_()
    assert len(calls(x, grid, 0, 0, False)) > 1
    assert ops.grid_sampler(x, grid, 0, 0, False).requires_grad
    with no_grad():
        assert calls(x, grid, 0, 0, False) == ["grid_sampler"]


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
    assert ops.grid_sampler(x, wrap(np.ones((1, 0, 4, 2), np.float32)), 0, 0, False).shape == (1, 2, 0, 4)
