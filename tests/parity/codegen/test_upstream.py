"""PyTorch's own YAML, unmodified, through the whole generator; what comes out is compared with PyTorch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from codegen import pipeline
from codegen.formula.typed import HelperCall, OperatorCall, walk
from codegen.targets.cpp import target as cpp
from support.compiling import complaints, needs_compiler
from support.documents import ROOT, contents
from tools.upstream import (
    counts,
    declared_operators,
    foreign_entries,
    formulas_of,
    helpers_of,
    packaged,
    paths_of,
    saved_here,
    saved_there,
    words_of,
)

FOLDER = packaged()
assert FOLDER is not None
PATHS = paths_of(FOLDER)

# A Node whose saved attributes differ from PyTorch's, and why: PyTorch goes by names where Gradwright goes by types.
DIFFERENT = {
    "BatchNormBackwardBackward0": {"_saved_reserve"},  # handed on, in PyTorch, and not used
    "CudnnBatchNormBackwardBackward0": {"_saved_reserveSpace"},
    "ComplexBackward0": {"_saved_real", "_saved_imag"},  # the functions at::real and at::imag bear the names
    "SparseCompressedTensorBackward0": {"_saved_values"},  # and the method values()
    "FftR2CBackward0": {"_saved_self", "_saved_self_sym_sizes"},  # only a size of it is needed
}


def codegen(
    folder: Path, *words: str | Path, formulas: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    inputs = words_of(PATHS if formulas is None else replace(PATHS, derivatives=formulas))
    return subprocess.run(
        [sys.executable, "-m", "codegen", *map(str, words), *inputs, "--out", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_COLOR": "1", **(environment or {})},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("upstream") / "generated"
    done = codegen(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def result() -> pipeline.Result:
    return pipeline.analyze(PATHS)


def python(output: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "GRADWRIGHT_GENERATED": str(output)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_everything_is_read_and_resolved(result: pipeline.Result) -> None:
    assert result.diagnostics.items == []
    declared = declared_operators(PATHS)
    assert sorted(declared - {str(function.name) for function in result.functions}) == []
    assert len(declared) >= 2584
    entries = foreign_entries(PATHS, result)
    text = PATHS.derivatives.read_text(encoding="utf-8")
    written = re.findall(r"^- name: +([\w.]+)\(", text, re.MULTILINE)
    assert {str(entry.function.name) for entry in entries} == set(written)
    assert len(written) >= 687
    formulas = formulas_of(entries)
    # names, because pytest shows what it compares, and these trees are large
    assert [f.names for f in formulas if f.tree is None and f.source.tree is not None] == []
    assert len(formulas) >= 1378


def test_the_header_of_the_wheel_declares_the_helpers_that_we_declare(result: pipeline.Result) -> None:
    """Nothing of it is called otherwise, and each function here that implements a helper is found by it as well."""
    assert FOLDER is not None
    header = FOLDER.parents[1] / "torch/include/torch/csrc/autograd/FunctionsManual.h"
    by_header = pipeline.analyze(replace(PATHS, helpers=(header, *PATHS.helpers)), checks=False)
    assert by_header.diagnostics.items == []
    there, here = (helpers_of(formulas_of(foreign_entries(PATHS, each))) for each in (by_header, result))
    implemented = [{name for name, each in those.items() if each.function is not None} for those in (there, here)]
    assert implemented[0] == implemented[1]
    assert len(implemented[0]) > 150


def test_no_formula_of_an_implemented_operator_is_bound_late(result: pipeline.Result) -> None:
    late = {str(function.name) for function in result.functions if function.late_bound}
    implemented = [
        entry for entry in result.resolved if not {str(entry.function.name), str(entry.function.variant_of)} & late
    ]
    assert len(implemented) > 350
    found = []
    for formula in formulas_of(implemented):
        for part in walk(formula.tree) if formula.tree is not None else ():
            if isinstance(part, HelperCall) and part.helper.function is None:
                found.append((str(formula.source.text), part.helper.name))
            if isinstance(part, OperatorCall) and str(part.schema.name) in late:
                found.append((str(formula.source.text), str(part.schema.name)))
    assert found == []


def test_readme_has_the_counts(output: Path, result: pipeline.Result) -> None:
    """`make upstream` prints them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in counts(PATHS, result, saved_here(output)) if row not in readme] == []


def test_the_output_has_the_classes_and_attributes_of_pytorch(output: Path) -> None:
    ours, theirs = saved_here(output), saved_there()
    assert len(theirs) > 600
    assert theirs.keys() <= ours.keys()
    for name, wanted in theirs.items():
        assert wanted ^ ours[name] == DIFFERENT.get(name, set()), name


def test_what_is_not_implemented_is_bound_late(output: Path) -> None:
    code = (
        "import gradwright\n"
        "for call in (lambda: gradwright.ops.miopen_ctc_loss(*[gradwright.ones(1)] * 2, [1], [1], 0, True, True),"
        " lambda: runtime.graph.recording.missing_helper('nothing_backward')):\n"
        "    try: call()\n"
        "    except NotImplementedError as error: print(str(error).splitlines()[0])\n"
    )
    done = python(output, "import runtime.graph.recording\n" + code)
    assert done.stdout.splitlines() == [
        "'miopen_ctc_loss' has no kernel for the CPU",
        "the helper 'nothing_backward' is declared, but the runtime does not implement it",
    ], done.stderr
    missing = codegen(output, "list", "--missing")
    assert missing.returncode == 0
    assert "operator\tmiopen_ctc_loss" in missing.stdout.splitlines()
    assert "helper\tto_sparse_backward" in missing.stdout.splitlines()
    assert re.search(r"\d+ of \d+ helpers are bound late", missing.stderr)


def test_a_second_run_touches_nothing(output: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in output.iterdir()}
    done = codegen(output)
    assert (done.returncode, done.stderr) == (0, "")
    assert ": 0 of " in done.stdout
    assert {path: path.stat().st_mtime_ns for path in output.iterdir()} == before


def entry_lines(lines: list[str], name: str) -> range:
    """The lines of the entry of one operator."""
    start = next(i for i, line in enumerate(lines) if line.startswith(f"- name: {name}("))
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("- name:")), len(lines))
    return range(start, end)


def formula_line(lines: list[str], name: str, key: str) -> int:
    return next(i for i in entry_lines(lines, name) if lines[i].startswith(f"  {key}:"))


@needs_compiler
def test_a_compiler_takes_the_native_code(output: Path, result: pipeline.Result, tmp_path: Path) -> None:
    assert result.plan is not None
    paths = paths_of(packaged())
    found = cpp.coverage(pipeline.for_target(result.plan, paths, "cpp"), paths)
    assert sum(reason is None for reason in found.nodes.values()) > 200
    files = sorted((output / "cpp").glob("*.cpp"))
    # Beside the shards and their loops: what puts them together, packets and optimizers.
    assert len(files) == 2 * cpp.SHARDS + 3
    assert complaints(files, tmp_path) == []


def test_the_native_code_does_not_depend_on_the_run(output: Path, tmp_path: Path) -> None:
    done = codegen(tmp_path, "--target", "cpp", environment={"PYTHONHASHSEED": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    here, there = contents(output / "cpp"), contents(tmp_path / "cpp")
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_one_entry_edited_rewrites_the_files_that_hold_it(output: Path, tmp_path: Path) -> None:
    lines = PATHS.derivatives.read_text(encoding="utf-8").splitlines()
    formulas = tmp_path / "derivatives.yaml"
    formulas.write_text("\n".join(lines), encoding="utf-8")
    folder = tmp_path / "generated"
    assert codegen(folder, formulas=formulas).returncode == 0
    before = contents(folder)
    at = formula_line(lines, "sin", "self")
    lines[at] = "  self: 2 * grad"
    formulas.write_text("\n".join(lines), encoding="utf-8")
    assert codegen(folder, formulas=formulas).returncode == 0
    changed = {name for name, content in contents(folder).items() if content != before[name]}
    native = {name for name in changed if name.startswith(("cpp/shard_", "cpp/loops_"))}
    assert sorted(name[:9] for name in native) == ["cpp/loops", "cpp/shard"]
    native.add("cpp/manifest.json")
    texts = {"docstrings.txt", "reference.md"}  # a docstring and a page have the formula as well
    assert changed == {"nodes.py", "operators.py", "manifest.json"} | texts | native


def test_the_report_is_of_this_version(result: pipeline.Result) -> None:
    """`make upstream` writes it anew."""
    written = (ROOT / "docs/reports/upstream-report.md").read_text(encoding="utf-8")
    assert written == pipeline.judgement(PATHS, result)


Mistake = Callable[[list[str]], tuple[int, int]]


def _replaced(name: str, key: str, change: Callable[[str], str], mark: str) -> Mistake:
    """Change a formula; the error is at the first `mark` in its line."""

    def seed(lines: list[str]) -> tuple[int, int]:
        at = formula_line(lines, name, key)
        head, _, formula = lines[at].partition(": ")
        lines[at] = f"{head}: {change(formula)}"
        return at, lines[at].index(mark, len(head))

    return seed


def _second_entry(lines: list[str]) -> tuple[int, int]:
    own = [lines[i] for i in entry_lines(lines, "sin")]
    lines += ["", *own]
    return next(i for i in range(len(lines) - len(own), len(lines)) if lines[i].startswith("- name")), len("- name: ")


def _no_formula(lines: list[str]) -> tuple[int, int]:
    at = formula_line(lines, "mul.Tensor", "other")
    del lines[at]
    head = entry_lines(lines, "mul.Tensor").start
    return head, lines[head].index("Tensor other")


def _unknown_argument(lines: list[str]) -> tuple[int, int]:
    at = formula_line(lines, "sin", "self")
    lines[at] = lines[at].replace("self:", "slef:", 1)
    return at, 2


def _unknown_option(lines: list[str]) -> tuple[int, int]:
    at = next(i for i, line in enumerate(lines) if line.startswith("  output_differentiability:"))
    lines[at] = lines[at].replace("differentiability", "diferentiability")
    return at, 2


def _other_signature(lines: list[str]) -> tuple[int, int]:
    at = entry_lines(lines, "sin").start
    lines[at] = lines[at].replace("Tensor self", "Tensor self, int n")
    return at, len("- name: ")


MISTAKES: dict[str, tuple[Mistake, str]] = {
    "misspelt variable": (
        _replaced("sin", "self", lambda f: f.replace("grad", "gard", 1), "gard"),
        "unknown name 'gard'",
    ),
    "unbalanced parentheses": (_replaced("sin", "self", lambda f: "grad)", ")"), "unbalanced parenthesis"),
    "unknown function": (_replaced("sin", "self", lambda f: "sine_backwards(grad)", "sine"), "unknown function"),
    "formula that is a string": (_replaced("sin", "self", lambda f: "'\"zeros\"'", '"zeros'), "string"),
    "second entry": (_second_entry, "duplicate entry for 'sin'"),
    "no formula": (_no_formula, "no formula for 'other' of 'mul.Tensor'"),
    "unknown argument key": (_unknown_argument, "'slef'"),
    "misspelt option key": (_unknown_option, "'output_diferentiability'"),
    "signature that does not match": (_other_signature, "differs from the operator's"),
    "gradient out of range": (_replaced("sin", "self", lambda f: "grads[2] * self", "grads[2]"), "out of range"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_where_it_is(name: str, tmp_path: Path) -> None:
    seed, message = MISTAKES[name]
    lines = PATHS.derivatives.read_text(encoding="utf-8").splitlines()
    line, column = seed(lines)
    file = tmp_path / "derivatives.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = codegen(tmp_path / "generated", "--json", formulas=file)
    found = [item for item in json.loads(done.stdout) if message in item["message"]]
    assert [(item["line"], item["column"]) for item in found] == [(line + 1, column + 1)], done.stdout
    severe = found[0]["severity"] == "error"
    assert done.returncode == (1 if severe else 0)
    assert severe == (name != "no formula")  # PyTorch's own file leaves out formulas, too: it is a warning there
    assert (tmp_path / "generated").exists() != severe
