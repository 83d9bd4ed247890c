"""What a generation proves: the rules that have changed, at their places in the YAML."""

from __future__ import annotations

import re
import subprocess

import pytest
from own_packages import Project

TWICE = """
- func: twice(Tensor self) -> Tensor
  dispatch:
    CPU: twice
  samples:
  - T(3, 4)
"""
KERNEL = "\n\ndef twice(self: Array) -> Array:\n    return self * 2\n"
RULE = "\n- name: twice(Tensor self) -> Tensor\n  self: grad * {}\n"


def generate(project: Project, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return project.run("-m", "codegen", *arguments, **{"GRADWRIGHT_VERIFY": "1", **variables})


@pytest.fixture
def wrong(project: Project) -> Project:
    """A project with a rule that is off by a factor."""
    project.append("native_functions.yaml", TWICE)
    project.append("kernels.py", KERNEL)
    project.append("derivatives.yaml", RULE.format(4))
    return project


def mend(project: Project) -> None:
    file = project.file("derivatives.yaml")
    file.write_text(file.read_text().replace("grad * 4", "grad * 2"))


def test_a_wrong_rule_is_an_error_at_its_place_until_it_is_mended(wrong: Project) -> None:
    for _ in range(2):  # the second run has nothing to generate
        finished = generate(wrong)
        assert finished.returncode == 1, finished.stderr
        assert "derivatives.yaml:" in finished.stderr
        assert "error: gradient of 'self' is off by the factor 2 at element" in finished.stderr
        assert "[GW070]" in finished.stderr
        assert "  self: grad * 4\n        ^~~~~~~~" in finished.stderr
        assert finished.stderr.endswith("\n1 error\n")
        assert wrong.file("_generated/nodes.py").exists()
    mend(wrong)
    finished = generate(wrong)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines()[-1].startswith("proven: twice: ")
    finished = generate(wrong)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "proven" not in finished.stdout


def test_only_what_has_changed_is_proven(wrong: Project) -> None:
    mend(wrong)
    first = generate(wrong).stdout.splitlines()[-1]
    assert "twice" in first
    assert ", " in first  # all are new
    file = wrong.file("kernels.py")
    file.write_text(file.read_text().replace("return self * 2", "return 2 * self"))
    assert generate(wrong).stdout.splitlines()[-1].startswith("proven: twice: ")


@pytest.mark.parametrize("how", ["option", "variable"])
def test_it_can_be_left_out(wrong: Project, how: str) -> None:
    finished = generate(wrong, "--no-verify") if how == "option" else generate(wrong, GRADWRIGHT_VERIFY="0")
    assert (finished.returncode, finished.stderr) == (0, "")


def test_verify_in_a_package(wrong: Project) -> None:
    assert generate(wrong, "--no-verify").returncode == 0
    finished = generate(wrong, "verify", "twice")
    assert finished.returncode == 1
    assert "is off by the factor 2" in finished.stderr
    assert "'mylib._generated')" in finished.stderr
    assert "gradient\t0 proven\t1 refuted" in finished.stdout


def test_functions_that_do_not_load_are_an_error_at_their_place(wrong: Project) -> None:
    wrong.append("kernels.py", "\nfrom numpy import arrray\n")
    finished = generate(wrong)
    assert finished.returncode == 1
    assert re.match(r"mylib/kernels\.py:\d+:1: error: this module does not load: ImportError: cannot ", finished.stderr)
    assert "\nfrom numpy import arrray\n" in finished.stderr
    assert wrong.file("_generated/nodes.py").exists()


def test_a_helper_that_is_declared_linear_is_proven_so(project: Project) -> None:
    project.append("native_functions.yaml", TWICE)
    project.append("kernels.py", KERNEL)
    project.append("derivatives.yaml", RULE.format(2).replace("grad * 2", "doubled(grad)"))
    project.append(
        "helpers.py",
        "from gradwright import Tensor, ops\nfrom gradwright.library import linear_in\n\n\n"
        '@linear_in("grad")\ndef doubled(grad: Tensor) -> Tensor:\n    return ops.abs(grad) * 2\n',
    )
    finished = generate(project)
    assert "linear" in finished.stderr.partition("refuted are ")[2]
    file = project.file("helpers.py")
    # Twice the gradient, for a reason that the source does not show.
    file.write_text(file.read_text().replace("ops.abs(grad) * 2", "ops.log(ops.exp(grad)) * 2"))
    finished = generate(project)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "proven: twice" in finished.stdout


def test_causes_and_real_results(project: Project) -> None:
    sized = TWICE.replace("twice", "sized").replace("  samples", "  promotion: int_to_float\n  samples")
    pair = TWICE.replace("self) -> Tensor", "self) -> (Tensor, Tensor)").replace("twice", "pair")
    project.append("native_functions.yaml", TWICE + TWICE.replace("twice", "thrice") + pair + sized)
    project.append(
        "kernels.py",
        KERNEL + "\n\ndef thrice(self: Array) -> Array:\n    return self * 3\n"
        "\n\ndef pair(self: Array) -> tuple[Array, Array]:\n    return self * 2, self * 3\n"
        "\n\ndef sized(self: Array) -> Array:\n    return np.abs(self) ** 2\n",
    )
    project.append(
        "derivatives.yaml",
        RULE.format("2.00008")
        + RULE.format("3")
        .replace("twice", "thrice")
        .replace("grad * 3", "'grad.is_complex() ? real(grad) * 3 : grad * 3'")
        + "\n- name: pair(Tensor self) -> (Tensor, Tensor)\n  self: grads[0] * 3 + grads[1] * 2\n"
        + "\n- name: sized(Tensor self) -> Tensor\n  self: grad * 2 * self\n",
    )
    finished = generate(project)
    assert "gradient of 'self' is off by the factor 1.00004 at" in finished.stderr
    assert "gradient of 'self' is without its imaginary part at" in finished.stderr
    assert "gradient of 'self' is wrong at" in finished.stderr  # of the pair: nothing simple explains it
    assert finished.stderr.endswith("\n3 errors\n")  # the formula of `sized` is right as it is
    assert "GW056" not in finished.stderr
