"""What is wrong in the files of a project: what the last analysis found, and what entries say that were edited since.

The findings of the last analysis move along with their places; those in edited entries are gone, for these are read
again. So a mistake is shown, and is gone, with the key that makes or mends it, as far as one entry alone tells; rules
over several entries follow with the next analysis.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.bind.call_targets import HelperTable
from codegen.codes import Code
from codegen.lsp.analysis import State
from codegen.lsp.entries import read_part
from codegen.lsp.positions import Shift, shift_between
from codegen.lsp.project import YAML, Role
from codegen.paths import PartKind
from codegen.python_source import FunctionIndex, SourcePart
from codegen.read.yaml_text import entry_around
from codegen.rules.kernels import check_kernels
from codegen.source import Diagnostic, Diagnostics, Replacement, SourceFile, Span

# More entries than these are not read again at once: the text was replaced, or pasted.
_MOST = 20


class Severity(enum.Enum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"


@dataclass(frozen=True)
class Problem:
    """A message where it belongs by now."""

    diagnostic: Diagnostic
    severity: Severity


def problems(state: State, path: Path) -> list[Problem]:
    """What is wrong in a file, in the order of places."""
    found = [*_known(state, path), *_edited(state, path)]
    unique = {(each.diagnostic.span.start, each.diagnostic.span.end, each.diagnostic.message): each for each in found}
    return sorted(unique.values(), key=lambda each: each.diagnostic.sort_key)


def files_with_problems(state: State) -> set[Path]:
    """The files in which the last analysis found something."""
    return {state.project.path(each.diagnostic.span.file.path) for each in _all_known(state)}


def _all_known(state: State) -> Iterator[Problem]:
    result = state.analysis.result
    for diagnostics, severity in ((result.diagnostics, Severity.ERROR), (result.findings, Severity.WARNING)):
        for item in diagnostics.sorted():
            yield Problem(item, severity)
            if item.code is Code.KERNEL_PARAMETERS:  # as much a mistake of the function
                (definition, _), *_ = item.notes
                yield Problem(_at(item, definition), severity)


def _at(item: Diagnostic, place: Span) -> Diagnostic:
    return replace(item, span=place, notes=((item.span, "the operator is here"),))


def _known(state: State, path: Path) -> Iterator[Problem]:
    """What the last analysis found, but for entries that were edited since."""
    shift = _shift(state, path)
    is_yaml = state.role(path) in YAML
    for problem in _all_known(state):
        item = problem.diagnostic
        if state.project.path(item.span.file.path) != path:
            continue
        if shift is None:
            yield problem
        elif is_yaml:
            entry = entry_around(item.span.file.text, item.span.start)
            if not shift.touches(entry.start, entry.stop):
                yield Problem(_moved(state, item), problem.severity)
        elif item.code is not Code.KERNEL_PARAMETERS:
            yield Problem(_moved(state, item), problem.severity)


def _moved(state: State, item: Diagnostic) -> Diagnostic:
    _, span = state.now(item.span)
    replacement = item.replacement
    if replacement is not None:
        replacement = Replacement(state.now(replacement.span)[1], replacement.text)
    return replace(
        item, span=span, notes=tuple((state.now(place)[1], text) for place, text in item.notes), replacement=replacement
    )


def _shift(state: State, path: Path) -> Shift | None:
    """What was edited since the last analysis; None for a file that is as it was."""
    now = state.texts.get(path)
    before = state.analysis.text(path)
    return None if now is None or now.text == before else shift_between(before, now.text)


def _edited(state: State, path: Path) -> Iterator[Problem]:
    """What is wrong in the entries, or in the functions, that were edited since the last analysis."""
    role = state.role(path)
    shift = _shift(state, path)
    if role is None or shift is None:
        return
    file = state.texts[path]
    if role in YAML:
        for part in parts_between(file, shift.start, shift.new_stop):
            entry = read_part(state, file, role, part)
            if entry is not None:
                yield from _of_part(entry.diagnostics, file, part)
    else:
        yield from _of_functions(state, path, role)


def _of_part(diagnostics: Diagnostics, file: SourceFile, part: range) -> Iterator[Problem]:
    for item in diagnostics.sorted():
        if item.span.file is file and part.start <= item.span.start <= part.stop:
            yield Problem(item, Severity.ERROR)


def parts_between(file: SourceFile, start: int, stop: int) -> list[range]:
    """The entries of which some characters lie between two places, and the one that begins at the second."""
    parts = [entry_around(file.text, start)]
    while parts[-1].stop <= min(stop, len(file.text) - 1) and len(parts) < _MOST:
        parts.append(entry_around(file.text, parts[-1].stop))
    return parts


def _of_functions(state: State, path: Path, role: Role) -> Iterator[Problem]:
    """What is wrong in a module of functions: it does not parse, or a function does not fit those that name it."""
    checked = state.analysis.checked
    if checked is None:
        return
    files = state.input_files
    kind = next(part for part in files.paths.functions(_KINDS[role]) if path in [file for file, _, _ in part.files()])
    own = Diagnostics()
    functions = SourcePart(kind, own, files.texts).functions
    if not own:
        index = FunctionIndex(files.part(part) for part in files.paths.functions(_KINDS[role]))
        if role is Role.HELPERS:
            _check_helpers(state, index, own)
        else:
            own_functions = [each for each in functions.values() if state.project.path(each.span.file.path) == path]
            named = {function.name for function in own_functions}
            users = {id(user): user for name in named for user in state.analysis.kernel_users.get(name, ())}
            found = Diagnostics()
            changed = replace(checked, functions=tuple(users.values()))
            is_kernel = role is Role.KERNELS
            changed = replace(changed, kernels=index) if is_kernel else replace(changed, composites=index)
            check_kernels(changed, found)
            for item in found.items:
                if item.code is Code.KERNEL_PARAMETERS:
                    own.items.append(_at(item, item.notes[0][0]))
    for item in own.sorted():
        if state.project.path(item.span.file.path) == path:
            yield Problem(item, Severity.ERROR)


_KINDS: Mapping[Role, PartKind] = {
    Role.KERNELS: PartKind.KERNELS,
    Role.COMPOSITES: PartKind.COMPOSITES,
    Role.HELPERS: PartKind.HELPERS,
}


def _check_helpers(state: State, index: FunctionIndex, diagnostics: Diagnostics) -> None:
    """Whether helpers that formulas call have types that formulas know."""
    called = {each.name for each in state.analysis.helpers}
    table = HelperTable(index)
    for name in sorted(called):
        table.overloads(name, diagnostics)
