"""The target of CUDA: what is written of some operators.

A file of `golden/cuda` has the name of an operator and its kernels; a new one is an empty file and
`pytest --update-goldens`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.targets.cuda.kernels import FUNCTIONS, _names_in_cpp
from support.documents import ROOT
from support.in_process import codegen

GOLDEN = Path(__file__).parent / "golden" / "cuda"
FILES = sorted(GOLDEN.glob("*.cu"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file: Path, update_goldens: bool) -> None:
    finished = codegen("explain", file.stem, "--target", "cuda")
    assert finished.returncode == 0, finished.stderr
    kernels = f"//{finished.stdout.partition('//')[2].strip()}\n"
    if update_goldens:
        file.write_text(kernels, encoding="utf-8")
    assert kernels == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [("polar", "CUDA has no function for one of its steps"), ("sin", "is no expression over elements")],
)
def test_what_is_not_printed(name: str, words: str) -> None:
    assert words in codegen("explain", name, "--target", "cuda").stdout


def test_the_header_has_all_functions() -> None:
    header = (ROOT / "templates/cuda/elements.cuh.j2").read_text(encoding="utf-8")
    for name, count in FUNCTIONS:
        heads = [
            line for line in header.splitlines() if f" {name}(" in line and "template <class T> __device__" in line
        ]
        counts = [line.partition(f" {name}(")[2].partition(")")[0].count(",") + 1 for line in heads]
        assert count in counts, name


def test_parameters_have_names_that_cpp_and_kernels_leave_free() -> None:
    names = ("self", "template", "first", "x", "x_0", "x_i", "step_1", "tensor_x_0_", "__global__", "T", "out_")
    assert dict(_names_in_cpp(names)) == {
        "self": "self",
        "template": "tensor_template_",
        "first": "tensor_first_",
        "x": "x",
        "x_0": "tensor_x_0__",
        "x_i": "tensor_x_i_",
        "step_1": "tensor_step_1_",
        "tensor_x_0_": "tensor_x_0_",
        "__global__": "tensor_global_",
        "T": "tensor_T_",
        "out_": "out_",
    }
