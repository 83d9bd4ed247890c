"""Whose operators a run is about: all that there are, those of a package beside a base, or foreign ones.

What differs between the three is a method here, which the pipeline calls without asking which it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen import foreign
from codegen.bind.call_targets import HelperTable, OperatorTable
from codegen.bind.composites import ResolvedComposite, resolve_composites
from codegen.bind.delegates import bind_delegates
from codegen.bind.entries import ResolvedEntry, resolve_entries
from codegen.extending import Base, CompositesWithBase, WithBase, check_apart
from codegen.input_files import InputFiles, Read
from codegen.paths import BASE, PartKind
from codegen.python_source import PythonFunction, PythonModule
from codegen.read.model import NativeFunction
from codegen.rules.allowed import without_allowed
from codegen.source import Diagnostics, SourceFile

Composites = Mapping[str, ResolvedComposite]


@dataclass(frozen=True, slots=True)
class Bound:
    """The operators and entries of a run, with their names bound.

    Attributes:
        functions: the operators of the run.
        operators: these, and those of the base before them.
        entries: that are written for the run's.
        known: the same by operator, with those of the base.
        formulas: the composite operators that are formulas.
        composites: the same with those of the base.
        table: what formulas of the run call.
        own_table: what those of the project call; they are other operators where foreign ones have the same names.
    """

    functions: Sequence[NativeFunction]
    operators: Sequence[NativeFunction]
    entries: Sequence[ResolvedEntry]
    known: Mapping[str, ResolvedEntry]
    formulas: Composites
    composites: Composites
    table: OperatorTable
    own_table: OperatorTable


class Sources:
    """Operators that are all there are: Gradwright's own, or those of a package without a base.

    Attributes:
        read: the operators of the file.
        functions: the operators of the run.
        entries: the derivative entries for them.
        base: the operators that there are already.
        kernels, composites, helpers: the functions that YAML names.
        is_foreign: whether the files are somebody else's, who is told of errors only.
        diagnostics: where it is reported what is wrong with what the project derives.
    """

    is_foreign = False

    def __init__(self, files: InputFiles, read: Read) -> None:
        self.files = files
        self.diagnostics = files.diagnostics
        self.read = self.functions = self._adapt(read.functions)
        self.entries = read.entries
        self.base: Sequence[NativeFunction] = ()
        self.kernels, self.composites, self.helpers = (files.index(files.paths.functions(kind)) for kind in PartKind)
        self._declarations = read.declarations

    def _adapt(self, functions: Sequence[NativeFunction]) -> Sequence[NativeFunction]:
        return bind_delegates(functions, self.diagnostics)

    def bind(self) -> Bound:
        """Bind the names in entries and formulas of composites."""
        operators = (*self.base, *self.functions)
        table = self._table(operators)
        entries = resolve_entries(self.entries, table, self.files.diagnostics, self.functions)
        formulas = resolve_composites(self.functions, table, self.files.diagnostics)
        known = {str(entry.function.name): entry for entry in entries}
        return Bound(self.functions, operators, entries, known, formulas, formulas, table, table)

    def _table(self, operators: Sequence[NativeFunction]) -> OperatorTable:
        return OperatorTable(operators, HelperTable(self.helpers, self._declarations))

    def with_tangents(self, entries: Sequence[ResolvedEntry], bound: Bound) -> Sequence[ResolvedEntry]:
        """The entries that are planned."""
        return entries

    def reported(self, findings: Diagnostics) -> Diagnostics:
        """The findings that an author is told of."""
        return without_allowed(findings, self._yaml())

    @property
    def knows_all_operators(self) -> bool:
        """Whether functions on Tensors call no operators but those that are read."""
        paths = self.files.paths
        # The runtime's are those of the YAML beside it: another file may have a few of its operators only.
        return paths.package == BASE and paths.runtime.parent == paths.native_functions.parent

    def is_own(self, function: PythonFunction) -> bool:
        """Whether a function of Python is one of the project's own."""
        return self.files.paths.package == BASE or not function.module.startswith("runtime.")

    @property
    def native_files(self) -> tuple[Path, ...]:
        """The files whose kernels in C++ are all meant for functions of the project's own."""
        paths = self.files.paths
        if paths.package != BASE:
            return paths.own_kernels
        return paths.native_kernels if self.knows_all_operators else ()

    def modules_to_check(self) -> tuple[PythonModule, ...]:
        """The modules of functions on Tensors that are the project's own, where it knows all that they may call."""
        if not self.knows_all_operators:
            return ()
        shipped = "" if self.files.paths.package == BASE else "runtime."
        modules = (item for index in (self.composites, self.helpers) for item in index.modules.items())
        return tuple(module for name, module in modules if not shipped or not name.startswith(shipped))

    def _yaml(self) -> tuple[SourceFile, ...]:
        """The files in which the operators and entries stand that were read."""
        texts = (*(each.text for each in self.read), *(each.text for each in self.entries))
        return tuple({id(text.file): text.file for text in texts}.values())


class PackageSources(Sources):
    """Operators of a package, beside those of a base: its formulas call both."""

    knows_all_operators = True

    def __init__(self, files: InputFiles, read: Read, base: tuple[Path, Path]) -> None:
        super().__init__(files, read)
        self._base = Base(*files.operators_of(base))
        self.base = self._base.functions
        indexes = self.composites, self.helpers
        check_apart(self.functions, self.entries, self._base, indexes, self.diagnostics)

    def bind(self) -> Bound:
        own = super().bind()
        known = WithBase(own.known, self._base, own.table)
        composites = CompositesWithBase(own.formulas, self._base, own.table)
        return replace(own, known=known, composites=composites)


class ForeignSources(Sources):
    """Operators of somebody else, such as PyTorch's, implemented by the project's own (`codegen/foreign.py`).

    What is found wrong with the project's own entries is reported where these are generated.
    """

    is_foreign = True
    knows_all_operators = False

    def __init__(self, files: InputFiles, read: Read, library: tuple[Path, Path]) -> None:
        super().__init__(files, read)
        self.diagnostics = Diagnostics()
        paths = files.paths
        kernels = files.index(part for kind, part in paths.own if kind is PartKind.KERNELS)
        own = files.operators_of(library)
        self._library = foreign.Library(*own, self.composites, kernels, paths.shown(paths.native_functions))
        self.functions, self.entries, self._own_entries = foreign.adopt(self.functions, self.entries, self._library)

    def _adapt(self, functions: Sequence[NativeFunction]) -> Sequence[NativeFunction]:
        return functions

    def bind(self) -> Bound:
        table = self._table(self.functions)
        entries = resolve_entries(self.entries, table, self.files.diagnostics, self.functions)
        # Its formulas mean its own helpers, whatever others declare under the same names.
        own_helpers = self.files.index([self.files.paths.operators_part(PartKind.HELPERS.value)])
        own_table = OperatorTable(self.functions, HelperTable(own_helpers))
        entries = (*entries, *foreign.resolved_here(self._own_entries, own_table))
        functions, formulas = foreign.composites_here(self.functions, own_table)
        functions = foreign.expressions_here(functions, own_table, formulas)
        known = {str(entry.function.name): entry for entry in entries}
        return Bound(functions, functions, entries, known, formulas, formulas, table, own_table)

    def with_tangents(self, entries: Sequence[ResolvedEntry], bound: Bound) -> Sequence[ResolvedEntry]:
        return foreign.with_forward_formulas(entries, self._library, bound.own_table)

    def reported(self, findings: Diagnostics) -> Diagnostics:
        beneath = self.files.paths.beneath
        theirs = [] if beneath is None else [beneath.native_functions, beneath.derivatives]
        base = [self.files.paths.shown(path) for path in theirs]
        files = [file for file in self._yaml() if file.path not in base]
        return Diagnostics([item for item in findings.items if item.span.file in files])


def read_sources(files: InputFiles, read: Read) -> Sources:
    """The sources of a project, of whichever kind it is."""
    if files.paths.library is not None:
        return ForeignSources(files, read, files.paths.library)
    return Sources(files, read) if files.paths.base is None else PackageSources(files, read, files.paths.base)
