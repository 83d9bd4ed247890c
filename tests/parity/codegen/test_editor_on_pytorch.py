"""An editor has PyTorch's whole YAML open, and is answered without another analysis of all of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from codegen.lsp.actions import actions
from codegen.lsp.analysis import State, open_project
from codegen.lsp.completion import complete
from codegen.lsp.definition import definition
from codegen.lsp.hover import hover
from codegen.lsp.lens import lenses
from codegen.lsp.problems import problems
from codegen.lsp.project import Project
from support.own_project import no_garbage
from tools.upstream import packaged, paths_of

FOLDER = packaged()
assert FOLDER is not None
PATHS = paths_of(FOLDER)
# Calls of functions; the whole analysis makes some ten million.
LIMIT = 100_000


@pytest.fixture(scope="module")
def typed() -> tuple[State, int]:
    """The state after something was typed at the start of a formula, and the place of that."""
    with no_garbage():
        state = open_project(Project(PATHS))
    text = state.file(PATHS.derivatives).text
    place = text.index("self: ", text.index("- name: mul.Tensor")) + len("self: ")
    return state.with_text(PATHS.derivatives, f"{text[:place]}self.conj() * grda + {text[place:]}"), place


@pytest.mark.parametrize("feature", [problems, hover, complete, definition, actions, lenses])
def test_a_key_is_answered_with_little_work(typed: tuple[State, int], feature: Callable[..., object]) -> None:
    state, place = typed
    places = {hover: (place + 2,), complete: (place + 6,), definition: (place + 2,), actions: (place, place + 20)}
    answer, calls = counted(lambda: feature(state, PATHS.derivatives, *places.get(feature, ())))
    assert answer
    assert 0 < calls < LIMIT


def counted(action: Callable[[], object]) -> tuple[object, int]:
    """What an action gives, and how many functions of Python it calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        answer = action()
    finally:
        sys.setprofile(before)
    return answer, calls
