"""Values against the functions of other libraries that the YAML names."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from generated.registry import OPERATORS
from gradwright.verify import prove, references
from gradwright.verify.results import Cell, Status
from gradwright.verify.table import BY_NAME
from runtime.load.operator_info import OperatorInfo
from support.wrong_rules import Rule, package_of

OFF = Rule(
    "off_in_its_values", "Tensor self", "np.exp(self) * 1.0000001", ("self: grad * result",), dtypes="floating",
    reference="numpy.exp",
)  # fmt: skip
RIGHT = Rule(
    "right_in_its_values", "Tensor self, Scalar by", "self * by", ("self: grad * by",), ("T(3), 2", "T(2), 0.5"),
    dtypes="floating", reference="numpy.multiply(by, self)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _fresh() -> None:
    references._function.cache_clear()


def proven(info: OperatorInfo) -> Cell:
    (cell,) = prove(info, [BY_NAME["reference"]])
    return cell


def test_a_kernel_whose_derivatives_alone_are_right_is_refuted(tmp_path: Path) -> None:
    project = package_of((OFF, RIGHT), tmp_path)
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    finished = project.generate("verify", "--json", "found.json")
    cells = json.loads((project.folder / "found.json").read_text())["cells"]
    refuted = {(each["operator"], each["property"]) for each in cells if each["status"] == "refuted"}
    assert refuted == {("off_in_its_values", "reference"), ("off_in_its_values", "beyond")}
    assert "the result is not that of numpy.exp at element [0, 0]: " in finished.stderr
    (right,) = (each for each in cells if each["operator"] == RIGHT.name and each["property"] == "reference")
    assert right["samples"] == 2


def test_values_are_compared_with_mpmath_element_by_element() -> None:
    cell = proven(OPERATORS["special_airy_ai"])
    assert cell.status is Status.PROVEN
    assert OPERATORS["special_airy_ai"].reference == "mpmath.airyai"
    wrong = proven(replace(OPERATORS["special_airy_ai"], reference="mpmath.airybi"))
    assert wrong.status is Status.REFUTED


def test_without_the_library_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpmath", None)
    cell = proven(OPERATORS["special_airy_ai"])
    assert cell.status is Status.SKIPPED
    assert cell.reasons == ["values were not compared with mpmath.airyai: mpmath is not installed"]


def test_a_function_that_its_library_has_not_is_an_error() -> None:
    cell = proven(replace(OPERATORS["erf"], reference="scipy.special.no_such_function"))
    assert cell.status is Status.REFUTED
    assert cell.failures[0].message == (
        "'reference' names scipy.special.no_such_function, and there is no scipy.special.no_such_function"
    )


def test_arguments_are_those_that_are_named() -> None:
    named = "numpy.quantile(self, q, axis=dim, keepdims=keepdim, method=interpolation)"
    assert OPERATORS["quantile.scalar"].reference == named
    assert proven(OPERATORS["quantile.scalar"]).status is Status.PROVEN
    wrong = proven(replace(OPERATORS["quantile.scalar"], reference="numpy.quantile(self, q)"))
    assert wrong.failures


def test_what_takes_no_call_proves_nothing() -> None:
    cell = proven(replace(OPERATORS["erf"], reference="numpy.linalg.inv"))
    assert cell.status is Status.SKIPPED
    assert cell.reasons == ["numpy.linalg.inv does not take this call"]


def test_a_function_that_takes_calls_without_elements_alone_proves_nothing() -> None:
    cell = proven(replace(OPERATORS["sin"], reference="mpmath.quad"))
    assert cell.status is Status.SKIPPED
    assert cell.checked == 0


def test_results_that_are_no_tensors_are_compared() -> None:
    assert proven(replace(OPERATORS["equal"], reference="numpy.array_equal")).status is Status.PROVEN
    wrong = proven(replace(OPERATORS["equal"], reference="numpy.may_share_memory"))
    assert wrong.status is Status.REFUTED


def test_results_in_a_list_are_compared_one_by_one() -> None:
    info = replace(OPERATORS["tensor_split.sections"], reference="numpy.array_split(self, sections, dim)")
    assert proven(info).status is Status.PROVEN


def test_what_gives_no_numbers_is_refuted() -> None:
    cell = proven(replace(OPERATORS["sin"], reference="numpy.void"))
    assert cell.failures[0].message == "numpy.void gives no numbers for the result"


def test_where_none_is_named_there_is_nothing_to_prove() -> None:
    assert proven(OPERATORS["sin"]).status is Status.NONE
