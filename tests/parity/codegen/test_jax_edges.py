"""What users of the functions for JAX come to at the edges: types of arguments, dtypes of what is made of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from codegen.commands.init import make_package
from support.own_packages import Project

NAME = "jax_edges"
NATIVE_FUNCTIONS = """
- func: ramp(int n, *, ScalarType? dtype=None) -> Tensor
  dispatch:
    CPU: ramp
  samples:
  - '5'
- func: filled(int n, Scalar value) -> Tensor
  composite: ramp(n) * 0 + value
- func: powers(Scalar base, int n, *, ScalarType? dtype=None) -> Tensor
  dispatch:
    CPU: powers
  promotion: default(base)
  samples:
  - 2, 3
- func: shifted(Tensor self, int by, float factor=1.0, str mode="add", int[2] ends=0, float[]? weights=None) -> Tensor
  dispatch:
    CPU: shifted
  dtypes: floating
  samples:
  - T(5), 2
- func: counted(Tensor[] tensors) -> Tensor
  dispatch:
    CPU: counted
  samples:
  - '[T(2)]'
"""
DERIVATIVES = """
- name: shifted(Tensor self, int by, float factor=1.0, str mode="add", int[2] ends=0, float[]? weights=None) -> Tensor
  self: grad.roll(-by) * factor
  result: auto_linear
- name: counted(Tensor[] tensors) -> Tensor
  output_differentiability: [False]
"""
KERNELS = """

def ramp(n: int, dtype: Any) -> Array:
    assert dtype is not None
    return np.arange(n, dtype=dtype)


def powers(base: float, n: int, dtype: Any) -> Array:
    assert dtype is not None
    return np.asarray([base**each for each in range(n)], dtype=dtype)


def shifted(
    self: Array, by: int, factor: float, mode: str, ends: tuple[int, int], weights: tuple[float, ...] | None
) -> Array:
    assert type(factor) is float
    assert len(ends) == 2
    return np.roll(self, by) * factor


def counted(tensors: list[Array]) -> Array:
    return len(tensors)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """`jax_edges.jax`."""
    folder = tmp_path_factory.mktemp("edges")
    assert make_package(NAME, folder, ("jax",)) == 0
    made = Project(folder, NAME)
    made.append("native_functions.yaml", NATIVE_FUNCTIONS)
    made.append("derivatives.yaml", DERIVATIVES)
    made.append("kernels.py", KERNELS)
    finished = made.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    with made.imported("jax") as (functions,):
        yield functions


@pytest.mark.parametrize("is_wide", [False, True])
def test_what_is_made_of_nothing_has_a_dtype(package: Any, is_wide: bool) -> None:
    with jax.enable_x64(is_wide):
        usual = jnp.zeros(()).dtype
        assert package.ramp(3).dtype == usual
        assert package.ramp(3, dtype=jnp.int16).dtype == jnp.int16
        assert package.powers(2, 3).dtype == jnp.asarray(1).dtype
        assert package.powers(0.5, 3).dtype == usual
        assert jax.jit(package.ramp, static_argnums=0)(3).dtype == usual


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": 1.5}, "'by' has to be of the type 'int', not float"),
        ({"by": True}, "'by' has to be of the type 'int', not bool"),
        ({"by": None}, "'by' has to be of the type 'int', not NoneType"),
        ({"by": 1, "factor": "x"}, "'factor' has to be of the type 'float', not str"),
        ({"by": 1, "mode": 3}, "'mode' has to be of the type 'str', not int"),
        ({"by": 1, "ends": [1, 2.5]}, r"'ends\[1\]' has to be of the type 'int', not float"),
        ({"by": 1, "weights": 2.0}, r"'weights' has to be of the type 'float\[\]', not float"),
    ],
)
def test_arguments_of_other_types_are_refused(package: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        package.shifted(jnp.ones(3), **arguments)


def test_numbers_become_what_the_schema_says(package: Any) -> None:
    x = jnp.arange(4.0)
    for by in (1, np.int64(1), jnp.asarray(1)):
        np.testing.assert_array_equal(package.shifted(x, by, 2, ends=3, weights=(1, 2.5)), [6, 0, 2, 4])


def test_what_is_no_array_is_refused(package: Any) -> None:
    with pytest.raises(TypeError, match="a kernel gave int, which is no array of NumPy's"):
        package.counted([jnp.ones(2)])
