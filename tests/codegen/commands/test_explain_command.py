"""`explain OP`: what it says of kernels, formulas and memory, and how it prints."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from codegen import output
from codegen.inputs import MANIFEST
from codegen.paths import project_paths
from codegen.pipeline import analyze
from codegen.plan.memory import Array, read_arrays
from codegen.plan.operator import OperatorPlan
from codegen.targets.docs.explain import explained
from support.documents import ROOT
from support.in_process import codegen, status_of
from support.own_project import own_analysis


@pytest.fixture(scope="module")
def operators() -> dict[str, OperatorPlan]:
    plan = own_analysis().plan
    assert plan is not None
    return {str(operator.name): operator for operator in plan.operators}


def line_of(file: str, text: str) -> str:
    """A place as `explain` names it."""
    return f"{file}:{(ROOT / file).read_text(encoding='utf-8').splitlines().index(text) + 1}"


def memory(operators: dict[str, OperatorPlan], name: str, *shapes: str) -> list[str]:
    """The lines about what is saved."""
    text = explained(operators[name], [read_arrays(shape) for shape in shapes])
    return [line.strip() for line in text.partition("saved by ")[2].splitlines()[1:]]


def test_places_of_the_entry_the_kernel_and_the_formulas(operators: dict[str, OperatorPlan]) -> None:
    text = explained(operators["mul.Tensor"])
    entry = "- func: mul.Tensor(Tensor self, Tensor other) -> Tensor"
    assert f"  declared in {line_of('native_functions.yaml', entry)}\n" in text
    source = "mul = np.multiply"
    assert (
        "runtime.operators.kernels.arithmetic.mul  "
        f"{line_of('runtime/operators/kernels/arithmetic.py', source)}  wins\n" in text
    )
    assert f"  {line_of('derivatives.yaml', '  self: grad * other.conj()')}  self: grad * other.conj()\n" in text


def test_of_sources_that_were_generated_from_it_says_the_same(operators: dict[str, OperatorPlan]) -> None:
    plan = analyze(project_paths(), checks=False).plan
    assert plan is not None
    assert [explained(operator) for operator in plan.operators] == [*map(explained, operators.values())]


def test_output_is_of_its_sources_until_one_changes(tmp_path: Path) -> None:
    paths = project_paths()
    changed = tmp_path / "derivatives.yaml"
    changed.write_text(paths.derivatives.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    made = replace(paths, output=tmp_path)
    assert not output.is_of_sources(made, "python")
    output.write({MANIFEST: output.manifest_text(made, "python", "", {})}, tmp_path)
    assert output.is_of_sources(made, "python")
    assert not output.is_of_sources(replace(made, derivatives=changed), "python")


def test_the_first_key_in_the_order_wins(tmp_path: Path) -> None:
    from codegen.commands.init import make_package
    from support.own_packages import Project

    folder = tmp_path / "project"
    folder.mkdir()
    assert make_package("mylib", folder) == 0
    project = Project(folder)
    yaml = project.file("native_functions.yaml")
    yaml.write_text(
        yaml.read_text().replace("    CPU: squareplus\n", "    CompositeExplicitAutograd: other\n    CPU: squareplus\n")
    )
    project.append("composites.py", "\n\ndef other(self: Tensor, b: float = 4) -> Tensor:\n    return self\n")
    finished = project.generate("explain", "squareplus")
    assert finished.returncode == 0, finished.stderr
    rows = [line.split() for line in finished.stdout.partition("kernels\n")[2].splitlines()[:2]]
    assert [(row[0], row[3:]) for row in rows] == [
        ("CPU:", ["wins"]),
        ("CompositeExplicitAutograd:", ["hidden", "by", "CPU"]),
    ]


def test_memory_of_inputs(operators: dict[str, OperatorPlan]) -> None:
    assert memory(operators, "mul.Tensor", "64x128", "128:float64") == [
        "other: an input, for the gradient of self: float64[128], 1,024 bytes",
        "self: an input, for the gradient of other: float32[64, 128], 32,768 bytes",
        "together 33,792 bytes; inputs and outputs are kept alive, not copied",
    ]


def test_memory_of_results(operators: dict[str, OperatorPlan]) -> None:
    assert memory(operators, "tanh", "8:int64")[0] == "result: an output: float32[8], 32 bytes"
    assert memory(operators, "tanh", "()")[0] == "result: an output: float32[], 4 bytes"
    assert memory(operators, "_softmax", "3x4")[0] == "result: an output: its shape is not known before the call"


@pytest.mark.parametrize(
    ("name", "shapes", "message"),
    [
        ("tanh", ("2", "3"), "tanh has 1 Tensors (self), and there are 2 shapes"),
        ("mul.Tensor", ("2", "3"), "shapes do not broadcast: float32[2], float32[3]"),
        ("mul.Tensor", ("2,3", "3"), "'self' of mul.Tensor is one Tensor, not 2"),
        ("tanh", ("2y",), "'2y' is no shape; write 64x128, () for no dimensions, or 64x128:float64"),
        ("tanh", ("2:float",), "'2:float' is no shape; write 64x128, () for no dimensions, or 64x128:float64"),
    ],
)
def test_shapes_that_do_not_fit(
    name: str, shapes: tuple[str, ...], message: str, operators: dict[str, OperatorPlan]
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        memory(operators, name, *shapes)


def test_shapes_of_a_list() -> None:
    assert read_arrays("2x3,4:int64") == (Array((2, 3), "float32"), Array((4,), "int64"))


def test_overloads_that_do_not_take_the_shapes_are_left_out() -> None:
    done = codegen("explain", "mul", "--shapes", "3", "3")
    assert done.stdout.startswith("mul.Tensor(")
    assert "mul.Scalar(" not in done.stdout
    failed = codegen("explain", "tanh", "--shapes", "3", "3")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "error: tanh has 1 Tensors (self), and there are 2 shapes\n"


def test_code_of_both_targets() -> None:
    done = codegen("explain", "tanh", "--code")
    assert "class TanhBackward0(RecordedNode):" in done.stdout
    assert "PyObject* " in done.stdout
    cpp = codegen("explain", "tanh", "--target", "cpp")
    assert "class TanhBackward0(RecordedNode):" not in cpp.stdout
    assert "PyObject* " in cpp.stdout


def test_a_reader_that_goes_away() -> None:
    command = [sys.executable, "-m", "codegen", "explain", "add", "--code"]
    piped = f"set -o pipefail; {' '.join(command)} | head -1"
    done = subprocess.run(["bash", "-c", piped], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("add.Tensor(")
    assert done.stderr == ""


def on_a_terminal(*words: str, **variables: str) -> str:
    """What is printed on a terminal of 80 columns."""
    mine, theirs = pty.openpty()
    parts = []

    def read() -> None:
        while parts[-1:] != [b""]:
            try:
                parts.append(os.read(mine, 65536))
            except OSError:  # the other end is closed
                break

    reader = threading.Thread(target=read)
    reader.start()
    with open(theirs, "w") as terminal, tempfile.TemporaryFile("w") as other:
        variables = {"TERM": "xterm-256color", "COLUMNS": "80", **variables}
        status = status_of(["explain", *words], terminal, other, variables=variables)
    reader.join()
    os.close(mine)
    assert status == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_colour_on_a_terminal_and_nothing_is_cut() -> None:
    plain = codegen("explain", "add", "--code").stdout
    assert "\x1b" not in plain
    coloured = on_a_terminal("add", "--code", NO_COLOR="")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split("\n") == plain.split("\n")
    assert on_a_terminal("add", "--code", NO_COLOR="1") == plain
