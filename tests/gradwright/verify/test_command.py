"""`codegen verify`: what it prints, what it gives back, what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codegen.commands.main import main
from gradwright.verify.__main__ import main as proofs
from gradwright.verify.results import Cell, Failure


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


def test_parts_are_reported_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["add.Tensor", "mul.Tensor", "neg", "--property", "gradient", "--property", "undefined", "--jobs", "1"]
    files = [tmp_path / f"{number}.json" for number in range(3)]
    assert proofs([*words, "--json", str(files[2])]) == 0
    for number in (1, 2):
        assert proofs([*words, "--quiet", "--part", f"{number}/2", "--json", str(files[number - 1])]) == 0
    assert [len(json.loads(file.read_text())["cells"]) for file in files] == [4, 2, 6]
    capsys.readouterr()
    merged = tmp_path / "merged.json"
    assert proofs([*words, "--found", str(files[0]), "--found", str(files[1]), "--json", str(merged)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("3 operators: ")
    mine, one = (
        [{**cell, "seconds": 0} for cell in json.loads(file.read_text())["cells"]] for file in (merged, files[2])
    )
    assert mine == one


def test_what_a_part_has_refuted_is_wrong_for_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = Cell("neg", "gradient", checked=2, reasons=["why"], seconds=0.5)
    cell.failures.append(Failure(1, "T(3)", "float64", "it is not", "self", "a cause", 3))
    assert Cell.from_json(json.loads(json.dumps(cell.as_json()))) == cell
    convention = Cell("neg", "second", by_convention=True)
    assert Cell.from_json(convention.as_json()) == convention
    file = tmp_path / "found.json"
    file.write_text(json.dumps({"seconds": 1.0, "cells": [cell.as_json()]}))
    assert proofs(["neg", "--found", str(file)]) == 1
    out, err = capsys.readouterr()
    assert "1 refuted" in out
    assert "neg(T(3)) in float64: gradient: it is not" in err


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "a/b"])
def test_a_part_that_there_is_not(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        proofs(["neg", "--part", part])
    assert "a part is K/N" in capsys.readouterr().err
