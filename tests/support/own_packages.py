"""A package of somebody's own in a folder of its own, as tests look at one."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest import mock

from runtime.base.tensor import Tensor
from runtime.call import registered
from support.documents import ROOT
from support.in_process import codegen


@dataclass(frozen=True)
class Project:
    """A project's folder, and what is done in it."""

    folder: Path
    name: str = "mylib"

    def file(self, name: str) -> Path:
        """A file of its package."""
        return self.folder / self.name / name

    def append(self, name: str, text: str) -> None:
        """Add text to the end of a file of its package, which need not be there yet."""
        with self.file(name).open("a", encoding="utf-8") as file:
            file.write(text)

    def configure(self, *lines: str) -> None:
        """Add lines to the table [tool.gradwright]."""
        file = self.folder / "pyproject.toml"
        table = f'package = "{self.name}"\n'
        file.write_text(file.read_text().replace(table, table + "".join(f"{line}\n" for line in lines)))

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the project's folder, with these variables of the environment."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
        )

    def generate(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """`gradwright`, in the project's folder."""
        return codegen(*arguments, folder=self.folder, **variables)

    def output(self, program: str) -> str:
        """What a program prints that is to run without an error."""
        finished = self.run("-c", program)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.strip()

    @contextmanager
    def imported(self, *modules: str) -> Iterator[list[ModuleType]]:
        """Import modules of its package into this process, which forgets the package afterwards.

        Other tests walk over all operators and methods that there are.
        """
        importlib.invalidate_caches()
        members = set(vars(Tensor))
        with (
            mock.patch.object(sys, "path", [str(self.folder), *sys.path]),
            mock.patch.dict(registered.definers),
            mock.patch.dict(registered.packages),
        ):
            try:
                yield [importlib.import_module(f"{self.name}.{module}") for module in modules]
            finally:
                for member in set(vars(Tensor)) - members:
                    delattr(Tensor, member)
                for name in [name for name in sys.modules if name.partition(".")[0] == self.name]:
                    del sys.modules[name]
