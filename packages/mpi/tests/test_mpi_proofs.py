"""Proofs on several processes have the report of one: `mpiexec -n 2 python -m codegen verify`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from support_mpi import launch

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "packages" / "mpi"


def verified(processes: int, file: Path, *words: str, folder: Path = ROOT) -> tuple[str, list[dict[str, Any]]]:
    ended = launch(processes, "-m", "codegen", "verify", *words, "--json", str(file), folder=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        del cell["seconds"]
    return re.sub(r" in [\d.]+ s$", "", ended.stdout.strip()), cells


def test_the_report_is_that_of_one_process(tmp_path: Path) -> None:
    words = ("sin", "mul", "relu", "--property", "gradient", "--property", "dtypes", "--property", "undefined")
    alone = verified(1, tmp_path / "one.json", *words)
    assert verified(2, tmp_path / "two.json", *words) == alone
    # Fewer operators than processes.
    assert len(verified(3, tmp_path / "few.json", "sin", "--property", "gradient")[1]) == 1


def test_operators_that_use_mpi_themselves(tmp_path: Path) -> None:
    words = ("scan", "--property", "gradient")
    assert verified(2, tmp_path / "two.json", *words, folder=PACKAGE)[1][0]["status"] == "proven"


def test_a_search_has_one_seed(tmp_path: Path) -> None:
    words = ("sin", "neg", "--deep", "--seconds", "0.2", "--property", "gradient")
    ended = launch(2, "-m", "codegen", "verify", *words, folder=ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(re.findall(r"^seed: \d+$", ended.stderr, re.M)) == 1
    assert "2 operators: 2 properties proven" in ended.stdout


def test_an_error_is_said_once() -> None:
    ended = launch(2, "-m", "codegen", "verify", "nosuch", folder=ROOT)
    assert ended.returncode == 2
    assert ended.stderr.count("there is no operator 'nosuch'") == 1


def test_mistakes_are_spread_as_well() -> None:
    known = ROOT / "tests" / "gradwright" / "verify" / "equivalent.json"
    words = ("-m", "gradwright.verify.mutation", "neg", "--known", str(known))
    reports = [launch(processes, *words, folder=ROOT).stdout for processes in (1, 2)]
    assert re.search(r"functions, [1-9]\d* mistakes: .* 0 survived", reports[0])
    assert re.sub(r" in \d+ s", "", reports[1]) == re.sub(r" in \d+ s", "", reports[0])
