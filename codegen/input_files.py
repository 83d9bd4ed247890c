"""The files that a run reads: the YAML of operators and derivatives, declarations of helpers, modules of functions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.on_top import entries_on_top, functions_on_top
from codegen.paths import Paths, PythonPart, Texts, samples_beside
from codegen.python_source import FunctionIndex, SourcePart
from codegen.read.declarations import Overloads, by_name, together
from codegen.read.files import load, read_derivatives, read_helpers, read_native_functions, read_samples, read_tags
from codegen.read.model import DerivativeEntry, HelperDeclaration, NativeFunction
from codegen.read.sample_file import with_samples
from codegen.source import Diagnostics, SourceFile
from codegen.words import TAGS


@dataclass(frozen=True, slots=True)
class Read:
    """What stands in the YAML of a project.

    Attributes:
        functions: the operators.
        entries: the derivative entries.
        declarations: of helpers.
        is_complete: whether all files could be read; else what is in the missing one would seem to be unknown.
    """

    functions: Sequence[NativeFunction]
    entries: Sequence[DerivativeEntry]
    declarations: Sequence[HelperDeclaration]
    is_complete: bool


class InputFiles:
    """Reads the files of a project. What is wrong with them goes into `diagnostics`, once for each file.

    Args:
        paths: of the project.
        diagnostics: of the run.
        texts: what some of the files are to say instead of what they do say.
    """

    def __init__(self, paths: Paths, diagnostics: Diagnostics, texts: Texts | None = None) -> None:
        self.paths = paths
        self.diagnostics = diagnostics
        self.texts = texts
        self._part = functools.cache(lambda part: SourcePart(part, diagnostics, texts))

    def read(self) -> Read:
        """The operators of the project, and its derivative entries."""
        files, beneath = (self.paths.native_functions, self.paths.derivatives), self.paths.beneath
        tags = self.paths.tags if beneath is None else self.paths.tags or beneath.tags
        functions, entries = read_operators(*files, self.paths, self.diagnostics, self.texts, tags=tags)
        if beneath is not None and functions is not None and entries is not None:
            files = beneath.native_functions, beneath.derivatives
            base, formulas = read_operators(*files, self.paths, self.diagnostics, tags=beneath.tags)
            functions = None if base is None else functions_on_top(functions, base, self.diagnostics)
            entries = None if formulas is None else entries_on_top(entries, formulas)
        declarations = self._helpers()
        is_complete = functions is not None and entries is not None and declarations is not None
        return Read(functions or (), entries or (), declarations or (), is_complete)

    def operators_of(self, files: tuple[Path, Path]) -> tuple[Sequence[NativeFunction], Sequence[DerivativeEntry]]:
        """The operators and derivative entries of others, that those of the project go with.

        The project's file of tags is about the project's operators: those of others have the tags of Gradwright.
        """
        instead = () if self.texts is None else (self.texts,)
        functions, entries = read_operators(*files, self.paths, self.diagnostics, *instead)
        return functions or (), entries or ()

    def _helpers(self) -> Sequence[HelperDeclaration] | None:
        known: Overloads = {}
        for path in reversed(self.paths.helpers):
            file = self.source(path)
            if file is None:
                return None
            known = together(by_name(read_helpers(file, self.diagnostics)), known)
        return [declaration for group in known.values() for declaration in group]

    def source(self, path: Path) -> SourceFile | None:
        return _source(path, self.paths, self.diagnostics, self.texts)

    def part(self, part: PythonPart) -> SourcePart:
        """The functions of a part, which is read once."""
        return self._part(part)

    def index(self, parts: Iterable[PythonPart]) -> FunctionIndex:
        """The functions of some parts by name."""
        return FunctionIndex(map(self._part, parts))


def read_operators(
    native_functions: Path,
    derivatives: Path,
    paths: Paths,
    diagnostics: Diagnostics,
    texts: Texts | None = None,
    tags: Path | None = None,
) -> tuple[Sequence[NativeFunction] | None, Sequence[DerivativeEntry] | None]:
    """The operators and the derivative entries of two files; None for a file that can not be read.

    Operators have the samples of a samples.yaml that lies beside theirs, too.

    Args:
        native_functions: the file of the operators.
        derivatives: the file of the entries.
        paths: of the project, relative to which messages name files.
        diagnostics: where what is wrong is said.
        texts: what some of the files are to say instead of what they do say.
        tags: a file with the tags that these operators may have; None: those of Gradwright.
    """
    native, formulas = (_source(path, paths, diagnostics, texts) for path in (native_functions, derivatives))
    known = TAGS
    if tags is not None:
        defined = _source(tags, paths, diagnostics, texts)
        known = read_tags(defined, diagnostics) if defined is not None else TAGS
    functions = None if native is None else read_native_functions(native, diagnostics, known)
    samples = samples_beside(native_functions)
    if functions is not None and samples.is_file():
        listed = _source(samples, paths, diagnostics, texts)
        if listed is not None:
            functions = with_samples(functions, read_samples(listed, diagnostics), diagnostics)
    return functions, None if formulas is None else read_derivatives(formulas, diagnostics)


def _source(path: Path, paths: Paths, diagnostics: Diagnostics, texts: Texts | None) -> SourceFile | None:
    if texts is not None and path in texts:
        return SourceFile(paths.shown(path), texts[path])
    return load(path, paths.shown(path), diagnostics)
