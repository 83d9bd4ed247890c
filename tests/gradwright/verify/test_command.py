"""`codegen verify`: what it prints, what it gives back, what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codegen.commands.main import main


def test_it_says_what_is_proven(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "mul.Tensor", "--jobs", "1"]) == 0
    out, err = capfd.readouterr()
    assert "gradient\t1 proven\t0 refuted\t0 skipped\t0 none" in out
    assert out.splitlines()[-1].startswith("1 operators: ")
    assert "error" not in err


def test_names_of_several_overloads_and_of_variants(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    assert main(["verify", "lerp", "add_.Scalar", "--property", "linear", "--json", str(file)]) == 0
    cells = json.loads(file.read_text())["cells"]
    assert [cell["operator"] for cell in cells] == ["lerp.Scalar", "lerp.Tensor", "add.Scalar"]
    assert {cell["status"] for cell in cells} == {"proven"}
    assert {cell["property"] for cell in cells} == {"linear"}


def test_json_on_standard_output_is_all(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "neg", "--property", "gradient", "--json", "-"]) == 0
    out, _ = capfd.readouterr()
    (cell,) = json.loads(out)["cells"]
    assert (cell["operator"], cell["status"]) == ("neg", "proven")


def test_what_is_skipped_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "as_strided", "--skipped", "--property", "layouts"]) == 0
    assert "skipped: as_strided: layouts: its result is about memory" in capfd.readouterr().out


@pytest.mark.parametrize("words", [["nosuch"], ["mul", "--property", "nosuch"]])
def test_wrong_usage(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    try:
        status: object = main(["verify", *words])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert "nosuch" in capfd.readouterr().err


def test_the_ledger_is_held(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "neg", "--ledger"]) == 0
    assert "error" not in capfd.readouterr().err


def test_coverage_is_the_ledger(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage"]) == 0
    out, err = capfd.readouterr()
    heading, *rows = (line.split("\t") for line in out.splitlines())
    marks = {name: dict(zip(heading[1:], row, strict=True)) for name, *row in rows}
    assert heading[0] == "operator"
    assert marks["mul.Tensor"]["gradient"] == "+"
    assert marks["div.Tensor"]["saved"] == "?"
    assert marks["neg"]["undefined"] == "-"
    cells = [mark for row in marks.values() for mark in row.values()]
    counts = f"{cells.count('+')} cells are proven, {cells.count('?')} skipped, {cells.count('c')} conventions"
    assert err == f"{len(marks)} operators: {counts}\n"


def test_coverage_of_what_is_skipped(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "--missing", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capfd.readouterr().out)}
    assert "neg" not in rows
    assert rows["div.Tensor"]["skipped"] == {"saved": "the result is kept whichever gradient is asked for"}
