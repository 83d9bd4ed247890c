"""Where the project's files lie: in the checkout, or in the installed package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """The inputs of a generation and its output folder.  `root` is what shown paths are relative to."""

    root: Path
    native_functions: Path
    derivatives: Path
    templates: Path
    runtime: Path
    output: Path

    def shown(self, path: Path) -> str:
        """`path` as messages name it: relative to where the project or the user is, if it lies below."""
        for base in (self.root, Path.cwd()):
            try:
                return path.resolve().relative_to(base.resolve()).as_posix()
            except ValueError:
                continue
        return path.as_posix()


def project_paths() -> Paths:
    """The project's own files."""
    package = Path(__file__).resolve().parent
    root = package.parent
    data = root if (root / "native_functions.yaml").exists() else package / "data"
    return Paths(
        root,
        data / "native_functions.yaml",
        data / "derivatives.yaml",
        data / "templates",
        root / "runtime",
        root / "generated",
    )
