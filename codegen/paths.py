"""Where the project's files lie: in the checkout, or in the installed package."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from codegen.inputs import data_folder, shown_path

PYTORCH_HELPERS = "pytorch_helpers.yaml"
_KERNEL_HEADERS = (
    "kernels",
    "reductions",
    "rows",
    "products",
    "indexing",
    "ordering",
    "inplace",
    "views",
    "copies",
    "factories",
    "composites",
)


@dataclass(frozen=True, slots=True)
class Paths:
    """The inputs of a generation and its output folder.  `root` is what shown paths are relative to."""

    root: Path
    native_functions: Path
    derivatives: Path
    templates: Path
    runtime: Path
    output: Path
    tags: Path | None = None  # which tags operators may have; None: those of PyTorch
    helpers: Path | None = None  # declarations of helpers, besides the functions of the runtime
    library: tuple[Path, Path] | None = None  # the YAML whose kernels implement foreign operators

    def for_target(self, target: str) -> Paths:
        """The same with the output folder of one target: Python's is the package, the others lie below it."""
        return self if target == "python" else replace(self, output=self.output / target)

    @property
    def native_kernels(self) -> tuple[Path, ...]:
        """The headers with the kernels of the native core, which generated C++ uses as far as they go."""
        return tuple(self.runtime / "native" / "src" / f"{name}.hpp" for name in _KERNEL_HEADERS)

    @property
    def native_helpers(self) -> Path:
        """The formula helpers that the native core has itself."""
        return self.runtime / "native" / "src" / "helpers.hpp"

    def shown(self, path: Path) -> str:
        """`path` as messages name it: relative to where the project or the user is, if it lies below."""
        return shown_path(path, self.root)

    def foreign(self, native_functions: Path, helpers: Path | None) -> Paths:
        """Operators of foreign YAML, implemented where the project has kernels for them."""
        return replace(
            self,
            native_functions=native_functions,
            helpers=helpers or self.native_functions.parent / PYTORCH_HELPERS,
            library=(self.native_functions, self.derivatives),
        )


def project_paths() -> Paths:
    """The project's own files."""
    root = Path(__file__).resolve().parent.parent
    data = Path(data_folder())
    return Paths(
        root,
        data / "native_functions.yaml",
        data / "derivatives.yaml",
        data / "templates",
        root / "runtime",
        root / "generated",
    )
