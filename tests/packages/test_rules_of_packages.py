"""Rules of a package's operators: asked for in its table, and refused where a formula calls what they lack."""

from __future__ import annotations

from support.own_packages import Project

OPERATOR = """
- func: bent(Tensor self) -> Tensor
  variants: function
  elementwise: self * self
"""
PROGRAM = """
import numpy as np
from mylib._generated.rules import RULES
rule = RULES["bent"]
x = np.array([1.0, 2.0])
(gradient,) = rule.vjp(rule.save(x * x, x), np.ones(2), (True,))
print(gradient.tolist())
"""


def test_rules_beside_the_package(project: Project) -> None:
    project.configure('targets = ["rules"]')
    project.append("native_functions.yaml", OPERATOR)
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    assert project.output(PROGRAM) == "[2.0, 4.0]"
    project.generate("--target", "python", "--no-verify")
    assert project.file("_generated/rules/rules.py").exists()


def test_what_can_not_be_written_is_an_error_with_the_place_of_the_formula(project: Project) -> None:
    project.configure('targets = ["rules"]')
    project.append("native_functions.yaml", OPERATOR.replace("self * self", "lgamma(self)"))
    finished = project.generate("--no-verify")
    assert finished.returncode == 1
    assert "'bent' can not be written as rules: 'digamma' has no kernel over the array API" in finished.stderr
    assert not project.file("_generated/rules").exists()


def test_targets_that_there_are_not(project: Project) -> None:
    project.configure('targets = ["rule"]')
    assert "no target 'rule'" in project.generate("--no-verify").stderr
