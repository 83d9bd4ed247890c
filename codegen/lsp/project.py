"""Which project a file belongs to, and which of the project's files it is."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from codegen.paths import PartKind, Paths, find_project, paths_of_checkout
from codegen.project import read_project
from codegen.source import Diagnostics


class Role(enum.Enum):
    """What a file says."""

    OPERATORS = "native_functions"
    DERIVATIVES = "derivatives"
    SAMPLES = "samples"
    KERNELS = "kernels"
    COMPOSITES = "composite"
    HELPERS = "helpers"


_PARTS = {
    PartKind.KERNELS: Role.KERNELS,
    PartKind.COMPOSITES: Role.COMPOSITES,
    PartKind.HELPERS: Role.HELPERS,
}
YAML = (Role.OPERATORS, Role.DERIVATIVES, Role.SAMPLES)


@dataclass(frozen=True)
class Project:
    """The files of a project.

    Attributes:
        paths: of the project.
    """

    paths: Paths

    def role(self, path: Path) -> Role | None:
        """What a file of the project says; None for one that is not read."""
        return self._roles.get(path)

    def is_read(self, path: Path) -> bool:
        """Whether an analysis reads a file."""
        return path in self._resolved.values()

    def known(self, path: Path) -> Path:
        """A file as the project's paths name it, through whatever links an editor has opened it."""
        return self._resolved.get(path.resolve(), path)

    def path(self, shown: str) -> Path:
        """The file that messages name so."""
        found = self._shown.get(shown)
        return self.paths.root / shown if found is None else found

    @cached_property
    def _roles(self) -> dict[Path, Role]:
        paths = self.paths
        parts = ((role, part) for kind, role in _PARTS.items() for part in paths.functions(kind))
        found = {file: role for role, part in parts for file, _, _ in part.files()}
        found |= dict.fromkeys(paths.samples, Role.SAMPLES)
        return found | {paths.native_functions: Role.OPERATORS, paths.derivatives: Role.DERIVATIVES}

    @cached_property
    def _resolved(self) -> dict[Path, Path]:
        return {file.resolve(): file for file in (*self._roles, *self.paths.own_kernels, *self.paths.native_kernels)}

    @cached_property
    def _shown(self) -> dict[str, Path]:
        return dict(self._all_shown())

    def _all_shown(self) -> Iterator[tuple[str, Path]]:
        paths = self.paths
        bases = paths.base or ()
        for file in (*paths.inputs, *bases, *paths.own_kernels, *paths.native_kernels):
            yield paths.shown(file), file
        for kind in PartKind:
            for part in paths.functions(kind):
                yield from ((shown, file) for file, _, shown in part.files())


def find_paths(file: Path, diagnostics: Diagnostics) -> Paths | None:
    """The paths of the project that a file or folder lies in: a package's, or a checkout of Gradwright.

    None where there is none, or where its table is wrong, which is said in `diagnostics`.
    """
    folder = file if file.is_dir() else file.parent
    table = find_project(folder)
    if table is not None:
        return read_project(table, diagnostics)
    for each in (folder, *folder.parents):
        if (each / "native_functions.yaml").is_file() and (each / "codegen" / "pipeline.py").is_file():
            return paths_of_checkout(each)
    return None
