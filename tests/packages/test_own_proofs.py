"""What a generation proves: the rules that have changed, at their places in the YAML."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from documents import ROOT
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


def assert_open(project: Project, message: str) -> None:
    """`--check` and `lint` fail, at a place of the YAML; unless they are told not to ask."""
    for words in (["--check"], ["lint"]):
        finished = generate(project, *words)
        assert (finished.returncode, finished.stdout) == (1, ""), words
        assert f"error: {message} [GW074]" in finished.stderr
        assert generate(project, *words, "--no-verify").returncode == 0
    assert json.loads(generate(project, "--check", "--json").stdout) == ["proofs.txt"]
    (found,) = json.loads(generate(project, "lint", "--json").stdout)
    assert (found["code"], found["severity"], found["message"]) == ("GW074", "error", message)


def assert_proven(project: Project) -> None:
    for words in (["--check"], ["lint"]):
        finished = generate(project, *words)
        assert (finished.returncode, finished.stderr) == (0, "")
    assert "proven" not in generate(project).stdout


def test_a_refuted_rule_is_red_in_ci_until_it_is_mended(wrong: Project) -> None:
    assert generate(wrong).returncode == 1
    assert_open(wrong, "the rule of 'twice' is refuted")
    mend(wrong)
    assert generate(wrong).returncode == 0
    assert_proven(wrong)


def test_a_rule_that_was_not_proven_is_proven_by_the_next_run(wrong: Project) -> None:
    mend(wrong)
    assert generate(wrong, "--no-verify").returncode == 0
    assert_open(wrong, "not proven: squareplus, twice")
    finished = generate(wrong)  # which has nothing to generate
    assert ": 0 of 10 files written" in finished.stdout
    assert finished.stdout.splitlines()[-1].startswith("proven: squareplus, twice: ")
    assert_proven(wrong)


def test_proofs_that_crash_prove_nothing(wrong: Project) -> None:
    mend(wrong)
    kernels = wrong.file("kernels.py")
    text = kernels.read_text()
    for kernel, reason in (
        ("import os; os.abort()", "the proofs ended with SIGABRT"),
        ("return self * 2", "ValueError"),
    ):
        kernels.write_text(
            text.replace("return self * 2", kernel) + ("\nraise ValueError\n" * (reason == "ValueError"))
        )
        for _ in range(2):
            finished = generate(wrong)
            assert finished.returncode == 1
            assert finished.stderr == f"error: not proven: squareplus, twice: {reason}\n"
    kernels.write_text(text)
    assert generate(wrong, "verify", "--unproven").returncode == 1  # what was generated is of the other kernels
    assert generate(wrong, "--no-verify").returncode == 0
    assert generate(wrong, "verify", "--unproven", "--jobs", "1").stdout.splitlines()[-1].startswith("2 operators: ")
    assert_proven(wrong)
    assert generate(wrong, "verify", "--unproven").stderr == "every rule is proven\n"


def test_proofs_that_are_interrupted_say_so_in_a_line(wrong: Project) -> None:
    assert generate(wrong, "--no-verify").returncode == 0
    kernels = wrong.file("kernels.py")
    mark = wrong.folder / "begun"
    slow = f"import time; open({str(mark)!r}, 'w').close(); time.sleep(600)"
    kernels.write_text(kernels.read_text().replace("return self * 2", slow))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADWRIGHT_VERIFY": "1"}
    for words in ([], ["verify", "twice"]):
        with subprocess.Popen(
            [sys.executable, "-m", "codegen", *words], cwd=wrong.folder, env=environment, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            while not mark.exists() and process.poll() is None:
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            assert process.communicate()[1] == "interrupted\n"
        assert process.returncode == 130
        mark.unlink()
    assert_open(wrong, "not proven: squareplus, twice")


def test_verify_keeps_what_it_finds(wrong: Project) -> None:
    assert generate(wrong, "--no-verify").returncode == 0
    assert generate(wrong, "verify", "twice").returncode == 1
    assert "twice" in wrong.file("_generated/proofs.txt").read_text()
    assert generate(wrong, "verify", "squareplus").returncode == 0
    assert_open(wrong, "the rule of 'twice' is refuted")
    mend(wrong)
    assert generate(wrong, "--no-verify").returncode == 0
    assert generate(wrong, "verify", "twice", "--property", "gradient").returncode == 0
    assert_open(wrong, "not proven: twice")  # some properties are not all
    assert generate(wrong, "verify", "twice").returncode == 0
    assert_proven(wrong)


def test_what_is_left_of_other_operators_is_nothing(wrong: Project) -> None:
    mend(wrong)
    assert generate(wrong).returncode == 0
    file = wrong.file("_generated/proofs.txt")
    comments, (first, second) = file.read_text().splitlines()[:2], file.read_text().splitlines()[2:]
    assert "Commit it" in comments[1]
    conflict = [
        "<<<<<<< HEAD",
        "twice 0123456789 refuted",
        "=======",
        second,
        ">>>>>>> other",
        "gone 0123456789 refuted",
    ]
    file.write_text("\n".join([*comments, first, *conflict]))
    wrong.file("_generated/refuted.txt").write_text("gone\n")  # of an earlier version
    assert "refuted.txt" in generate(wrong, "--check").stderr
    assert generate(wrong).returncode == 0
    assert not wrong.file("_generated/refuted.txt").exists()
    assert_proven(wrong)


def test_a_ledger_has_the_words_of_the_rules(wrong: Project) -> None:
    """What it says is proven, a checkout without the other file need not prove again."""
    mend(wrong)
    assert generate(wrong, "--no-verify").returncode == 0
    assert generate(wrong, "verify", "--update-ledger").returncode == 0
    rows = json.loads(wrong.file("coverage.json").read_text())["operators"]
    assert len(rows["twice"]["rule"]) == 10
    shutil.rmtree(wrong.file("_generated"))
    assert "proven" not in generate(wrong).stdout
    assert not wrong.file("_generated/proofs.txt").exists()
    assert_proven(wrong)
    wrong.file("kernels.py").write_text(wrong.file("kernels.py").read_text().replace("self * 2", "2 * self"))
    assert generate(wrong).stdout.splitlines()[-1].startswith("proven: twice: ")


def test_the_tests_of_init_take_composites(project: Project) -> None:
    """One that loses its history has wrong derivatives, and no formula that could be."""
    project.append("native_functions.yaml", "\n- func: mean_of_squares(Tensor self) -> Tensor\n  samples:\n  - T(3)\n")
    body = "    return ops.mean(self * self)\n"
    file = project.file("composites.py")
    file.write_text(f"from gradwright import Tensor, ops\n\n\ndef mean_of_squares(self: Tensor) -> Tensor:\n{body}")
    for text, status in ((body, 0), (body.replace("self * self", "self * self.detach()"), 1)):
        file.write_text(file.read_text().replace(body, text))
        assert generate(project, "--no-verify").returncode == 0
        tested = project.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
        assert tested.returncode == status, tested.stdout
    assert "mean_of_squares(T(3)) in float64" in tested.stdout
