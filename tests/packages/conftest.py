"""A package of somebody's own, made by `gradwright init` in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.commands.init import make_package
from support.own_packages import Project


@pytest.fixture
def new_project(tmp_path: Path) -> Callable[[str], Project]:
    """Makes a project, in a folder of its own, that nothing was generated for."""

    def make(name: str) -> Project:
        folder = tmp_path / f"project_{name}"
        folder.mkdir()
        assert make_package(name, folder) == 0
        return Project(folder, name)

    return make


@pytest.fixture
def project(new_project: Callable[[str], Project]) -> Project:
    """A new project; its package is `mylib`."""
    return new_project("mylib")
