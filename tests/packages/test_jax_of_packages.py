"""A package's operators for JAX: what is written, how each is differentiated, and what is refused with its place."""

from __future__ import annotations

import ast
import re

import pytest

from support.own_packages import Project

STANDARD = {"__future__", "collections", "dataclasses", "typing"}
ELEMENTWISE = """
- func: bent(Tensor self) -> Tensor
  elementwise: self * erf(self)
"""
KERNEL = """
- func: {signature}
  dispatch:
    CPU: {name}
{more}
"""
PAIR = """
- func: smoothed(Tensor self) -> Tensor
  dispatch:
    CPU: smoothed
  samples:
  - T(3)
- func: tilted(Tensor self) -> Tensor
  dispatch:
    CPU: tilted
  samples:
  - T(3)
"""
WAVES = """
from scipy import fft


def waves(self: Array) -> Array:
    return fft.fft(self)
"""
LOOKING = """

def looked(grad: Tensor, self: Tensor) -> Tensor:
    return grad if self.sum().item() > 0 else grad * 2
"""
PAIR_KERNELS = """

def smoothed(self: Array) -> Array:
    return self


def tilted(self: Array) -> Array:
    return self
"""


def generated(project: Project) -> str:
    """What is written of the operators."""
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    return project.file("jax/functions.py").read_text()


def refused(project: Project) -> str:
    """What is said of operators that can not be written; none of them is."""
    finished = project.generate("--no-verify")
    assert finished.returncode == 1
    assert not project.file("jax").exists()
    return finished.stderr


@pytest.fixture(autouse=True)
def _target(project: Project) -> None:
    project.configure('targets = ["jax"]')


def test_it_imports_jax_and_numpy_alone(project: Project) -> None:
    project.append("native_functions.yaml", ELEMENTWISE)
    generated(project)
    for file in project.file("jax").glob("*.py"):
        text = file.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert str(node.module).partition(".")[0] in (
                    "__future__",
                    "collections",
                    "dataclasses",
                    "typing",
                    "jax",
                )
            elif isinstance(node, ast.Import):
                assert {each.name for each in node.names} <= {"functools", "math", "jax", "jax.numpy", "numpy"}
        assert max(map(len, text.splitlines())) <= 120, file
    assert project.file("jax/py.typed").exists()
    again = project.generate("--check", "--no-verify")
    assert again.returncode == 0, again.stderr


def test_an_expression_is_written_with_functions_of_jax(project: Project) -> None:
    project.append("native_functions.yaml", ELEMENTWISE)
    text = generated(project)
    assert "return self * special.erf(self)" in text
    assert "from jax.scipy import special" in text
    assert re.search(r"# mylib/native_functions.yaml:\d+  elementwise: self \* erf\(self\)", text)


def test_a_tangent_that_a_kernel_would_get_makes_it_a_function_of_gradients(project: Project) -> None:
    project.append("native_functions.yaml", PAIR)
    project.append("kernels.py", PAIR_KERNELS)
    project.append(
        "derivatives.yaml",
        """
- name: smoothed(Tensor self) -> Tensor
  self: grad * 2
  result: self_t * 2
- name: tilted(Tensor self) -> Tensor
  self: smoothed(grad)
  result: smoothed(self_t)
""",
    )
    text = generated(project)
    assert re.search(r"@jax.custom_jvp\ndef _smoothed\(", text)
    assert re.search(r"@jax.custom_vjp\ndef _tilted\(", text)


def test_a_kernel_of_something_else_than_numpy_is_refused(project: Project) -> None:
    project.append("kernels.py", WAVES)
    project.append(
        "native_functions.yaml", KERNEL.format(signature="waves(Tensor self) -> Tensor", name="waves", more="")
    )
    message = refused(project)
    assert re.search(r"mylib/kernels.py:\d+:\d+: error: 'waves' can not be written for JAX: ", message)
    assert "'scipy.fft.fft' is used, which is not translated [GW015]" in message


@pytest.mark.parametrize(
    ("signature", "more", "reason"),
    [
        (
            "noisy(Tensor self, *, Generator? generator=None) -> Tensor",
            "  tags: nondeterministic_seeded",
            "it draws random numbers without a key, which JAX has not",
        ),
        ("counted(Tensor self) -> int", "", "it gives 'int', which is no Tensor"),
        (
            "found(Tensor self) -> Tensor",
            "  tags: dynamic_output_shape",
            "the shape of its result follows from values, which are not known when it is traced",
        ),
        (
            "overshadowed(Tensor common) -> Tensor",
            "",
            "its argument 'common' has the name of a function that it uses",
        ),
    ],
)
def test_operators_that_jax_has_nothing_for(project: Project, signature: str, more: str, reason: str) -> None:
    name = signature.partition("(")[0]
    arguments = re.search(r"Tensor (\w+)", signature)
    assert arguments is not None
    further = ", generator: object = None" if "Generator" in signature else ""
    project.append(
        "kernels.py", f"\n\ndef {name}({arguments[1]}: Array{further}) -> Array:\n    return {arguments[1]}\n"
    )
    project.append("native_functions.yaml", KERNEL.format(signature=signature, name=name, more=more))
    message = refused(project)
    assert f"'{name}' can not be written for JAX: {reason}" in message
    assert re.search(r"mylib/native_functions.yaml:\d+:\d+: error", message)


def test_what_a_formula_calls_and_jax_has_not_is_an_error_with_the_place_of_the_formula(project: Project) -> None:
    project.append("native_functions.yaml", ELEMENTWISE.replace("self * erf(self)", "special_bessel_j0(self)"))
    message = refused(project)
    assert "'special_bessel_j0' has no kernel over the array API, and JAX no function of its kind" in message


def test_a_helper_that_looks_at_values_is_an_error_with_its_place(project: Project) -> None:
    project.append("native_functions.yaml", PAIR.partition("- func: tilted")[0])
    project.append("kernels.py", PAIR_KERNELS)
    project.append("helpers.py", LOOKING)
    project.append("derivatives.yaml", "\n- name: smoothed(Tensor self) -> Tensor\n  self: looked(grad, self)\n")
    message = refused(project)
    assert "values of a Tensor are asked for, which are not known when a function is traced" in message
    assert "derivatives.yaml" in message


def test_names_of_python_keep_their_meaning(project: Project) -> None:
    project.append("native_functions.yaml", ELEMENTWISE.replace("bent", "tuple"))
    project.append("native_functions.yaml", ELEMENTWISE.replace("bent", "special").replace("self", "special"))
    text = generated(project)
    assert "def tuple_(" in text
    assert "def special_(special: ArrayLike)" in text
    assert "return special_ * special.erf(special_)" in text
    assert "tuple_ as tuple," in project.file("jax/__init__.py").read_text()


def test_a_changed_file_is_found_beside_the_other_output(project: Project) -> None:
    project.append("native_functions.yaml", ELEMENTWISE)
    generated(project)
    project.append("jax/functions.py", "# changed\n")
    finished = project.generate("--check", "--no-verify")
    assert finished.returncode == 1
    assert "mylib/_generated is not what the YAML gives: ../jax/functions.py" in finished.stderr
    assert "# changed" not in generated(project)


KERNELS = """
import functools
from dataclasses import dataclass

from mylib.more import doubled as twice

SIZES: dict[str, int] = {"one": 1}


@dataclass
class Factor:
    value: int = 1


@functools.cache
def factor() -> Factor:
    return Factor()


def smoothed(self: Array) -> Array:
    result = np.zeros_like(self)
    with np.errstate(all="ignore"):
        try:
            result[...] += twice(self)
        finally:
            pass
    if (count := len(SIZES)) > 0:
        result *= {name: size for name, size in SIZES.items()}["one"] * factor().value << 0
    return result * count
"""


def test_kernels_come_along_with_what_they_need(project: Project) -> None:
    kernels = project.file("kernels")
    text = project.file("kernels.py").read_text()
    project.file("kernels.py").unlink()
    kernels.mkdir()
    (kernels / "first.py").write_text(text + KERNELS.replace("mylib.more", "mylib.kernels.more"))
    (kernels / "more.py").write_text(
        "import numpy\n\n\ndef doubled(x: numpy.ndarray) -> numpy.ndarray:\n    return x + x\n"
    )
    project.append("native_functions.yaml", PAIR.partition("- func: tilted")[0])
    generated(project)
    assert project.output(RUN) == "[2.0, 4.0]"


RUN = """
import importlib.util
import numpy as np
spec = importlib.util.spec_from_file_location("alone", "mylib/jax/kernels.py")
alone = importlib.util.module_from_spec(spec)
import sys
sys.modules["alone"] = alone
spec.loader.exec_module(alone)
print(alone.smoothed(np.array([1.0, 2.0])).tolist())
"""
