"""Every operator against PyTorch's of the same name: results, gradients, their gradients, tangents.

Runs on whatever was generated: on this project's formulas, and by `make upstream` on PyTorch's own.
"""

from __future__ import annotations

import pytest

from codegen import input_files
from codegen.paths import project_paths
from codegen.source import Diagnostics
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import Sample
from support.documents import ROOT
from support.operator_comparison import (
    BOTH,
    ON_OWN_FORMULAS,
    ON_THEIR_FORMULAS,
    REFUSED,
    SAMPLES,
    TESTED,
    compare,
    inplace,
    runtime_operator,
    torch_operator,
)

# PyTorch's own out= kernels, in second derivatives of losses.
pytestmark = [
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
]


@pytest.mark.parametrize("name", TESTED)
def test_operator(name: str) -> None:
    compare(name, TESTED[name], (runtime_operator(name), torch_operator(name)))


@pytest.mark.parametrize("name", [name for name, info in TESTED.items() if info.inplace])
def test_inplace_variant(name: str) -> None:
    info = TESTED[name]
    assert info.inplace is not None
    function = getattr(operators, info.function)

    def fits(sample: Sample) -> bool:
        return bool(function(*sample.args, **sample.kwargs).shape == sample.args[0].shape)

    pair = inplace(runtime_operator(info.inplace)), inplace(torch_operator(info.inplace))
    compare(info.inplace, info, pair, fits)


def test_every_operator_is_compared() -> None:
    """All of this project's, and, on PyTorch's formulas, all that `runtime/operators/upstream/` adds for them."""
    paths = project_paths()
    own, _ = input_files.read_operators(paths.native_functions, paths.derivatives, paths, Diagnostics())
    assert own is not None
    assert {str(function.name) for function in own} <= TESTED.keys()
    assert [name for name in TESTED if torch_operator(name) is None] == []
    implemented = {name for name, info in OPERATORS.items() if getattr(operators, f"{info.function}_op").kernels}
    assert implemented - TESTED.keys() == set()
    assert TESTED.keys() - implemented == set()


def test_the_tables_are_of_operators_and_documented() -> None:
    names = {*TESTED, *(info.inplace for info in TESTED.values()), *SAMPLES}
    deviating = {*BOTH, *ON_OWN_FORMULAS, *ON_THEIR_FORMULAS}
    assert deviating <= names
    assert [name for name in REFUSED if torch_operator(name) is None] == []
    document = (ROOT / "docs/upstream.md").read_text(encoding="utf-8")
    assert [name for name in deviating if f"`{name}`" not in document] == []
