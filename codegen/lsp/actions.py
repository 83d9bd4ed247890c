"""What mends a mistake, for a program to do: the words that messages say were meant, and what their hints ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.codes import Code
from codegen.commands.fix import apart
from codegen.lsp.analysis import State
from codegen.lsp.edits import Edit
from codegen.lsp.problems import Problem, problems
from codegen.source import Span

_PARAMETERS = re.compile(r"\s*\(([^()=:]*)\)")
_WANTED = re.compile(r"its parameters are to be (\(.*\))")


@dataclass(frozen=True)
class Action:
    """Something that can be done about a problem; about all of a file where it is of none."""

    title: str
    edits: tuple[Edit, ...]
    problem: Problem | None


def actions(state: State, path: Path, start: int, stop: int) -> list[Action]:
    """What can be done about the problems between two places of a file."""
    found = problems(state, path)
    here = [each for each in found if each.diagnostic.span.start <= stop and each.diagnostic.span.end >= start]
    chosen = [action for problem in here for action in _of(state, path, problem)]
    everything = _all(path, found)
    return [*chosen, everything] if everything is not None else chosen


def fix_all(state: State, path: Path) -> Action | None:
    """Write all words of a file that messages say were meant; None where there are none."""
    return _all(path, problems(state, path))


def _all(path: Path, problems: Iterable[Problem]) -> Action | None:
    found = {each.diagnostic.replacement for each in problems}
    edits = [Edit(path, each.span, each.text) for each in apart(each for each in found if each is not None)]
    return Action("Write all words that were meant", tuple(edits), None) if edits else None


def _of(state: State, path: Path, problem: Problem) -> Iterator[Action]:
    item = problem.diagnostic
    if item.replacement is not None:
        span = item.replacement.span
        title = f"Write '{item.replacement.text}' instead of '{span.file.text[span.start : span.end]}'"
        yield Action(title, (Edit(path, span, item.replacement.text),), problem)
    elif item.code is Code.SIGNATURE_DIFFERS:
        declared, _ = item.notes[0]
        signature = state.now(declared)[1]
        text = signature.file.text[signature.start : signature.end]
        yield Action("Write the signature that is declared", (Edit(path, item.span, text),), problem)
    elif item.code is Code.KERNEL_PARAMETERS and item.hint is not None:
        wanted = _WANTED.search(item.hint)
        places = (item.span, *(span for span, _ in item.notes))
        for definition, span in (state.now(place) for place in places):
            if wanted is not None and definition.suffix == ".py":
                parameters = _PARAMETERS.match(span.file.text, span.end)
                if parameters is not None:
                    place = Span(span.file, parameters.start(1) - 1, parameters.end(1) + 1)
                    name = span.file.text[span.start : span.end]
                    edit = Edit(definition, place, wanted[1])
                    yield Action(f"Give '{name}' the parameters {wanted[1]}", (edit,), problem)
