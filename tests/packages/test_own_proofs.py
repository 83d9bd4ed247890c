"""What a generation proves: the rules that have changed, at their places in the YAML."""

from __future__ import annotations

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
        assert "error: gradient of 'self' is off by the factor 2.000 at element" in finished.stderr
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
    assert "is off by the factor 2.000" in finished.stderr
    assert "'mylib._generated')" in finished.stderr
    assert "gradient\t0 proven\t1 refuted" in finished.stdout


def test_output_that_does_not_load_stops_no_generation(wrong: Project) -> None:
    wrong.append("kernels.py", "\nraise ValueError\n")
    finished = generate(wrong)
    assert finished.returncode == 0
    assert "warning: the rules that have changed were not proven" in finished.stderr


# Kernels that hand back something else than the schema says, and what is said of each.
HANDED_BACK = {
    "my_view(Tensor self) -> Tensor": (
        "return self[:]",
        "returned memory of an argument, and the schema declares no view: return a copy",
    ),
    "my_itself(Tensor self) -> Tensor": (
        "return self",
        "returned memory of an argument, and the schema declares no view: return a copy",
    ),
    "my_copied(Tensor(a) self) -> Tensor(a)": ("return self.copy()", "returned a copy, and the schema declares a view"),
    "my_wide(Tensor self) -> Tensor": (
        'return self.astype("float64")',
        "returned float64 for float32: a constant of another type, perhaps",
    ),
    "my_fraction(Tensor self) -> Tensor": (
        'return self * 1 if self.dtype.kind in "fc" else self * 1.0',
        "returned float64 for int64: a constant of another type, perhaps",
    ),
    "my_none(Tensor self) -> Tensor": ("self * 1", "returned None, and the schema wants an array"),
    "my_number(Tensor self) -> Tensor": ("return 1.0", "returned a float, and the schema wants an array"),
    "my_listed(Tensor self) -> Tensor": ("return [1.0, 2.0]", "returned a list of 2, and the schema wants 1 result"),
    "my_few(Tensor self) -> (Tensor, Tensor)": (
        "return self * 1",
        "returned a ndarray, and the schema wants 2 results",
    ),
    "my_pair(Tensor self) -> (Tensor, Tensor)": (
        "return self * 1, None",
        "returned None, and the schema wants an array as result 1",
    ),
    "my_shared(Tensor self) -> (Tensor, Tensor)": (
        "made = self * 1\n    return made, made",
        "returned two results in one memory: return a copy",
    ),
    "my_written(Tensor self, Tensor other) -> Tensor": ("other += 1\n    return self * 1", "wrote to an argument"),
}


def test_what_a_kernel_hands_back_is_proven(project: Project) -> None:
    for schema, (body, _) in HANDED_BACK.items():
        name, of_two = schema.partition("(")[0], "other" in schema
        call, arguments = ("T(3), T(3)", "self, other") if of_two else ("T(3)", "self")
        project.append(
            "native_functions.yaml", f"\n- func: {schema}\n  dispatch: {{CPU: {name}}}\n  samples:\n  - {call}\n"
        )
        outputs = "  output_differentiability: [True, False]\n" if "(Tensor, Tensor)" in schema else ""
        other = "  other: non_differentiable\n" if of_two else ""
        project.append("derivatives.yaml", f"\n- name: {schema}\n{outputs}  self: grad\n{other}")
        project.append("kernels.py", f"\n\ndef {name}({arguments}):\n    {body}\n")
    finished = generate(project)
    assert finished.returncode == 1
    for schema, (_, problem) in HANDED_BACK.items():
        assert f"error: the kernel '{schema.partition('(')[0]}' {problem} at sample 1, " in finished.stderr
