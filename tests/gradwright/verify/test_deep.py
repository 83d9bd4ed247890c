"""`verify --deep`: a search by chance, with a seed, whose findings are made small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codegen.commands.main import main
from generated.registry import OPERATORS
from gradwright.testing import make_sample, operator_of
from gradwright.verify import deep
from gradwright.verify.points import Point
from gradwright.verify.results import Cell, Refuted
from gradwright.verify.table import BY_NAME
from gradwright.verify.variations import simpler
from runtime.base import dtypes

SINE = OPERATORS["sin"]


def searched(seed: int, name: str = "gradient", info: object = SINE) -> Cell:
    cell = Cell("sin", name)
    deep.deepen(info, [cell], [BY_NAME[name]], seed, 0.3)  # type: ignore[arg-type]
    return cell


def test_a_right_rule_stays_proven() -> None:
    cell = searched(1)
    assert cell.checked > 5
    assert not cell.failures


def test_what_is_found_is_small() -> None:
    def wrong_for_large(point: Point) -> None:
        if any((abs(each.detach().numpy()) > 50).any() for each in point.sample.tensors()):
            raise Refuted("wrong", "self")

    wanted = replace(BY_NAME["gradient"], check=wrong_for_large)
    cell = Cell("sin", "gradient")
    deep.deepen(SINE, [cell], [wanted], 1, 5)
    (failure,) = cell.failures
    assert failure.sample.startswith(("T(low=", "T(1, low=", "T(0"))
    assert failure.number == 0


def test_a_seed_makes_the_same_calls() -> None:
    def calls(seed: int) -> list[str]:
        seen: list[str] = []
        wanted = replace(BY_NAME["gradient"], check=lambda point: seen.append(point.sample.text))
        deep.deepen(SINE, [Cell("sin", "gradient")], [wanted], seed, 0.2)
        return seen[:5]

    assert calls(3) == calls(3)
    assert calls(3) != calls(4)


def test_simpler_calls_are_samples() -> None:
    info = OPERATORS["add.Tensor"]
    text = "T(2, 3, low=-9.0, high=9.0), T(3), alpha=2.5"
    made = list(simpler(text, operator_of(info).signature.parameters))
    assert "T(2, 3, low=-9.0, high=9.0), T(3)" in made
    assert "T(2, 3), T(3), alpha=2.5" in made
    assert "T(1, 3, low=-9.0, high=9.0), T(3), alpha=2.5" in made
    for each in made:
        make_sample(info, each, dtypes.float64)


def test_the_command_prints_its_seed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "neg", "--deep", "--seed", "7", "--seconds", "0.2"]) == 0
    assert "seed: 7" in capfd.readouterr().err


@pytest.mark.parametrize("words", [["--deep", "--ledger"], ["--seed", "3"], ["--seconds", "3"]])
def test_wrong_usage_of_a_search(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["verify", "neg", *words])
    assert "deep" in capfd.readouterr().err
