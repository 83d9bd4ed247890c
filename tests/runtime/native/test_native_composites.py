"""Parts of composite formulas that run as one loop while nothing is recorded: values, histories, memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradwright
from codegen.paths import project_paths
from runtime import native
from support.native_core import NO_CORE
from support.own_project import own_native

if not native.is_available():
    pytest.skip(NO_CORE, allow_module_level=True)

from generated import operators

PATHS = project_paths()
SHAPES = ((), (3, 4), (3, 700), (0, 2), (40_000,))


def random(shape: Sequence[int], dtype: str, seed: int) -> gradwright.Tensor:
    return gradwright.tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def sides(shape: Sequence[int], dtype: str, seed: int) -> gradwright.Tensor:
    return gradwright.tensor(np.random.default_rng(seed).choice([-1, 1], size=shape).astype(dtype))


# Calls by the functions of the generated module: of Tensors of one shape, and others.
CALLS: dict[str, Any] = {
    "margin_ranking_loss_default": lambda function, x, y, side: function(x, y, side, 0.25, 0),
    "hinge_embedding_loss_default": lambda function, x, y, side: function(x, side, 0.75, 0),
    "l1_loss_default": lambda function, x, y, side: function(x, y, 0),
    "pairwise_distance_default": lambda function, x, y, side: function(x, y, 2.0, 1e-6),
}


def test_all_such_composites_are_here() -> None:
    native = own_native()
    found = {
        operator.python.function
        for operator in native.operators.values()
        if operator.compute.composite is not None
        if not operator.compute.composite.lists and native.computed[operator.name].parts
    }
    assert found == set(CALLS)


def operands(shape: Sequence[int], dtype: str) -> tuple[gradwright.Tensor, ...]:
    return random(shape, dtype, 1), random(shape, dtype, 2), sides(shape, dtype, 3)


# There is no norm of ints.
DTYPES = [
    (name, dtype)
    for name in CALLS
    for dtype in ("float32", "float64", "float16", "int64")
    if dtype != "int64" or not name.startswith("pairwise")
]


@pytest.mark.parametrize(("name", "dtype"), DTYPES)
def test_values_are_pythons(name: str, dtype: str) -> None:
    entry = getattr(operators, name)
    for shape in SHAPES:
        if name.startswith("pairwise") and not shape:
            continue
        tensors = operands(shape, dtype)
        wanted, got = CALLS[name](entry.__wrapped__, *tensors), CALLS[name](entry, *tensors)
        assert got.dtype is wanted.dtype
        assert not got.requires_grad
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=4 * float(np.finfo(np.float32).eps))


@pytest.mark.parametrize("name", CALLS)
def test_shapes_that_broadcast_are_left_to_the_operators(name: str) -> None:
    entry = getattr(operators, name)
    x, y, side = random((3, 4), "float32", 1), random((4,), "float32", 2), sides((3, 1), "float32", 3)
    wanted, got = CALLS[name](entry.__wrapped__, x, y, side), CALLS[name](entry, x, y, side)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6)


def nodes(tensor: gradwright.Tensor) -> list[str]:
    """The classes of all Nodes behind a Tensor, each path by itself."""
    pending, found = [tensor.grad_fn], []
    while pending:
        node = pending.pop()
        if node is not None:
            found.append(type(node).__name__)
            pending += [edge[0] for edge in node.next_functions]
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_composite_that_is_recorded_is_traced_through(name: str) -> None:
    entry = getattr(operators, name)
    results = []
    for function in (entry, entry.__wrapped__):
        x, y, side = operands((3, 4), "float64")
        result = CALLS[name](function, x.requires_grad_(), y, side)
        results.append((nodes(result), *gradwright.autograd.grad(result.sum(), x)))
    (names, gradient), (wanted_names, wanted) = results
    assert names == wanted_names
    assert len(names) > 2
    np.testing.assert_allclose(gradient.numpy(), wanted.numpy())
    with gradwright.no_grad():
        x, y, side = operands((3, 4), "float64")
        assert CALLS[name](entry, x.requires_grad_(), y, side).grad_fn is None


def test_a_loop_makes_no_array_but_its_result() -> None:
    x, y, side = operands((300_000,), "float32")
    peaks = []
    for needed in (False, True):
        x.requires_grad_(needed)
        tracemalloc.start()
        operators.margin_ranking_loss_default(x, y, side, 0.25, 0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 1.5 * x._array.nbytes
    assert peaks[1] > 1.5 * x._array.nbytes
