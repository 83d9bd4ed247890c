"""What is known of a project: the last whole analysis, and the texts as they are by now.

A whole analysis takes seconds, so it runs behind what is typed. Of the entry that is being edited all is known at once:
it alone is read and bound again, by the same readers, over the operators of the last analysis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from codegen import pipeline, proof_outcomes
from codegen.bind.call_targets import OperatorTable
from codegen.commands import proofs
from codegen.commands.proven import ledger
from codegen.formula.typed import Helper
from codegen.input_files import InputFiles
from codegen.lsp.positions import shift_between
from codegen.lsp.project import Project, Role
from codegen.paths import Paths, Texts
from codegen.pipeline import Result
from codegen.plan.operator import OperatorPlan
from codegen.python_source import PythonFunction
from codegen.read.files import load, read_tags
from codegen.read.model import NativeFunction
from codegen.rules.checked import Checked
from codegen.source import Diagnostics, SourceFile, Span
from codegen.words import TAGS


@dataclass(frozen=True, repr=False)  # its trees are larger than anybody would want to see
class Analysis:
    """A whole analysis.

    Attributes:
        project: whose files were analyzed.
        sources: the texts of its YAML, and of other files that were open.
        result: what was found.
        checked: what could be bound, here or the last time; None before that.
        operators: the plans of the last analysis without errors, by the operators' names.
        helpers: that formulas called then.
        unproven: the operators whose rules are not proven as they are, and of each whether it is refuted.
        proven: what the ledger knows of each operator.
        tags: those that operators may have.
    """

    project: Project
    sources: Texts
    result: Result
    checked: Checked | None
    operators: Mapping[str, OperatorPlan]
    helpers: Sequence[Helper]
    unproven: Mapping[str, bool]
    proven: Mapping[str, Mapping[str, Any]]
    tags: frozenset[str]

    def not_proven(self, name: str) -> str | None:
        """What is said of an operator whose rule is not proven as it is; None of another one."""
        refuted = self.unproven.get(name)
        return None if refuted is None else "refuted" if refuted else "not proven as it is"

    def text(self, path: Path) -> str:
        """What a file said when it was analyzed, which is what it says on disk where it was not open."""
        known = self.sources.get(path)
        return text_on_disk(path) if known is None else known

    @property
    def table(self) -> OperatorTable | None:
        """The operators that formulas may call."""
        return None if self.checked is None else self.checked.table

    @cached_property
    def functions(self) -> Mapping[str, NativeFunction]:
        """The operators of the project by their names, and those of its base."""
        return self.table.functions if self.table is not None else {}

    @cached_property
    def kernel_users(self) -> Mapping[str, tuple[NativeFunction, ...]]:
        """The operators that name a function, by its name."""
        found: dict[str, list[NativeFunction]] = {}
        for function in self.functions.values():
            names = {entry.kernel.value for entry in function.dispatch} or {function.name.python_name}
            for name in names:
                found.setdefault(name, []).append(function)
        return {name: tuple(functions) for name, functions in found.items()}

    def python_function(self, name: str, composite: bool = False) -> PythonFunction | None:
        """A kernel of this name, or a composite function."""
        if self.checked is None:
            return None
        return (self.checked.composites if composite else self.checked.kernels).get(name)


def analyze(project: Project, texts: Texts, before: Analysis | None = None) -> Analysis:
    """Analyze a project with the texts of an editor; what errors hide is as it was before."""
    paths = project.paths
    sources = dict(texts)
    for path in paths.inputs:
        if path not in sources and (read := load(path, paths.shown(path), Diagnostics())) is not None:
            sources[path] = read.text
    result = pipeline.analyze(paths, texts)
    checked = result.checked or (before.checked if before is not None else None)
    operators = before.operators if before is not None else {}
    helpers = before.helpers if before is not None else ()
    unproven = before.unproven if before is not None else {}
    if result.plan is not None:
        operators = {str(operator.name): operator for operator in result.plan.operators}
        helpers = result.plan.helpers
        if proofs.wanted(False, paths):
            unproven = proof_outcomes.unproven(result.plan.rules or {}, paths)
    return Analysis(project, sources, result, checked, operators, helpers, unproven, ledger(paths) or {}, _tags(paths))


def _tags(paths: Paths) -> frozenset[str]:
    file = None if paths.tags is None else load(paths.tags, paths.shown(paths.tags), Diagnostics())
    return TAGS if file is None else read_tags(file, Diagnostics())


@dataclass(frozen=True, repr=False)
class State:
    """The last analysis of a project, and the texts that are open by now."""

    analysis: Analysis
    texts: Mapping[Path, SourceFile]

    @property
    def project(self) -> Project:
        return self.analysis.project

    @property
    def paths(self) -> Paths:
        return self.project.paths

    def role(self, path: Path) -> Role | None:
        return self.project.role(path)

    def file(self, path: Path) -> SourceFile:
        """The text of a file as it is by now; of one that can not be read it is empty."""
        open_file = self.texts.get(path)
        if open_file is not None:
            return open_file
        shown = self.paths.shown(path)
        return load(path, shown, Diagnostics()) or SourceFile(shown, "")

    def with_text(self, path: Path, text: str) -> State:
        """The state after an edit."""
        return replace(self, texts={**self.texts, path: SourceFile(self.paths.shown(path), text)})

    def now(self, span: Span) -> tuple[Path, Span]:
        """A place that the analysis names: its file, and where it is by now."""
        path = self.project.path(span.file.path)
        file = self.texts.get(path)
        if file is None or file.text == span.file.text:
            return path, span
        shift = shift_between(span.file.text, file.text)
        start = shift.moved(span.start)
        return path, Span(file, start, max(start, shift.moved(span.end)))

    @property
    def input_files(self) -> InputFiles:
        """The files as they are by now, read again."""
        return InputFiles(self.paths, Diagnostics(), {path: file.text for path, file in self.texts.items()})


def text_on_disk(path: Path) -> str:
    """The text of a file; of one that can not be read it is empty."""
    file = load(path, str(path), Diagnostics())
    return "" if file is None else file.text


def open_project(project: Project, texts: Texts | None = None) -> State:
    """Analyze a project for the first time."""
    texts = texts or {}
    files = {path: SourceFile(project.paths.shown(path), text) for path, text in texts.items()}
    return State(analyze(project, texts), files)
