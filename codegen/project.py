"""The project of a package: the table [tool.gradwright] of its pyproject.toml.

    [tool.gradwright]
    schema_version = 1
    package = "mylib"

is all that has to be said. The files have their places in the package's folder, which other keys change:

    native_functions   native_functions.yaml        the operators
    derivatives        derivatives.yaml             their formulas
    kernels            kernels.py or kernels/       functions on arrays
    composites         composites.py or composites/ functions on Tensors, for operators without kernels
    helpers            helpers.py or helpers/       functions on Tensors that formulas call
    native             native/                      kernels in C++, which `gradwright build` compiles
    output             _generated                   what is generated
    namespace          the package's name           where the operators are found: `ops.mylib`
    base               "gradwright"                 the operators that they come beside; "none" for none; "pytorch" for
                                                    those of PyTorch, on top of which they stand
    pytorch            the installed torchgen       with that, the folder of PyTorch's YAML
    declarations       none                         with that, headers of C++ or YAML with signatures of helpers
    strict             true                         false: operators without a kernel are only declared
    tags               none                         a file with the tags that operators may have, instead of PyTorch's
    targets            none                         what is emitted besides: "rules", "torch", "jax", in a list
    dispatch_keys      none                         backends that it brings: the file of NPU is npu.yaml

Paths are relative to the package's folder; `kernels`, `composites`, `helpers` and `declarations` may be lists.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codegen.codes import Code
from codegen.dispatch_keys import AUTOGRAD_KEYS, BROUGHT_BY_PACKAGES, KERNEL_KEYS
from codegen.paths import PROJECT_TABLE, PartKind, Paths, PythonPart, project_paths, toml_text
from codegen.pytorch_files import PytorchFiles, find_pytorch, installed_pytorch
from codegen.source import Diagnostics, SourceFile, Span
from codegen.words import ALL_TARGETS, BUILT_IN_NAMESPACE, CPP, Hint, did_you_mean

SCHEMA_VERSION = 1
BASES = ("gradwright", "none", "pytorch")
_PYTORCH = BASES[2]
_PARTS = {"kernels": PartKind.KERNELS, "composites": PartKind.COMPOSITES, "helpers": PartKind.HELPERS}
_FILES = {"native_functions": "native_functions.yaml", "derivatives": "derivatives.yaml", "output": "_generated"}
_NATIVE = "native"
KEYS = (
    "schema_version", "package", "namespace", "base", "strict", "tags", "dispatch_keys", "native", "targets", "pytorch",
    "declarations",
    *_FILES, *_PARTS,
)  # fmt: skip
PACKAGE_TARGETS = tuple(each for each in ALL_TARGETS if each != CPP)
_THERE_ARE = f"there are {', '.join(map(repr, PACKAGE_TARGETS[1:]))}"
_KEY = re.compile(r"[A-Z][A-Za-z0-9]*")


def read_project(file: Path, diagnostics: Diagnostics) -> Paths | None:
    """The paths of a project; None with diagnostics where its table is wrong."""
    return _Table(file, SourceFile(file.name, toml_text(file)), diagnostics).paths()


@dataclass(frozen=True, slots=True)
class _Table:
    """The table as it is read, and where what is wrong with it is said."""

    file: Path
    source: SourceFile
    diagnostics: Diagnostics

    def paths(self) -> Paths | None:
        try:
            values = tomllib.loads(self.source.text)["tool"][PROJECT_TABLE]
        except tomllib.TOMLDecodeError as error:
            at = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
            line, column = (int(at[1]), int(at[2])) if at else (len(self.source.line_starts), 1)
            self._error_at(line, f"this is not TOML: {str(error)[: at.start() if at else None]}", None, column)
            return None
        if not isinstance(values, dict):
            self._error_at(1, f"'tool.{PROJECT_TABLE}' is to be a table", None)
            return None
        before = len(self.diagnostics.items)
        for key in values.keys() - set(KEYS):
            self._error(key, f"unknown key '{key}'", did_you_mean(key, KEYS))
        if values.get("schema_version") != SCHEMA_VERSION:
            self._error(
                "schema_version",
                f"schema_version is to be {SCHEMA_VERSION}, the version of YAML that this Gradwright reads",
                f"write schema_version = {SCHEMA_VERSION}",
            )
        base = self._word(values, "base", BASES[0])
        if base is not None and base not in BASES:
            self._error("base", f"no base '{base}'", did_you_mean(base, BASES) or f"one of {', '.join(BASES)}")
        strict = values.get("strict", True)
        if not isinstance(strict, bool):
            self._error("strict", "'strict' is to be true or false", None)
        elif base == _PYTORCH and "strict" in values:
            self._error("strict", "operators of PyTorch that have no kernel here are only declared", "remove 'strict'")
        elif not strict and base == BASES[0]:
            self._error(
                "strict", "operators beside Gradwright's have kernels of their own", 'write base = "none", or remove it'
            )
        package = self._package(values)
        namespace = self._word(values, "namespace", "" if package is None else package[0].rpartition(".")[2])
        if namespace is not None and package is not None and not namespace.isidentifier():
            self._error("namespace", f"'{namespace}' is no name", "write it as a name of Python")
        elif namespace == BUILT_IN_NAMESPACE:
            self._error("namespace", f"'{namespace}' is the namespace of Gradwright's own operators", "choose another")
        if package is None:
            return None
        files = {key: self._path(values, key, default, package[1]) for key, default in _FILES.items()}
        tags = self._path(values, "tags", "", package[1]) if "tags" in values else None
        native = self._native(values, package[1])
        own = tuple(self._parts(values, *package))
        targets = self._targets(values)
        backends = tuple(self._backends(values, package[1], base))
        beneath = self._pytorch(values, package[1]) if base == _PYTORCH else None
        declarations = self._declarations(values, package[1], base)
        if len(self.diagnostics.items) > before:
            return None
        assert namespace is not None
        name, folder = package
        shipped = project_paths()
        native_functions, derivatives, output = (path for path in files.values() if path is not None)
        if beneath is not None and beneath.header is not None:
            declarations = (*declarations, beneath.header)
        return replace(
            shipped if strict and beneath is None else shipped.foreign(native_functions, declarations),
            root=self.file.parent,
            native_functions=native_functions,
            derivatives=derivatives,
            output=output,
            tags=tags,
            base=(shipped.native_functions, shipped.derivatives) if base == BASES[0] else None,
            beneath=beneath,
            own=own,
            native=native,
            package=f"{name}.{'.'.join(output.relative_to(folder).parts)}",
            namespace=namespace,
            backends=backends,
            targets=targets,
            long_names=True,
        )

    def _package(self, values: Mapping[str, Any]) -> tuple[str, Path] | None:
        """The package's name and its folder."""
        if "package" not in values:
            self._error("package", "the table has no 'package'", 'write package = "mylib", the name that is imported')
            return None
        name = self._word(values, "package", "")
        if name is None:
            return None
        root = self.file.parent
        for place in (root, root / "src"):
            folder = place.joinpath(*name.split("."))
            if name and folder.is_dir():
                return name, folder
        self._error("package", f"no folder '{name.replace('.', '/')}' here or in src", "make the package's folder")
        return None

    def _word(self, values: Mapping[str, Any], key: str, default: str) -> str | None:
        value = values.get(key, default)
        if isinstance(value, str):
            return value
        self._error(key, f"'{key}' is to be a text", None)
        return None

    def _path(self, values: Mapping[str, Any], key: str, default: str, folder: Path) -> Path | None:
        value = self._word(values, key, default)
        if value is None:
            return None
        path = folder / value
        if key == "output" and (path == folder or not _is_below(path, folder)):
            self._error(key, f"the output '{value}' is no folder of the package", "it is imported as a part of it")
            return None
        return path

    def _targets(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """What is emitted besides Python."""
        targets = values.get("targets", [])
        if not isinstance(targets, list) or not all(isinstance(each, str) for each in targets):
            self._error("targets", "'targets' is to be a list of names such as \"rules\"", None)
            return ()
        for each in targets:
            if each not in PACKAGE_TARGETS:
                self._error("targets", f"no target '{each}'", did_you_mean(each, PACKAGE_TARGETS) or _THERE_ARE)
        return tuple(each for each in targets if each != PACKAGE_TARGETS[0])

    def _native(self, values: Mapping[str, Any], folder: Path) -> Path | None:
        """The folder with C++; None where there is none."""
        path = self._path(values, "native", _NATIVE, folder)
        if path is None or (path.is_dir() and _is_below(path, folder) and path != folder):
            return path
        if "native" in values:
            self._error("native", f"no folder '{values['native']}' in the package", "paths are relative to its folder")
        return None

    def _parts(self, values: Mapping[str, Any], name: str, folder: Path) -> Iterator[tuple[PartKind, PythonPart]]:
        for key, kind in _PARTS.items():
            parts = values.get(key)
            if parts is None:
                parts = [name for name in (f"{key}.py", key) if (folder / name).exists()]
            elif isinstance(parts, str):
                parts = [parts]
            if not isinstance(parts, list) or not all(isinstance(item, str) for item in parts):
                self._error(key, f"'{key}' is to be a path or a list of paths", None)
                continue
            for item in parts:
                path = folder / item
                if not path.exists() or not _is_below(path, folder):
                    self._error(key, f"no file or folder '{item}' in the package", "paths are relative to its folder")
                    continue
                module = ".".join((name, *path.relative_to(folder).with_suffix("").parts))
                yield kind, PythonPart(path, module, path.relative_to(self.file.parent).as_posix())

    def _pytorch(self, values: Mapping[str, Any], folder: Path) -> PytorchFiles | None:
        """PyTorch's files: those below a folder that is named, or of the installed torchgen."""
        if "pytorch" not in values:
            files = installed_pytorch()
            if files is None:
                hint = 'install torch, or write pytorch = "...", a folder with its YAML'
                self._error("base", "no torchgen is installed, which has PyTorch's YAML", hint)
            return files
        named = self._path(values, "pytorch", "", folder)
        files = None if named is None else find_pytorch(named)
        if named is not None and files is None:
            hint = "such as that of torchgen, or PyTorch's source; paths are relative to the package's folder"
            self._error("pytorch", f"no YAML of PyTorch in '{values['pytorch']}'", hint)
        return files

    def _declarations(self, values: Mapping[str, Any], folder: Path, base: str | None) -> tuple[Path, ...]:
        """Files with the signatures of helpers."""
        names = values.get("declarations", [])
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._error("declarations", "'declarations' is to be a path or a list of paths", None)
            return ()
        for key in ("pytorch", "declarations") if base != _PYTORCH else ():
            if key in values:
                self._error(
                    key, f"'{key}' is for operators on top of PyTorch's", f'write base = "{_PYTORCH}", or remove it'
                )
        for name in names:
            if not (folder / name).is_file():
                self._error("declarations", f"no file '{name}' in the package", "paths are relative to its folder")
        return tuple(folder / name for name in names)

    def _backends(self, values: Mapping[str, Any], folder: Path, base: str | None) -> Iterator[tuple[str, Path]]:
        keys = values.get("dispatch_keys", [])
        if not isinstance(keys, list) or not all(isinstance(key, str) and _KEY.fullmatch(key) for key in keys):
            self._error("dispatch_keys", "'dispatch_keys' is to be a list of names such as \"NPU\"", None)
            return
        if keys and base != BASES[0]:
            self._error("dispatch_keys", "a backend is one of Gradwright's operators", f'write base = "{BASES[0]}"')
        for key in keys:
            path = folder / f"{key.lower()}.yaml"
            twice = keys.count(key) > 1
            if twice or (key in KERNEL_KEYS | AUTOGRAD_KEYS and key not in BROUGHT_BY_PACKAGES):
                hint = "name it once" if twice else f"PyTorch has it: choose another name, such as 'My{key}'"
                self._error("dispatch_keys", f"the dispatch key '{key}' is not free", hint)
            elif not path.is_file():
                self._error(
                    "dispatch_keys",
                    f"no file '{path.name}' in the package, which lists the kernels of '{key}'",
                    f"it begins with 'backend: {key}'",
                )
            else:
                yield key, path

    def _error(self, key: str, message: str, hint: Hint) -> None:
        """An error at the line of a key of the table, or at the table's where the key is not there."""
        inside = False
        at = 1
        for number, line in enumerate(self.source.text.splitlines(), 1):
            if line.lstrip().startswith("["):
                inside = line.strip() == f"[tool.{PROJECT_TABLE}]"
                at = number if inside else at
            elif inside and re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
                at = number
                break
        self._error_at(at, message, hint)

    def _error_at(self, line: int, message: str, hint: Hint, column: int = 1) -> None:
        start = self.source.line_starts[line - 1]
        end = start + max(len(self.source.line(line)), column)
        self.diagnostics.error(Code.PROJECT_TABLE, Span(self.source, start + column - 1, end), message, hint)


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
