"""Every operator has the properties that the ledger says, and every cell of the ledger is looked at."""

from __future__ import annotations

import pytest

from codegen import output, proof_outcomes
from codegen.paths import project_paths
from codegen.words import PROPERTIES
from generated.registry import OPERATORS
from gradwright import verify
from gradwright.verify.ledger import Ledger
from gradwright.verify.results import Status
from support.documents import ROOT

LEDGER = Ledger.read(ROOT / "docs" / "reports" / "coverage.json")
# What may be skipped, over all operators: it only becomes less.
MOST_SKIPS = 99


# Rules that were proven as they are were so by what generated them; of these some are proven again.
PATHS = project_paths()
UNPROVEN = proof_outcomes.unproven(output.rules(PATHS), PATHS)


@pytest.mark.parametrize(
    "name", [name if name in UNPROVEN else pytest.param(name, marks=pytest.mark.rotates) for name in OPERATORS]
)
def test_operator(name: str) -> None:
    cells = verify.prove(OPERATORS[name])
    wrong = [f"{cell.name}: {each.sample} in {each.dtype}: {each.message}" for cell in cells for each in cell.failures]
    assert not wrong, "\n".join(wrong)
    assert not list(LEDGER.worse(cells))


def test_the_ledger_names_the_operators_that_there_are() -> None:
    assert sorted(LEDGER.rows) == sorted(OPERATORS), "run: python -m codegen verify --update-ledger"


def test_every_rule_is_proven_as_it_is() -> None:
    """What docs/reports/proofs.txt says is committed with the rules: a new checkout has nothing to prove."""
    assert UNPROVEN == {}, "run: python -m codegen, or python -m codegen verify"


def test_every_differentiable_operator_has_a_proven_gradient() -> None:
    """A sample that never reaches finite differences would look like a pass."""
    names = [info.name for info in OPERATORS.values() if info.differentiable]
    rows = {name: LEDGER.rows[name] for name in names}
    of_gradients = {"gradient", "gradient_complex"}
    assert [n for n, row in rows.items() if not of_gradients & {*row.proven, *row.skipped, *row.conventions}] == []


def test_skips_only_become_fewer() -> None:
    assert LEDGER.skips <= MOST_SKIPS


def test_the_page_is_made_of_the_ledger(update_goldens: bool) -> None:
    page = ROOT / "docs" / "reports" / "coverage.md"
    if update_goldens:
        page.write_text(LEDGER.document(), encoding="utf-8", newline="\n")
    assert page.read_text(encoding="utf-8") == LEDGER.document()


def test_yaml_and_proofs_have_the_same_words() -> None:
    assert tuple(each.name for each in verify.PROPERTIES) == PROPERTIES


def test_a_cell_that_was_not_looked_at_is_no_pass() -> None:
    cell = verify.Cell("op", "gradient")
    assert cell.status is Status.NONE
    cell.reasons.append("finite differences do not settle")
    assert cell.status is Status.SKIPPED
