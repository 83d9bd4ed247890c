"""A package for JAX: values, gradients and tangents are the runtime's, and JAX's transformations agree on them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from support.documents import ROOT
from support.in_process import codegen
from support.jax_agreement import TOLERANCE, differences, rule_of, transformed
from support.own_packages import Project

SOURCES = ROOT / "tests" / "support" / "jax_package"
PACKAGE = "jaxlib_of_tests"
TABLE = f"""
[tool.gradwright]
schema_version = 1
package = "{PACKAGE}"
targets = ["jax"]
"""
# The operators that have no tangents: a formula of these is missing, or hands them to a kernel of NumPy.
REVERSE_ALONE = ("logcosh", "turned", "rms", "blur", "blur_backward", "affine", "weighted_sum", "halves", "partly",
                 "spread")  # fmt: skip
NAMES = (
    "hypot3", "to_polar", "logcosh", "soft_bend", "tempered", "swirl", "sine_of", "turned", "power_of", "rms", "blur",
    "blur_backward", "affine", "weighted_sum", "halves", "largest", "picked", "partly", "charbonnier", "spread",
    "scaled", "scaled.Tensor",
)  # fmt: skip


def make(folder: Path) -> Project:
    """The package in a folder, with what is generated."""
    project = Project(folder, PACKAGE)
    shutil.copytree(SOURCES, folder / PACKAGE)
    (folder / "pyproject.toml").write_text(TABLE)
    project.file("__init__.py").write_text(LAZY)
    return project


LAZY = f'''
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__") or find_spec(f"{PACKAGE}.{{name}}") is not None:
        raise AttributeError(name)
    return getattr(import_module("{PACKAGE}._generated"), name)
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make(tmp_path_factory.mktemp("jax"))
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    return project


@pytest.fixture(scope="module")
def package(project: Project) -> Iterator[tuple[Any, Any]]:
    """Its functions for JAX, and its operators."""
    with jax.enable_x64(True), project.imported("jax", "_generated.registry") as (functions, registry):
        yield functions, registry.OPERATORS


def function_of(functions: Any, name: str) -> Any:
    return getattr(functions, name.replace(".", "_"))


@pytest.mark.parametrize("name", NAMES)
def test_as_the_runtime(package: tuple[Any, Any], name: str) -> None:
    functions, operators = package
    rule = rule_of(operators[name], function_of(functions, name), name not in REVERSE_ALONE)
    found = list(differences(operators[name], rule))
    assert [(what, difference) for what, difference in found if difference > TOLERANCE] == []
    assert len(found) >= 1 + (name not in REVERSE_ALONE)


@pytest.mark.rotates
@pytest.mark.parametrize("name", NAMES)
def test_transformations(package: tuple[Any, Any], name: str) -> None:
    functions, operators = package
    rule = rule_of(operators[name], function_of(functions, name), name not in REVERSE_ALONE)
    compared = list(transformed(operators[name], rule))
    assert len(compared) >= (9 if rule.has_tangents else 6)


def test_every_operator_is_there(package: tuple[Any, Any]) -> None:
    functions, operators = package
    assert {name.replace(".", "_") for name in operators} == set(functions.__all__)
    assert set(operators) - set(NAMES) == {"ramp", "rounded_up", "is_larger"}


def test_it_needs_nothing_but_jax_and_numpy(project: Project) -> None:
    program = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.partition('.')[0] in ('gradwright', 'runtime', 'generated', 'codegen', 'array_api_compat'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        f"from {PACKAGE} import jax as functions\n"
        "import jax\n"
        "print(jax.grad(lambda x: functions.hypot3(x, 4.0, 12.0))(3.0))\n"
    )
    command = [sys.executable, "-c", program]
    finished = subprocess.run(command, cwd=project.folder, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert float(finished.stdout) == pytest.approx(3 / 13, rel=1e-6)


def test_complex_gradients_are_those_of_jax(package: tuple[Any, Any]) -> None:
    functions, _ = package
    x, y = jnp.asarray([1 + 2j, 3 - 1j]), jnp.asarray([2 - 1j, 1j])

    def real(function: Any) -> Any:
        return lambda x, y: jnp.real(jnp.sum(function(x, y) * (0.5 + 2j)))

    mine, theirs = (jax.grad(real(each), (0, 1))(x, y) for each in (functions.turned, jnp.multiply))
    np.testing.assert_allclose(mine, theirs)
    mine, theirs = (
        jax.grad(lambda x, f=each: jnp.sum(f(x)))(x) for each in (functions.power_of, lambda x: jnp.abs(x) ** 2)
    )
    np.testing.assert_allclose(mine, theirs)
    mixed = jax.grad(lambda x: jnp.real(jnp.sum(functions.turned(x, y))))(jnp.asarray([1.0, 2.0]))
    assert mixed.dtype == jnp.float64
    np.testing.assert_allclose(mixed, jnp.real(y))


def test_integers_have_no_gradients(package: tuple[Any, Any]) -> None:
    functions, _ = package
    places = jnp.asarray([0, 2, 2])
    gradient, nothing = jax.grad(lambda x, i: jnp.sum(functions.picked(x, i)), (0, 1), allow_int=True)(
        jnp.ones(4), places
    )
    assert gradient.tolist() == [1, 0, 2, 0]
    assert nothing.dtype == jax.dtypes.float0
    mixed = jax.grad(lambda x: jnp.sum(functions.hypot3(x, jnp.asarray([4, 4]), 0)))(jnp.asarray([3.0, 3.0]))
    np.testing.assert_allclose(mixed, 0.6)


def test_results_without_derivatives(package: tuple[Any, Any]) -> None:
    functions, _ = package
    assert jax.grad(lambda x: jnp.sum(functions.rounded_up(x)))(jnp.ones(3)).tolist() == [0, 0, 0]
    assert functions.is_larger(jnp.asarray([1.0, 3.0]), 2).tolist() == [False, True]
    assert functions.ramp(3, step=0.5).tolist() == [0, 0.5, 1]


def test_a_gradient_without_a_formula_is_an_error_that_says_so(package: tuple[Any, Any]) -> None:
    functions, _ = package
    with pytest.raises(NotImplementedError, match="the derivative of 'partly of other' for 'other' is not implemented"):
        jax.grad(lambda x: jnp.sum(functions.partly(jnp.ones(2), x)))(jnp.ones(2))


def test_half_precision_is_computed_in_float32(package: tuple[Any, Any]) -> None:
    functions, _ = package
    x = jnp.asarray([0.1, 0.7], jnp.bfloat16)
    result = functions.hypot3(x, x, x)
    assert result.dtype == jnp.bfloat16
    wide = x.astype(jnp.float32)
    assert (result == functions.hypot3(wide, wide, wide).astype(jnp.bfloat16)).all()
    assert jax.grad(lambda x: functions.hypot3(x, x, x).sum())(x).dtype == jnp.bfloat16


def test_dtypes_without_x64(package: tuple[Any, Any]) -> None:
    functions, _ = package
    with jax.enable_x64(False):
        assert functions.hypot3(jnp.asarray([3]), 4, 0).dtype == jnp.float32
        values, places = functions.largest(jnp.ones((2, 3)), 1)
        assert (values.dtype, places.dtype) == (jnp.float32, jnp.int32)
    assert functions.hypot3(jnp.asarray([3], jnp.float32), 4, 0).dtype == jnp.float32
    assert functions.hypot3(jnp.asarray([3]), 4, 0).dtype == jnp.float64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f.hypot3([1.0], 2.0, 3.0), TypeError, "'x' has to be an array, not list"),
        (lambda f: f.hypot3(jnp.ones(2), jnp.ones(3), 1.0), ValueError, "shape"),
        (lambda f: f.hypot3(1j, 2.0, 3.0), NotImplementedError, "'hypot3' is not implemented for arrays of complex"),
        (lambda f: f.blur(jnp.ones(5, int), [1]), NotImplementedError, "'blur' is not implemented for arrays of int64"),
        (lambda f: f.weighted_sum(jnp.ones(2), [1.0]), TypeError, "'tensors' has to be a list of arrays"),
        (lambda f: f.tempered(jnp.ones(2), -1.0), RuntimeError, "the floor has to be positive, but is -1.0"),
        (lambda f: jax.jit(f.scaled)(jnp.ones(2), 2.0), TypeError, "'factor' has to be known while the function is"),
        (lambda f: f.hypot3(1.0, 2.0), TypeError, "missing 1 required positional argument: 'z'"),
        (lambda f: f.rms(jnp.ones((2, 2)), 5), ValueError, "axis 5 is out of bounds"),
        (lambda f: jax.jvp(f.rms, (jnp.ones(3),), (jnp.ones(3),)), TypeError, "custom_vjp"),
    ],
)
def test_wrong_calls(package: tuple[Any, Any], call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(package[0])


def test_explain_shows_one_operator(project: Project) -> None:
    finished = codegen("explain", "logcosh", "--target", "jax", folder=project.folder)
    assert finished.returncode == 0, finished.stderr
    assert "def logcosh(self: ArrayLike, *, scale: float = 1.0) -> Array:" in finished.stdout
    assert f"    # {PACKAGE}/derivatives.yaml:" in finished.stdout
    assert "_logcosh.defvjp(_logcosh_forward, _logcosh_backward)" in finished.stdout
