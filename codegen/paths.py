"""Where the project's files lie: in the checkout, or in the installed package."""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.extension import source_folders
from codegen.inputs import REPORTS, SAMPLES, data_folder, shown_path
from codegen.module_names import PREFIX, PUBLIC_PACKAGE
from codegen.pytorch_files import PytorchFiles
from codegen.words import BUILT_IN_NAMESPACE, CUDA, FRAMEWORKS, RULES

PYTORCH_HELPERS = "pytorch_helpers.yaml"
# What a file with declarations in C++ is called.
HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx", ".cuh"))
# Where a package says what is its own: a table [tool.gradwright].
PROJECT_FILE = "pyproject.toml"
PROJECT_TABLE = "gradwright"
# Beside generated C++: where the formulas stand that it names by their Nodes; nothing includes it.
PLACES = "places.json"
ARRAY_API = "array_api"  # a folder of the runtime's operators
# The package of Gradwright's own operators.
BASE = "generated"
OPERATORS, OPERATORS_FOLDER = "runtime.operators", "runtime/operators"  # what the YAML names
BATCHING_RULES = "batching/rules"  # a folder there, as the values of PartKind are
EXAMPLES = "examples.txt"  # beside native_functions.yaml; of our own operators among the reports
# JSON Schemas of the YAML, for editors.
SCHEMAS = Path(__file__).parent / "schemas"
# What files are to say instead of what they do say: the texts that `fix` tries, or that an editor has open.
Texts = Mapping[Path, str]


class PartKind(enum.Enum):
    """What functions are for that YAML names; the folder of the runtime in which they lie."""

    KERNELS = "kernels"
    COMPOSITES = "composite"
    HELPERS = "helpers"


@dataclass(frozen=True, slots=True)
class PythonPart:
    """Where functions of one kind lie: a folder of modules, or one module.

    `module` is the name by which Python imports it, `shown` the path that messages name.
    """

    path: Path
    module: str
    shown: str

    def files(self) -> Iterator[tuple[Path, str, str]]:
        """Each module: its file, its name and its shown path."""
        if self.path.suffix == ".py":
            if self.path.exists():
                yield self.path, self.module, self.shown
            return
        for path in sorted(self.path.glob("*.py")):
            if path.name != "__init__.py":
                yield path, f"{self.module}.{path.stem}", f"{self.shown}/{path.name}"


@dataclass(frozen=True, slots=True)
class Paths:
    """The inputs of a generation and its output folder.  `root` is what shown paths are relative to.

    Operators of a package come beside those of `base`, with functions of their own in `own`; its output is imported as
    `package`, its operators are in `namespace`.
    """

    root: Path
    native_functions: Path
    derivatives: Path
    templates: Path
    runtime: Path
    output: Path
    tags: Path | None = None  # which tags operators may have; None: those of PyTorch
    helpers: tuple[Path, ...] = ()  # declarations of helpers, besides the functions of the runtime; the first counts
    library: tuple[Path, Path] | None = None  # the YAML whose kernels implement foreign operators
    beneath: PytorchFiles | None = None  # PyTorch's, on top of which the project's operators and formulas stand
    base: tuple[Path, Path] | None = None
    own: tuple[tuple[PartKind, PythonPart], ...] = ()
    native: Path | None = None  # a folder with kernels in C++, besides those of the runtime
    package: str = BASE
    namespace: str = BUILT_IN_NAMESPACE
    targets: tuple[str, ...] = ()  # what a package has emitted besides Python
    backends: tuple[tuple[str, Path], ...] = ()  # dispatch keys that a package brings, and their files
    long_names: bool = bool(PREFIX)  # whether the output imports modules by the names that they have in a wheel

    def for_target(self, target: str) -> Paths:
        """The same with the output folder of one target.

        Python's is the package; the others lie below it, those of a package on its own where things are built; rules
        and kernels in CUDA are imported, and so lie below it in any case. The operators of a framework are a part of
        the package that can be imported without Gradwright: `mylib.torch`, beside its YAML.
        """
        if target == "python":
            return self
        if target in (RULES, CUDA):
            return replace(self, output=self.output / target)
        if target in FRAMEWORKS:
            return replace(self, output=self.native_functions.parent / target)
        return replace(self, output=(self.output if self.package == BASE else self.build) / target)

    @property
    def build(self) -> Path:
        """Where a package is compiled."""
        return self.root / "build" / "native"

    def functions(self, kind: PartKind) -> tuple[PythonPart, ...]:
        """Where the functions of a kind lie; of a name that two parts have, the first one's counts."""
        shipped = [self.operators_part(kind.value)]
        if self.library is not None and kind is PartKind.COMPOSITES:
            shipped.append(self.operators_part("upstream"))
        elif self.library is not None and kind is PartKind.HELPERS:
            shipped.insert(0, self.operators_part("upstream"))
        return (*(part for each, part in self.own if each is kind), *shipped)

    def operators_part(self, folder: str) -> PythonPart:
        """The modules of a folder of the runtime's operators."""
        path = self.operators / folder
        return PythonPart(path, f"{OPERATORS}.{folder.replace('/', '.')}", f"{OPERATORS_FOLDER}/{folder}")

    @property
    def operators(self) -> Path:
        """The folder of the runtime with what the YAML names."""
        return self.runtime / "operators"

    def operators_module(self, name: str) -> PythonPart:
        """A module of that folder."""
        return PythonPart(self.operators / f"{name}.py", f"{OPERATORS}.{name}", f"{OPERATORS_FOLDER}/{name}.py")

    def beside(self, file: Path, module: str) -> PythonPart:
        """A module of the package that a file lies in, or a folder of modules; it need not be there."""
        parent = file.parent
        path = parent / module if (parent / module).is_dir() else parent / f"{module}.py"
        depth = len(self.output.relative_to(parent).parts)
        package = ".".join(self.package.split(".")[:-depth])
        return PythonPart(path, f"{package}.{module}", self.shown(path))

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The YAML that the output is checked against when it is imported."""
        return (self.native_functions, self.derivatives, *self.samples, *(path for _, path in self.backends))

    @property
    def samples(self) -> tuple[Path, ...]:
        """The YAML with samples beside that of the operators, where there is one."""
        path = samples_beside(self.native_functions)
        return (path,) if path.is_file() else ()

    @property
    def examples(self) -> Path:
        """What the examples of the operators print; it need not be there."""
        folder = self.native_functions.parent
        return (folder / REPORTS if self.package == BASE else folder) / EXAMPLES

    @property
    def public_package(self) -> Path:
        """The package with PyTorch's names, whose modules hide operators of their names."""
        return self.runtime.parent if PREFIX else self.runtime.parent / PUBLIC_PACKAGE

    @property
    def functions_by_hand(self) -> PythonPart:
        """Functions of the public API that are written by hand, and hide operators of their names."""
        return self.operators_module("functional")

    @property
    def array_functions(self) -> PythonPart:
        """What kernels, and others that work on arrays, share."""
        return PythonPart(self.runtime / "base" / "arrays.py", "runtime.base.arrays", "runtime/base/arrays.py")

    @property
    def update_rules(self) -> PythonPart:
        """The rules by which optimizers change parameters."""
        return self.operators_module("update_rules")

    @property
    def native_kernels(self) -> tuple[Path, ...]:
        """The C++ with rows of the table of kernels: headers, then the sources that have none of their name."""
        folders = [*map(Path, source_folders(self.runtime.parent))]
        headers = [file for folder in folders for file in sorted(folder.glob("*.hpp"))]
        names = {file.stem for file in headers}
        sources = (file for folder in folders for file in sorted(folder.glob("*.cpp")))
        return (*headers, *(file for file in sources if file.stem not in names))

    @property
    def own_kernels(self) -> tuple[Path, ...]:
        """The C++ of a package, all of which the compiler takes."""
        if self.native is None:
            return ()
        return (*sorted(self.native.glob("*.hpp")), *sorted(self.native.glob("*.cpp")))

    def shown(self, path: Path) -> str:
        """`path` as messages name it: relative to where the project or the user is, if it lies below."""
        return shown_path(path, self.root)

    def foreign(self, native_functions: Path, helpers: Sequence[Path] = ()) -> Paths:
        """Operators of foreign YAML, implemented where the project has kernels for them.

        Headers of C++ among `helpers` stand before the project's own declarations: they may be of a part of them only.
        """
        written = any(path.suffix not in HEADERS for path in helpers)
        return replace(
            self,
            native_functions=native_functions,
            helpers=tuple(helpers) if written else (*helpers, self.native_functions.parent / PYTORCH_HELPERS),
            library=(self.native_functions, self.derivatives),
        )


def samples_beside(native_functions: Path) -> Path:
    """Where the samples lie of the operators of a file; it need not be there."""
    return native_functions.with_name(SAMPLES)


def project_paths() -> Paths:
    """The project's own files."""
    return paths_of_checkout(Path(__file__).resolve().parent.parent, Path(data_folder()))


def paths_of_checkout(root: Path, data: Path | None = None) -> Paths:
    """The files of a checkout of Gradwright, or of its installed packages, beside which `data` holds its YAML."""
    data = data or root
    return Paths(
        root,
        data / "native_functions.yaml",
        data / "derivatives.yaml",
        data / "templates",
        root / "runtime",
        root / "generated",
    )


def toml_text(file: Path) -> str:
    """The text of a TOML file, without the mark that some editors put at its start."""
    return file.read_text(encoding="utf-8-sig", errors="replace")


def find_project(start: Path) -> Path | None:
    """The pyproject.toml of the nearest folder, upwards from `start`, that has one with a table for us.

    One that is not TOML is taken for it: whoever reads it says what is wrong, and what is meant by it nobody can tell.
    """
    for folder in (start, *start.parents):
        file = folder / PROJECT_FILE
        if file.is_file():
            try:
                tool = tomllib.loads(toml_text(file)).get("tool")
            except tomllib.TOMLDecodeError:
                return file
            if isinstance(tool, dict) and PROJECT_TABLE in tool:
                return file
    return None
