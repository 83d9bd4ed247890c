"""`python -m codegen` from the outside: files, exit codes, messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.commands.main import COMMANDS
from support.documents import ROOT, contents
from support.in_process import codegen, status_of

NATIVE = """\
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: mul
  promotion: default
  tags: pointwise
  autogen: mul_.Tensor, mul.out
  python_operator: self * other, other * self
- func: conj(Tensor(a) self) -> Tensor(a)
  variants: function, method
  python_operator: conj(self)
  samples:
  - T(3, 4)
"""
DERIVATIVES = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other.conj()
  other: grad * self.conj()
  result: self_t * other_p + other_t * self_p
"""
FILES = ["--native-functions", "native_functions.yaml", "--derivatives", "derivatives.yaml", "--out", "out"]
OPTIONS = [*FILES, "--strict"]
WITHOUT_FORWARD = DERIVATIVES[: DERIVATIVES.index("  result")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "native_functions.yaml").write_text(NATIVE)
    (tmp_path / "derivatives.yaml").write_text(WITHOUT_FORWARD)
    return tmp_path


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return codegen(*words, *OPTIONS, folder=project)


def test_generate_writes_the_output_and_says_so(project: Path) -> None:
    done = run(project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 operators, 1 Nodes, 2 formulas: ")
    files = contents(project / "out")
    assert {"nodes.py", "operators.py", "packets.py", "methods.py", "registry.py", "manifest.json"} <= set(files)
    assert b"class MulBackward0(RecordedNode):" in files["nodes.py"]


def test_output_is_reproducible_and_written_only_when_changed(project: Path) -> None:
    run(project)
    first = contents(project / "out")
    times = {path.name: path.stat().st_mtime_ns for path in (project / "out").iterdir()}
    again = run(project)
    assert f"0 of {len(first)} files" in again.stdout
    assert contents(project / "out") == first
    assert {path.name: path.stat().st_mtime_ns for path in (project / "out").iterdir()} == times


def test_check_fails_when_output_is_missing_or_stale_and_names_the_command(project: Path) -> None:
    missing = run(project, "--check")
    assert missing.returncode == 1
    assert "run: python -m codegen --native-functions native_functions.yaml" in missing.stderr
    assert not (project / "out").exists()
    run(project)
    assert run(project, "--check").returncode == 0
    (project / "derivatives.yaml").write_text(WITHOUT_FORWARD.replace("grad * other.conj()", "other.conj() * grad"))
    stale = run(project, "--check")
    assert stale.returncode == 1
    assert "nodes.py" in stale.stderr


def test_files_that_are_no_longer_made_are_removed(project: Path) -> None:
    run(project)
    (project / "out" / "old.py").write_text("x = 1\n")
    assert run(project, "--check").returncode == 0  # it may be by hand
    manifest = project / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"files": {', '"files": {"old.py": "",'))
    assert run(project, "--check").returncode == 1
    run(project)
    assert not (project / "out" / "old.py").exists()


def test_a_failed_run_leaves_the_last_good_output(project: Path) -> None:
    run(project)
    good = contents(project / "out")
    (project / "derivatives.yaml").write_text(DERIVATIVES.replace("grad * other", "grad * othr"))
    failed = run(project)
    assert failed.returncode == 1
    assert "derivatives.yaml:2:16: error: unknown name 'othr'" in failed.stderr
    assert "hint: did you mean 'other'?" in failed.stderr
    assert contents(project / "out") == good


def test_diagnostics_as_json(project: Path) -> None:
    (project / "derivatives.yaml").write_text(DERIVATIVES.replace("grad * other", "grad * othr"))
    failed = run(project, "--json")
    assert failed.returncode == 1
    first = json.loads(failed.stdout)[0]
    assert (first["file"], first["line"], first["column"]) == ("derivatives.yaml", 2, 16)
    assert first["hint"] == "did you mean 'other'?"
    assert first["code"] == "GW033"
    assert (first["replacement"]["column"], first["replacement"]["text"]) == (16, "other")


@pytest.mark.parametrize("words", [[], ["explain", "mul.Tensor"], ["list"]])
@pytest.mark.parametrize("is_generated", [False, True])
def test_a_missing_file_is_an_error_with_a_name(project: Path, words: list[str], is_generated: bool) -> None:
    if is_generated:
        assert run(project).returncode == 0
    options = ["--native-functions", "nowhere.yaml", "--derivatives", "derivatives.yaml", "--out", "out"]
    failed = codegen(*words, *options, folder=project)
    assert failed.returncode == 1
    assert failed.stderr.startswith("nowhere.yaml:1:1: error: cannot read the file")


@pytest.mark.parametrize(
    "words",
    [["--target", "fortran"], ["lint", "--diff"], ["fix", "mul"], ["explain"], ["list", "mul"], ["--nonsense"]],
)
def test_wrong_usage_exits_with_2(words: list[str]) -> None:
    assert codegen(*words).returncode == 2


def test_help_lists_the_commands() -> None:
    done = codegen("--help")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if re.match(r"    \S", line)] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_options_of_its_own(name: str) -> None:
    done = codegen(name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: python -m codegen {name} ")
    assert ("--sanitize" in done.stdout) == (name == "build")
    assert ("--warn" in done.stdout) == (name in ("generate", "watch", "build"))
    assert ("--diff" in done.stdout) == (name in ("fix", "format"))


def test_an_unknown_command_is_told_which_there_are() -> None:
    done = codegen("lsit")
    assert done.returncode == 2
    assert "invalid choice: 'lsit'" in done.stderr
    assert "'list'" in done.stderr


def test_list_and_explain(project: Path) -> None:
    listed = run(project, "list")
    assert "mul.Tensor\tkernel\tMulBackward0" in listed.stdout
    assert json.loads(run(project, "list", "--json").stdout)[0]["name"] == "mul.Tensor"
    explained = run(project, "explain", "mul.Tensor", "--code").stdout
    for part in (
        "mul.Tensor(Tensor self, Tensor other) -> Tensor",
        "CPU: runtime.operators.kernels.arithmetic.mul",
        "self: grad * other.conj()",
        "other: an input, for the gradient of self",
        "class MulBackward0(RecordedNode):",
        "def mul_Tensor(self, other=absent, *, out=None):",
    ):
        assert part in explained
    unknown = run(project, "explain", "mull.Tensor")
    assert unknown.returncode == 2
    assert "did you mean 'mul.Tensor'?" in unknown.stderr


def test_generation_does_not_import_the_runtime(project: Path) -> None:
    """A broken runtime or a stale output can never stop a regeneration."""
    script = (
        "import sys, codegen.__main__ as m; status = m.main(sys.argv[1:]); "
        "print(status, [n for n in ('runtime', 'generated') if n in sys.modules])"
    )
    words = [sys.executable, "-c", script, *OPTIONS]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n0 []\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "codegen", "explain", "GW012"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        said = run.stderr.read().decode()
    assert run.returncode == 141
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "--json"],
        ["list", "--native"],
        ["explain", "mul.Tensor"],
        ["report"],
        ["lint"],
        ["lint", "--json"],
        ["format", "--check"],
    ],
)
def test_each_command_heeds_that_its_reader_goes_away(words: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with (tmp_path / "said").open("w+") as said:
        with os.fdopen(writing, "w") as pipe:  # which is flushed when it is closed, as at the end of a process
            assert status_of(words, pipe, said) == 141
        said.seek(0)
        assert said.read() == ""


@pytest.mark.parametrize(
    ("option", "place", "status"),
    [
        ("--out", "file", 2),
        ("--out", "file/below", 2),
        ("--native-functions", "folder", 1),
        ("--native-functions", "missing", 1),
        ("--derivatives", "folder", 1),
        ("--derivatives", "file/below", 1),
        ("--tags", "folder", 1),
        ("--helpers", "folder", 1),
    ],
)
def test_paths_that_can_not_be_read_or_written_are_said(project: Path, option: str, place: str, status: int) -> None:
    (project / "file").write_text("")
    (project / "folder").mkdir()
    options = {"--native-functions": "native_functions.yaml", "--derivatives": "derivatives.yaml", "--out": "out"}
    options[option] = place
    for more in ([], ["--check"]) if status == 1 else ([],):
        done = codegen("--strict", *more, *(word for pair in options.items() for word in pair), folder=project)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        assert "rror" in done.stderr
        assert place.partition("/")[0] in done.stderr


@pytest.mark.parametrize("more", [[], ["--strict"]])
def test_an_in_place_operator_has_no_in_place_variant(project: Path, more: list[str]) -> None:
    entry = "- func: xx_(Tensor(a!) self) -> Tensor(a!)\n  variants: method\n  dispatch: {CPU: xx}\n  autogen: yy_\n"
    (project / "native_functions.yaml").write_text(entry)
    (project / "derivatives.yaml").write_text("[]\n")
    done = codegen(
        "--native-functions", "native_functions.yaml", "--derivatives", "derivatives.yaml", "--out", "out", *more,
        folder=project,
    )  # fmt: skip
    assert done.returncode == 1
    assert "'yy_' is no variant of 'xx_'" in done.stderr
    assert "Traceback" not in done.stderr


NOT_CONJUGATED = WITHOUT_FORWARD.replace("grad * self.conj()", "grad * self")


@pytest.mark.parametrize("command", [(), ("--check",), ("--json",)])
def test_strict_takes_warnings_for_errors(command: tuple[str, ...], project: Path) -> None:
    (project / "derivatives.yaml").write_text(NOT_CONJUGATED)
    done = run(project, *command)
    assert done.returncode == 1
    said = done.stdout if command == ("--json",) else done.stderr
    assert "GW056" in said
    assert "warning" not in said
    assert not (project / "out").exists()


def test_warn_says_what_somebody_elses_formulas_lack(project: Path) -> None:
    (project / "derivatives.yaml").write_text(NOT_CONJUGATED)
    words = [*FILES, "--target", "python", "--no-verify"]
    silent = codegen(*words, folder=project)
    assert silent.returncode == 0, silent.stderr
    assert silent.stderr == ""
    assert "1 findings, no errors" in silent.stdout
    done = codegen(*words, "--warn", folder=project)
    assert done.returncode == 0, done.stderr
    assert "derivatives.yaml:3:17: warning: a conjugate is missing" in done.stderr
    assert re.search(r": 0 of \d+ files written", done.stdout)
    assert "findings" not in done.stdout


@pytest.mark.parametrize("words", [("--warn", "--strict"), ("--warn", "--json"), ("list", "--warn")])
def test_warn_is_for_runs_that_generate(words: tuple[str, ...], project: Path) -> None:
    done = codegen(*words, folder=project)
    assert done.returncode == 2
    assert "--warn" in done.stderr
