"""Rules that are known to be wrong: each has to be refuted."""

from __future__ import annotations

import json

import pytest

from support.wrong_rules import RULES, Rule, package_of

pytestmark = pytest.mark.xdist_group("known wrong rules")  # one process makes and proves them


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The properties that are refuted, by the rule."""
    project = package_of(RULES, tmp_path_factory.mktemp("wrong"))
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    finished = project.generate("verify", "--json", "found.json")
    assert finished.returncode == 1, finished.stderr
    cells = json.loads((project.folder / "found.json").read_text())["cells"]
    refuted: dict[str, list[str]] = {rule.name: [] for rule in RULES}
    for cell in cells:
        if cell["status"] == "refuted":
            refuted[cell["operator"]].append(cell["property"])
    return refuted


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_wrong_rule_is_refuted(rule: Rule, found: dict[str, list[str]]) -> None:
    assert found[rule.name]
