"""A whole small project in a test: YAML and Python as text, analysed as the generator does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.paths import Paths
from codegen.pipeline import Result, analyze, emit
from codegen.plan.plan import Plan
from support.documents import ROOT

Planner = Callable[..., Plan]


@pytest.fixture
def small_paths(tmp_path: Path) -> Paths:
    """Paths of a project without any file yet, except the templates, which are the project's own."""
    for part in ("kernels", "helpers", "composite"):
        (tmp_path / "runtime" / "operators" / part).mkdir(parents=True)
    return Paths(
        root=tmp_path,
        native_functions=tmp_path / "native_functions.yaml",
        derivatives=tmp_path / "derivatives.yaml",
        templates=ROOT / "templates",
        runtime=tmp_path / "runtime",
        output=tmp_path / "generated",
    )


@pytest.fixture
def analysed(small_paths: Paths) -> Callable[..., Result]:
    """`analysed(functions, formulas, helpers, kernels, composites)`: what the pipeline finds in them."""

    def run(functions: str, formulas: str, helpers: str = "", kernels: str = "", composites: str = "") -> Result:
        small_paths.native_functions.write_text(functions, encoding="utf-8")
        small_paths.derivatives.write_text(formulas, encoding="utf-8")
        (small_paths.operators / "helpers" / "small.py").write_text(helpers, encoding="utf-8")
        (small_paths.operators / "kernels" / "small.py").write_text(kernels, encoding="utf-8")
        (small_paths.operators / "composite" / "small.py").write_text(composites, encoding="utf-8")
        return analyze(small_paths)

    return run


@pytest.fixture
def planned(analysed: Callable[..., Result]) -> Planner:
    """As `analysed`, of input without errors: the plan."""

    def run(functions: str, formulas: str, helpers: str = "", kernels: str = "", composites: str = "") -> Plan:
        result = analysed(functions, formulas, helpers, kernels, composites)
        assert result.plan is not None, [item.message for item in result.diagnostics.items]
        return result.plan

    return run


@pytest.fixture
def emitted(planned: Planner, small_paths: Paths) -> Callable[..., dict[str, str]]:
    """As `planned`, emitted: the text of each output file."""

    def run(
        functions: str, formulas: str, helpers: str = "", kernels: str = "", composites: str = ""
    ) -> dict[str, str]:
        return dict(emit(small_paths, planned(functions, formulas, helpers, kernels, composites)))

    return run
