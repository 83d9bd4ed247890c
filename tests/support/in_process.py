"""`python -m codegen` in the process of the tests: to start another one takes longer than most of what it does."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

from codegen import input_files, output, pipeline
from codegen.commands import toolchain
from codegen.commands.main import main
from codegen.paths import Paths, project_paths
from codegen.source import Diagnostics
from codegen.words import CPP
from support import documents
from support.documents import ROOT
from support.own_project import own_analysis


def codegen(*words: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a command does in a folder, with these variables of the environment, as a process of its own would say it.

    An exception that would end that process with a traceback is raised.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        status = status_of(words, out, err, folder, variables)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(words, status, *texts)


def run_line(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As `documents.run`, with `gradwright` in this process where a line is that alone."""
    first, *words = shlex.split(line)
    if first != "gradwright" or "|" in words:
        return documents.run(line, folder)
    with mock.patch.object(sys, "argv", [first]):
        finished = codegen(*words, folder=folder)
    # Errors first, because what a process prints into a pipe is held back until it ends.
    return subprocess.CompletedProcess(words, finished.returncode, finished.stderr + finished.stdout)


def status_of(
    words: Sequence[str], out: TextIO, err: TextIO, folder: Path = ROOT, variables: Mapping[str, str] | None = None
) -> int:
    """The exit status of a command that writes to files."""
    changed = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(variables or {})}
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, changed),
        mock.patch.object(pipeline, "analyze", _analyze),
        mock.patch.object(input_files, "read_operators", _read_operators),
        _written_to("stdout", out),
        _written_to("stderr", err),
    ):
        _forget()
        try:
            return main(list(words))
        except SystemExit as ended:  # as argparse ends a process
            return int(ended.code or 0)
        finally:
            _forget()
            gc.enable()  # a command disables it for the rest of its process


def _forget() -> None:
    """A process is sure of what it has found in files and in the environment; between two commands it may change."""
    output.source_hash.cache_clear()
    toolchain.compiler.cache_clear()


@contextlib.contextmanager
def _written_to(name: str, file: TextIO) -> Iterator[None]:
    """Standard output or error is a file, for processes that are started, too."""
    number = {"stdout": 1, "stderr": 2}[name]
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        with mock.patch.object(sys, name, file):
            yield
            file.flush()
    finally:
        os.dup2(before, number)
        os.close(before)


_really_analyze, _really_read_operators = pipeline.analyze, input_files.read_operators


def _analyze(paths: Paths, texts: Mapping[Path, str] | None = None, checks: bool = True) -> pipeline.Result:
    own = project_paths()
    if texts is None and dataclasses.replace(paths, output=own.output) == own:
        return own_analysis()
    try:
        inputs = output.source_hash(paths, CPP)
    except OSError:  # a file is missing, which the analysis says
        return _really_analyze(paths, texts, checks)
    return _analysis(paths, Path.cwd(), inputs, None if texts is None else tuple(texts.items()), checks)


@functools.lru_cache(maxsize=8)
def _analysis(
    paths: Paths, folder: Path, inputs: str, texts: Sequence[tuple[Path, str]] | None, checks: bool
) -> pipeline.Result:
    """Commands that follow each other are often about the same inputs."""
    return _really_analyze(paths, None if texts is None else dict(texts), checks)


def _read_operators(
    native_functions: Path, derivatives: Path, paths: Paths, *more: Any, tags: Path | None = None
) -> Any:
    """Gradwright's own operators, which are the base of most projects in tests, are read once."""
    own = project_paths()
    if (native_functions, derivatives) != (own.native_functions, own.derivatives) or more[1:]:
        return _really_read_operators(native_functions, derivatives, paths, *more, tags=tags)
    return _own_operators(paths.shown(native_functions) == str(native_functions))


@functools.cache
def _own_operators(outside: bool) -> Any:
    """As messages name their files: from the outside of the checkout by the whole path."""
    own = project_paths()
    named = dataclasses.replace(own, root=own.root / "outside") if outside else own
    diagnostics = Diagnostics()
    read = _really_read_operators(own.native_functions, own.derivatives, named, diagnostics)
    assert not diagnostics
    return read
