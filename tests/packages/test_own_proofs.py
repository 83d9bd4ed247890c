"""What a generation proves: the rules that have changed, at their places in the YAML."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from codegen import proof_outcomes
from codegen.output import stale_files
from codegen.paths import Paths
from codegen.project import read_project
from codegen.source import Diagnostics
from support.documents import ROOT
from support.own_packages import Project

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
    return project.generate(*arguments, **{"GRADWRIGHT_VERIFY": "1", **variables})


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


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("from numpy import arrray", "ImportError: cannot "),
        ("return 1", "SyntaxError: 'return' outside function"),
        ("from __future__ import annotations", "SyntaxError: from __future__ imports must occur at the beginning"),
    ],
)
def test_functions_that_do_not_load_are_an_error_at_their_place(wrong: Project, line: str, error: str) -> None:
    wrong.append("kernels.py", f"\n{line}\n")
    for _ in range(2):  # the second run has nothing to generate
        finished = generate(wrong)
        assert finished.returncode == 1
        start = rf"mylib/kernels\.py:\d+:1: error: this module does not load: {error}"
        assert re.match(start, finished.stderr), finished.stderr
        assert f"\n{line}\n" in finished.stderr
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


def assert_open(project: Project, message: str) -> None:
    """`--check` and `lint` fail, at a place of the YAML."""
    checked = generate(project, "--check")
    assert (checked.returncode, checked.stdout) == (1, "")
    assert f"error: {message} [GW074]" in checked.stderr
    linted = generate(project, "lint", "--json")
    (found,) = json.loads(linted.stdout)
    assert (found["code"], found["severity"], found["message"]) == ("GW074", "error", message)
    assert linted.returncode == 1


def test_a_refuted_rule_is_red_in_ci_until_it_is_mended(wrong: Project) -> None:
    assert generate(wrong).returncode == 1
    assert_open(wrong, "the rule of 'twice' is refuted")
    assert generate(wrong, "lint", "--no-verify").returncode == 0
    mend(wrong)
    assert generate(wrong).returncode == 0
    for words in (["--check"], ["lint"]):
        finished = generate(wrong, *words)
        assert (finished.returncode, finished.stderr) == (0, "")


def test_a_rule_that_was_not_proven_is_proven_by_the_next_run(wrong: Project) -> None:
    mend(wrong)
    assert generate(wrong, "--no-verify").returncode == 0
    assert_open(wrong, "not proven: squareplus, twice")
    finished = generate(wrong)  # which has nothing to generate
    assert re.search(r": 0 of \d+ files written", finished.stdout)
    assert finished.stdout.splitlines()[-1].startswith("proven: squareplus, twice: ")


def test_proofs_that_crash_prove_nothing(wrong: Project) -> None:
    wrong.append("kernels.py", "\nimport os; os.abort()\n")
    for _ in range(2):  # the second run has nothing to generate
        finished = generate(wrong)
        assert finished.returncode == 1
        assert finished.stderr == "error: not proven: squareplus, twice: the proofs ended with SIGABRT\n"


def _heed_interrupts() -> None:
    """What a shell starts in the background ignores interrupts, and so would all processes of these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_proofs_that_are_interrupted_say_so_in_a_line(wrong: Project) -> None:
    mark = wrong.folder / "begun"
    wrong.append("kernels.py", f"\nimport time\n\nopen({str(mark)!r}, 'w').close()\ntime.sleep(600)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADWRIGHT_VERIFY": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "codegen"], cwd=wrong.folder, env=environment, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=_heed_interrupts,
    ) as process:  # fmt: skip
        while not mark.exists() and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.communicate()[1] == "interrupted\n"
    assert process.returncode == 130
    assert not wrong.file("_generated/proofs.txt").exists()


def test_verify_keeps_what_it_finds(wrong: Project) -> None:
    assert generate(wrong, "--no-verify").returncode == 0
    assert generate(wrong, "verify", "twice").returncode == 1
    assert generate(wrong, "verify", "squareplus", "--property", "gradient").returncode == 0  # which is not all
    assert [line.split()[::2] for line in recorded(wrong)] == [["twice", "refuted"]]
    wrong.append("kernels.py", "\n")
    refused = generate(wrong, "verify", "--unproven")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "mylib/_generated is not what the YAML gives\nrun: python -m codegen\n" in refused.stderr


def test_nothing_is_proven_before_it_is_generated(project: Project) -> None:
    refused = generate(project, "verify")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "error: mylib/_generated is not what the YAML gives\nrun: python -m codegen\n"


def test_nothing_is_proven_of_yaml_that_was_not_generated(wrong: Project) -> None:
    assert generate(wrong, "--no-verify").returncode == 0
    wrong.append("derivatives.yaml", "# not generated yet\n")
    refused = generate(wrong, "verify")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "error: mylib/_generated is not what the YAML gives\nrun: python -m codegen\n"


def recorded(project: Project) -> list[str]:
    file = project.file("_generated/proofs.txt")
    return file.read_text().splitlines()[2:] if file.exists() else []


@pytest.fixture
def paths(project: Project) -> Paths:
    found = read_project(project.folder / "pyproject.toml", Diagnostics())
    assert found is not None
    found.output.mkdir()
    return found


RULES = {"a": "1" * 10, "b": "2" * 10}


def cells(**statuses: str) -> list[dict[str, str]]:
    return [{"operator": name, "property": "gradient", "status": status} for name, status in statuses.items()]


def test_what_is_known_is_known_of_one_rule(project: Project, paths: Paths) -> None:
    assert proof_outcomes.unproven(RULES, paths) == {"a": False, "b": False}
    proof_outcomes.keep(cells(a="proven", b="refuted"), RULES, paths)
    assert proof_outcomes.unproven(RULES, paths) == {"b": True}
    proof_outcomes.keep(cells(b="proven"), RULES, paths)
    assert proof_outcomes.unproven(RULES, paths) == {}
    changed = {"a": RULES["a"], "b": "3" * 10, "c": "4" * 10}
    assert proof_outcomes.unproven(changed, paths) == {"b": False, "c": False}
    proof_outcomes.keep(cells(c="proven"), changed, paths)
    assert recorded(project) == ["a 1111111111 proven", "c 4444444444 proven"]  # what was known of b is of no use


def test_what_the_core_computes_says_nothing_of_a_rule(paths: Paths) -> None:
    of_the_core = {"operator": "a", "property": "native", "status": "refuted"}
    proof_outcomes.keep([*cells(a="proven"), of_the_core], RULES, paths)
    assert proof_outcomes.unproven(RULES, paths) == {"b": False}


def test_a_merge_conflict_and_what_is_left_of_other_operators(project: Project, paths: Paths) -> None:
    proof_outcomes.keep(cells(a="proven"), RULES, paths)
    file = project.file("_generated/proofs.txt")
    assert "Commit it" in file.read_text()
    with file.open("a") as lines:
        lines.write("<<<<<<< HEAD\nb 2222222222 proven\n=======\nb 5555555555 refuted\n>>>>>>> other\ngone\n")
    assert proof_outcomes.unproven(RULES, paths) == {}
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert proof_outcomes.unproven(RULES, paths) == {}
    assert stale_files([], paths.output) == []
    project.file("_generated/refuted.txt").write_text("gone\n")  # of an earlier version
    assert stale_files([], paths.output) == ["refuted.txt"]


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
        "returned an array, and the schema wants 2 results",
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
        assert f"error: the kernel '{schema.partition('(')[0]}' {problem} (sample 1: " in finished.stderr
