"""Rules that are known to be wrong: each has to be refuted."""

from __future__ import annotations

import json

import pytest
import yaml

from codegen.writing import as_item
from support.wrong_rules import ELSEWHERE_WRONG, RIGHT, RULES, Rule, package_of

pytestmark = pytest.mark.xdist_group("known wrong rules")  # one process makes and proves them


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[str]], str]:
    """The properties that are refuted, by the rule; and what is printed."""
    rules = (*RULES, *ELSEWHERE_WRONG, *RIGHT)
    project = package_of(rules, tmp_path_factory.mktemp("wrong"))
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    finished = project.generate("verify", "--json", "found.json")
    assert finished.returncode == 1, finished.stderr
    cells = json.loads((project.folder / "found.json").read_text())["cells"]
    refuted: dict[str, list[str]] = {rule.name: [] for rule in rules}
    for cell in cells:
        if cell["status"] == "refuted":
            refuted[cell["operator"]].append(cell["property"])
    return refuted, finished.stderr


@pytest.fixture(scope="module")
def found(proofs: tuple[dict[str, list[str]], str]) -> dict[str, list[str]]:
    return proofs[0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_wrong_rule_is_refuted(rule: Rule, found: dict[str, list[str]]) -> None:
    assert set(found[rule.name]) - {"beyond"}


@pytest.mark.parametrize("rule", ELSEWHERE_WRONG, ids=lambda rule: rule.name)
def test_a_rule_that_is_right_in_its_samples_alone_is_refuted(rule: Rule, found: dict[str, list[str]]) -> None:
    assert found[rule.name] == ["beyond"]


@pytest.mark.parametrize("rule", RIGHT, ids=lambda rule: rule.name)
def test_a_right_rule_is_not(rule: Rule, found: dict[str, list[str]]) -> None:
    assert found[rule.name] == []


def test_what_refutes_it_is_printed_as_a_sample(proofs: tuple[dict[str, list[str]], str]) -> None:
    _, printed = proofs
    assert "(beside the samples: handed_back_for_one(T(3), 1) in float64)" in printed
    assert "as a sample: - T(3), 1\n" in printed


@pytest.mark.parametrize("sample", ["T(3), 1", "[T(2)], 'floor'", "T(3), 'a: b'", "T(3), 'a #b'", ""])
def test_a_sample_can_be_pasted_as_an_item_of_yaml(sample: str) -> None:
    assert yaml.safe_load(f"samples:\n  {as_item(sample)}\n") == {"samples": [sample]}
