"""`gradwright lint` and `gradwright fix` in a package."""

from __future__ import annotations

import json
import shutil

import pytest

from support.documents import ROOT
from support.own_packages import Project

TWICE = "\n- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n"
KERNEL = "\n\ndef twice(self: Array) -> Array:\n    self *= 2\n    return self\n"


@pytest.fixture
def careless(project: Project) -> Project:
    """A project with an operator that has neither samples nor a derivative, and writes to its argument."""
    project.append("native_functions.yaml", TWICE)
    project.append("kernels.py", KERNEL)
    return project


def codes(text: str) -> list[str]:
    return [line[-6:-1] for line in text.splitlines() if line.endswith("]") and ": warning: " in line]


def test_a_new_project_has_no_findings(project: Project) -> None:
    linted = project.generate("lint")
    assert (linted.returncode, linted.stdout, linted.stderr) == (0, "nothing found\n", "")


def test_findings_are_warnings_of_a_generation_and_fail_lint(careless: Project) -> None:
    generated = careless.generate()
    assert generated.returncode == 0
    assert codes(generated.stderr) == ["GW060", "GW061", "GW064"]
    assert generated.stderr.endswith("\n3 warnings\n")
    assert "2 operators" in generated.stdout
    linted = careless.generate("lint")
    assert linted.returncode == 1
    assert linted.stderr == generated.stderr
    found = json.loads(careless.generate("lint", "--json").stdout)
    assert [(each["code"], each["severity"]) for each in found] == [(code, "warning") for code in codes(linted.stderr)]


def test_a_variant_that_writes_to_out_has_neither_samples_nor_a_derivative(project: Project) -> None:
    entry = "  dispatch: {CPU: twice}\n  promotion: int_to_float\n"
    project.append(
        "native_functions.yaml",
        f"\n- func: twice(Tensor self) -> Tensor\n{entry}  samples:\n  - T(3)\n"
        f"- func: twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n{entry}",
    )
    project.append("derivatives.yaml", "\n- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n")
    project.append("kernels.py", "\n\ndef twice(self: Array) -> Array:\n    return self * 2.0\n")
    assert codes(project.generate().stderr) == []


def test_a_finding_can_be_allowed(careless: Project) -> None:
    file = careless.file("native_functions.yaml")
    file.write_text(file.read_text().replace("- func: twice", "# allow GW060, GW061: it is an example\n- func: twice"))
    assert codes(careless.generate("lint").stderr) == ["GW064"]
    file.write_text(file.read_text().replace("GW061", "GW062"))
    assert codes(careless.generate("lint").stderr) == ["GW066", "GW061", "GW064"]


def test_errors_come_before_findings(careless: Project) -> None:
    careless.append("derivatives.yaml", "- name: twise(Tensor self) -> Tensor\n  self: grad\n")
    linted = careless.generate("lint")
    assert linted.returncode == 1
    assert "[GW030]" in linted.stderr
    assert codes(linted.stderr) == []


MISTAKES = """
- name: twise(Tensor self) -> Tensor
  self: gard.mull(2)
  result: auto_linear
"""


def test_fix_follows_hints_until_there_are_none(careless: Project) -> None:
    careless.append("derivatives.yaml", MISTAKES)
    file = careless.file("derivatives.yaml")
    before = file.read_text()
    shown = careless.generate("fix", "--diff")
    assert shown.returncode == 0, shown.stderr
    assert "+- name: twice(Tensor self) -> Tensor\n+  self: grad.mul(2)\n" in shown.stdout
    assert shown.stderr == "3 words would be replaced; 0 errors would be left\n"
    assert file.read_text() == before
    fixed = careless.generate("fix")
    assert fixed.returncode == 0, fixed.stderr
    assert fixed.stdout == (
        "mylib/derivatives.yaml:7:9: 'twise' is now 'twice'\n"
        "mylib/derivatives.yaml:8:9: 'gard' is now 'grad'\n"
        "mylib/derivatives.yaml:8:14: 'mull' is now 'mul'\n"
        "3 words replaced; 0 errors left\n"
    )
    assert file.read_text() == before.replace("twise", "twice").replace("gard", "grad").replace("mull", "mul")
    again = careless.generate("fix")
    assert (again.returncode, again.stdout) == (0, "0 words replaced; 0 errors left\n")


def test_former_names_of_keys_are_read_and_replaced(careless: Project) -> None:
    careless.append("native_functions.yaml", "  exclusive: True\n")
    assert careless.generate("--no-verify").returncode == 0
    linted = careless.generate("lint", "--no-verify")
    assert "GW067" in codes(linted.stderr)
    assert "'exclusive' is called 'no_overlap' now [GW067]" in linted.stderr
    fixed = careless.generate("fix")
    assert "'exclusive' is now 'no_overlap'\n1 word replaced; 0 errors left\n" in fixed.stdout
    assert "  no_overlap: True\n" in careless.file("native_functions.yaml").read_text()
    assert "GW067" not in codes(careless.generate("lint", "--no-verify").stderr)


def test_what_fix_can_not_mend_is_left_and_shown(careless: Project) -> None:
    careless.append("native_functions.yaml", "  sampels:\n  - T(3)\n  xyzzy: 1\n")
    fixed = careless.generate("fix")
    assert fixed.returncode == 1
    assert "'sampels' is now 'samples'\n1 word replaced; 1 error left\n" in fixed.stdout
    assert "unknown key 'xyzzy' [GW004]" in fixed.stderr


def test_fix_writes_the_packages_own_yaml_only(careless: Project) -> None:
    """A key of the table is not in the YAML, and a hint about it is for its author."""
    careless.configure('kernel = "kernels.py"')
    before = (careless.folder / "pyproject.toml").read_text()
    assert careless.generate("fix").returncode == 1
    assert (careless.folder / "pyproject.toml").read_text() == before


def test_files_keep_their_line_ends_and_marks(careless: Project) -> None:
    file = careless.file("derivatives.yaml")
    text = "\ufeff" + (file.read_text() + MISTAKES).replace("\n", "\r\n")
    file.write_bytes(text.encode())
    assert careless.generate("fix").returncode == 0
    mended = text.replace("twise", "twice").replace("gard", "grad").replace("mull", "mul")
    assert file.read_bytes() == mended.encode()


def test_a_name_of_gradwrights_is_not_what_was_meant(careless: Project) -> None:
    """An entry is about an operator of the package: 'relu' would be refused."""
    careless.append("derivatives.yaml", "\n- name: relux(Tensor self) -> Tensor\n  self: grad\n")
    fixed = careless.generate("fix")
    assert fixed.stdout == "0 words replaced; 1 error left\n"
    assert "relu'" not in fixed.stderr


def test_what_new_writes_has_no_findings(project: Project) -> None:
    assert project.generate("new", "mish2(Tensor self, Tensor other, *, float beta) -> Tensor").returncode == 0
    assert project.generate("lint").stdout == "nothing found\n"


def test_the_file_of_a_backend_is_mended_too(project: Project) -> None:
    project.configure('dispatch_keys = ["NPU"]')
    shutil.copy(ROOT / "examples" / "backend" / "toynpu" / "arrays.py", project.file("arrays.py"))
    file = project.file("npu.yaml")
    file.write_text("backend: NPU\narrays: arrays\nsupported:\n- rellu\n")
    fixed = project.generate("fix")
    assert fixed.stdout == "mylib/npu.yaml:4:3: 'rellu' is now 'relu'\n1 word replaced; 0 errors left\n", fixed.stderr
    assert file.read_text().endswith("- relu\n")
